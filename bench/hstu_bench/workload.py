# SPDX-License-Identifier: Apache-2.0
"""The model and the sequences that hstu and its peers are compared on."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]

NUM_ITEMS = 100_000
CONFIG: dict[str, Any] = {
    "architecture": "hstu_ranking",
    "hidden_size": 512,
    "num_layers": 4,
    "num_attention_heads": 4,
    "kv_channels": 128,
    "layernorm_epsilon": 1e-5,
    "attention": "silu",
    "scaling_seqlen": 4096,
    "max_history_tokens": 8192,
    "max_num_candidates": 512,
    "num_position_buckets": 8192,
    "item_feature": "video_id",
    "action_feature": None,
    "contextual_features": [],
    "embedding_tables": [
        {"name": "video_id", "num_embeddings": NUM_ITEMS, "features": ["video_id"]}
    ],
    "prediction_head_arch": [512, 8],
    "prediction_head_bias": True,
}


@dataclass(frozen=True)
class Sequence:
    """A history and its candidates; one token each."""

    tokens: int
    candidates: int

    @property
    def history(self) -> int:
        return self.tokens - self.candidates

    def ids(self) -> tuple[Ids, Ids]:
        """The same for everyone -> items [history], candidates [candidates]"""
        rows = np.random.default_rng(self.tokens).integers(0, NUM_ITEMS, self.tokens)
        return rows[: self.history], rows[self.history :]


@dataclass(frozen=True)
class Case:
    """padded: the peers take the sequences as one padded batch, else one by one. hstu takes them
    as one batch either way. rounds: how often each is timed."""

    name: str
    sequences: tuple[Sequence, ...]
    rounds: int
    padded: bool = False

    @property
    def single(self) -> bool:
        return len(self.sequences) == 1

    @property
    def file_name(self) -> str:
        return self.name.replace(" ", "-").replace(",", "")


BATCH = tuple(Sequence(n, n // 16) for n in (128, 256, 512, 512, 1024, 1024, 2048, 4096))
CASES = {
    case.name: case
    for case in (
        Case("512 tokens", (Sequence(512, 64),), rounds=15),
        Case("2048 tokens", (Sequence(2048, 256),), rounds=7),
        Case("4096 tokens", (Sequence(4096, 256),), rounds=5),
        Case("8 sequences, one by one", BATCH, rounds=3),
        Case("8 sequences, padded", BATCH, rounds=1, padded=True),
    )
}
SMALL = Case("64 tokens", (Sequence(64, 16),), rounds=1)


def padded_ids(sequences: tuple[Sequence, ...]) -> tuple[Ids, Ids, Ids, Ids]:
    """items [B, I], num_items [B], candidates [B, M], num_candidates [B]; padding is row 0."""
    items = np.zeros((len(sequences), max(s.history for s in sequences)), np.int64)
    candidates = np.zeros((len(sequences), max(s.candidates for s in sequences)), np.int64)
    for i, sequence in enumerate(sequences):
        history, own = sequence.ids()
        items[i, : len(history)] = history
        candidates[i, : len(own)] = own
    num_items = np.array([s.history for s in sequences])
    return items, num_items, candidates, np.array([s.candidates for s in sequences])


def request_line(sequence: Sequence) -> str:
    items, candidates = sequence.ids()
    request = {"history": {"items": items.tolist()}, "candidates": candidates.tolist()}
    return json.dumps(request) + "\n"


def make_model(hstu: Path, folder: Path) -> Path:
    """A random model of CONFIG in `folder`/model, the same bytes each time."""
    config = folder / "config.json"
    config.write_text(json.dumps(CONFIG, indent=2))
    model = folder / "model"
    command = [str(hstu), "init", "--config", str(config), "--seed", "1", "--out", str(model)]
    subprocess.run(command, check=True)
    return model


def compile_model(hstu: Path, model: Path, out: Path, dtype: str) -> None:
    """Buckets for CASES; makes what isn't there yet."""
    command = [str(hstu), "compile", "--model", str(model), "--out", str(out), "--dtype", dtype]
    command += ["--seq-len", "512,2048,4096", "--batch", "1,8"]
    subprocess.run(command, check=True)
