# SPDX-License-Identifier: Apache-2.0
"""config.json of a model folder: what a model computes and where its ids come from."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any


@dataclass
class TableConfig:
    """vocabulary: a file of the folder, a raw id a line; oov_row: the row of ids not in it."""

    name: str
    num_embeddings: int
    features: list[str]
    vocabulary: str | None = None
    oov_row: int | None = None


@dataclass
class StageConfig:
    """Layers of one resolution. Window and stride pool the stage before; the first has none."""

    num_layers: int
    aggregation_window: int | None = None
    aggregation_stride: int | None = None

    def check(self, name: str, is_first: bool) -> None:
        window, stride = self.aggregation_window, self.aggregation_stride
        if is_first:
            if window is not None or stride is not None:
                raise ValueError(f"{name} sees every token: it has no window and no stride")
            return
        if window is None or stride is None:
            raise ValueError(f"{name} needs aggregation_window and aggregation_stride")
        if not 1 <= stride <= window:
            raise ValueError(f"{name}.aggregation_stride is {stride}, it must be in [1, {window}]")


@dataclass(kw_only=True)
class ModelConfig:
    architecture: str = "hstu_ranking"
    hidden_size: int
    num_layers: int
    num_attention_heads: int
    kv_channels: int
    scaling_seqlen: int
    max_history_tokens: int
    max_num_candidates: int
    num_position_buckets: int
    item_feature: str
    action_feature: str | None
    contextual_features: list[str]
    embedding_tables: list[TableConfig]
    prediction_head_arch: list[int]
    layernorm_epsilon: float = 1e-5
    residual: bool = True
    attention: str = "silu"
    max_attn_len: int = 0
    target_group_size: int = 1
    contextual_mask: bool = False
    prediction_head_bias: bool = True
    task_names: list[str] | None = None
    stages: list[StageConfig] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.architecture != "hstu_ranking":
            raise ValueError(f"architecture is {self.architecture!r}, only 'hstu_ranking' is known")
        if self.attention not in ("silu", "softmax"):
            raise ValueError(f"attention is {self.attention!r}, it must be 'silu' or 'softmax'")
        if not self.stages:
            self.stages = [StageConfig(self.num_layers)]
        for i, stage in enumerate(self.stages):
            stage.check(f"stages[{i}]", is_first=i == 0)
        in_stages = sum(stage.num_layers for stage in self.stages)
        if in_stages != self.num_layers:
            raise ValueError(f"stages hold {in_stages} layers, num_layers is {self.num_layers}")

    @property
    def num_tasks(self) -> int:
        return self.prediction_head_arch[-1]

    @property
    def tokens_per_item(self) -> int:
        return 2 if self.action_feature else 1

    @property
    def max_history_items(self) -> int:
        return (self.max_history_tokens - len(self.contextual_features)) // self.tokens_per_item

    def table_of(self, feature: str) -> TableConfig:
        for table in self.embedding_tables:
            if feature in table.features:
                return table
        raise ValueError(f"no embedding table has the feature {feature!r}")

    @classmethod
    def from_json(cls, text: str) -> ModelConfig:
        """Keys that training doesn't know are ignored, as they may mean something to others."""
        raw = json.loads(text)
        values = {f.name: raw[f.name] for f in fields(cls) if f.name in raw}
        values["embedding_tables"] = [TableConfig(**t) for t in raw["embedding_tables"]]
        values["stages"] = [StageConfig(**s) for s in raw.get("stages") or []]
        return cls(**values)

    def to_json(self) -> str:
        values = _without_none(asdict(self))
        values.setdefault("action_feature", None)
        if len(self.stages) == 1:
            del values["stages"]
        return json.dumps(values, indent=2) + "\n"

    @classmethod
    def load(cls, folder: Path) -> ModelConfig:
        return cls.from_json((folder / "config.json").read_text())


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_none(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_none(v) for v in value]
    return value
