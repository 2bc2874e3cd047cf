# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hstu_train.batches import Collator  # noqa: E402
from hstu_train.checkpoint import load_model, save_model  # noqa: E402
from hstu_train.config import ModelConfig, StageConfig  # noqa: E402
from hstu_train.model import HstuRanking, Rows, pool  # noqa: E402
from hstu_train.reader import User  # noqa: E402
from hstu_train.split import Example  # noqa: E402

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
# Training has no cache, whose answers the streams are, and truncates nothing by eviction units.
SERVING = ("stream", "stream_evict", "stream_hierarchical", "stream_softmax", "truncate")
CASES = sorted(p.parent.name for p in GOLDEN.glob("*/model") if p.parent.name not in SERVING)


def example_of(request: dict[str, Any]) -> Example:
    items = np.array(request["history"]["items"], dtype=np.int64)
    actions = np.array(request["history"].get("actions") or items * 0, dtype=np.int64)
    user = User(0, request.get("contextual") or {}, items, actions)
    candidates = np.array(request["candidates"], dtype=np.int64)
    return Example(user, candidates, candidates)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("case", CASES)
def test_a_padded_batch_gives_the_golden_logits(golden: Path, case: str) -> None:
    model = load_model(golden / case / "model")
    requests = read_lines(golden / case / "requests.jsonl")
    with torch.no_grad():
        batch = Collator(model.config, {})([example_of(r) for r in requests])
        logits = model(batch).candidate_logits.numpy()
    for got, expected in zip(logits, read_lines(golden / case / "expected.jsonl"), strict=True):
        want = np.array(expected["logits"]).reshape(-1, model.config.num_tasks)
        np.testing.assert_allclose(got[: len(want)], want, atol=1e-5)


@pytest.mark.parametrize("case", ["kuairand", "window", "plain"])
def test_an_item_of_the_history_is_scored_like_a_lone_candidate(golden: Path, case: str) -> None:
    model = load_model(golden / case / "model")
    collate = Collator(model.config, {})
    whole = example_of(read_lines(golden / case / "requests.jsonl")[3])
    with torch.no_grad():
        item_logits = model(collate([whole])).item_logits[0].numpy()
        for i, item in enumerate(whole.history.items):
            lone = Example(whole.history.before(i), np.array([item]), np.array([0]))
            want = model(collate([lone])).candidate_logits[0, 0].numpy()
            np.testing.assert_allclose(item_logits[i], want, atol=1e-5)


def test_a_saved_model_is_loaded_as_it_will_be_served(golden: Path, tmp_path: Path) -> None:
    config = ModelConfig.load(golden / "kuairand" / "model")
    torch.manual_seed(1)
    model = HstuRanking(config)
    save_model(model, {}, tmp_path)
    loaded = load_model(tmp_path)
    assert loaded.config == config
    for name, tensor in model.state_dict().items():
        stored = tensor.to(torch.bfloat16).float() if name.startswith("embedding.") else tensor
        assert torch.equal(loaded.state_dict()[name], stored)


def test_config_survives_the_round_trip(golden: Path) -> None:
    for case in CASES:
        config = ModelConfig.load(golden / case / "model")
        assert ModelConfig.from_json(config.to_json()) == config


def staged(golden: Path, window: int, stride: int) -> ModelConfig:
    config = ModelConfig.load(golden / "kuairand" / "model")
    return replace(config, stages=[StageConfig(1), StageConfig(2, window, stride)])


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([StageConfig(3, 4, 4)], "stages\\[0\\] sees every token"),
        ([StageConfig(1), StageConfig(2, 4)], "needs aggregation_window and aggregation_stride"),
        (
            [StageConfig(1), StageConfig(2, 2, 3)],
            "aggregation_stride is 3, it must be in \\[1, 2\\]",
        ),
    ],
)
def test_stages_that_cannot_be_are_refused(
    golden: Path, stages: list[StageConfig], message: str
) -> None:
    config = ModelConfig.load(golden / "kuairand" / "model")
    with pytest.raises(ValueError, match=message):
        replace(config, stages=stages)


def test_stages_must_hold_all_layers(golden: Path) -> None:
    config = ModelConfig.load(golden / "kuairand" / "model")
    with pytest.raises(ValueError, match="stages hold 2 layers, num_layers is 3"):
        replace(config, stages=[StageConfig(1), StageConfig(1, 4, 2)])


def test_only_full_windows_are_pooled() -> None:
    x = torch.arange(7.0).reshape(1, 7, 1).repeat(2, 1, 1)
    rows = Rows(7, torch.tensor([7, 3]), torch.tensor([1, 1]), num_context=0)
    pooled, narrower = pool(x, rows, StageConfig(1, aggregation_window=4, aggregation_stride=2))
    assert pooled[0, :, 0].tolist() == [1.5, 3.5]
    assert narrower.num_history.tolist() == [2, 0]


@pytest.mark.parametrize(("window", "stride"), [(3, 2), (2, 2), (50, 7)])
def test_stages_do_not_depend_on_the_padding(golden: Path, window: int, stride: int) -> None:
    torch.manual_seed(1)
    model = HstuRanking(staged(golden, window, stride)).eval()
    collate = Collator(model.config, {})
    lines = read_lines(golden / "kuairand" / "requests.jsonl")
    examples = [example_of(r) for r in lines if r["candidates"]]
    with torch.no_grad():
        together = model(collate(examples)).candidate_logits
        for logits, example in zip(together, examples, strict=True):
            alone = model(collate([example])).candidate_logits[0]
            torch.testing.assert_close(logits[: len(alone)], alone, atol=1e-5, rtol=0)
