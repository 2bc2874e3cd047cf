# SPDX-License-Identifier: Apache-2.0
"""The shipped example is what its card says; the last of these tests alone needs torch."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from safetensors import safe_open

from hstu_train import split
from hstu_train.baselines import last_action_scores, popularity_scores
from hstu_train.config import ModelConfig
from hstu_train.datasets import DATASETS
from hstu_train.metrics import auc_per_task
from hstu_train.reader import User, read_users

DATASET = DATASETS["kuairand-sample"]


@pytest.fixture(scope="module")
def example(root: Path) -> Path:
    return root / "examples" / "kuairand"


@pytest.fixture(scope="module")
def users(
    example: Path, preprocess: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> list[User]:
    out = tmp_path_factory.mktemp("processed")
    where = ["--data-dir", str(example / "data"), "--out-dir", str(out)]
    preprocess.run(preprocess.parse_arguments(["--dataset", "kuairand", "--training", *where]))
    return list(read_users(out, "video_id", "action_weights", ["user_id"]))


def read_logits(example: Path) -> list[list[list[float]]]:
    lines = (example / "expected.jsonl").read_text().splitlines()
    return [json.loads(line)["logits"] for line in lines]


def test_the_card_table_follows_from_data_and_logits(example: Path, users: list[User]) -> None:
    m = DATASET.max_num_candidates
    examples = [split.last_items(u, m, 10**6) for u in split.test_users(users, m)]
    labels = np.concatenate([DATASET.labels(e.actions) for e in examples])
    known = split.trainable(users, m)
    columns = {
        "model": auc_per_task(np.concatenate(read_logits(example)), labels),
        "popularity": auc_per_task(popularity_scores(examples, known, DATASET.labels), labels),
        "last_action": auc_per_task(last_action_scores(examples, DATASET.labels), labels),
        "positives": labels.sum(0).tolist(),
    }
    expected = json.loads((example / "expected_auc.json").read_text())["tasks"]
    assert [t["task"] for t in expected] == DATASET.task_names
    for name, values in columns.items():
        assert [t[name] for t in expected] == pytest.approx(values, abs=1e-9)


def test_the_vocabularies_hold_only_what_training_saw(example: Path, users: list[User]) -> None:
    known = split.trainable(users, DATASET.max_num_candidates)
    seen = set(np.concatenate([u.items for u in known]).tolist())
    ids = [int(line) for line in (example / "model/video_id.vocabulary").read_text().split()]
    assert ids == sorted(ids) and set(ids) < seen


@pytest.mark.parametrize(
    "name", ["kuairand", "kuairand-hierarchical", "ml-100k", "ml-100k-hierarchical"]
)
def test_the_stored_tables_have_the_rows_that_the_config_names(root: Path, name: str) -> None:
    folder = root / "examples" / name / "model"
    config = ModelConfig.load(folder)
    with safe_open(folder / "model.safetensors", framework="np") as tensors:
        for table in config.embedding_tables:
            stored = tensors.get_slice(f"embedding.{table.name}.weight")
            assert stored.get_dtype() == "BF16"
            assert stored.get_shape() == [table.num_embeddings, config.hidden_size]


def test_torch_gives_the_shipped_logits(example: Path, users: list[User]) -> None:
    torch = pytest.importorskip("torch")
    from hstu_train.batches import Collator
    from hstu_train.checkpoint import load_model, load_vocabularies
    from hstu_train.fit import predict

    torch.set_num_threads(1)
    model = load_model(example / "model")
    collator = Collator(model.config, load_vocabularies(model.config, example / "model"))
    m = DATASET.max_num_candidates
    examples = [split.last_items(u, m, 10**6) for u in split.test_users(users, m)]
    logits = np.concatenate(predict(model, collator, examples))
    np.testing.assert_allclose(logits, np.concatenate(read_logits(example)), atol=1e-4)
