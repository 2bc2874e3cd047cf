# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import processed_csv

pytest.importorskip("torch")

from hstu_train.checkpoint import load_model, load_vocabularies
from hstu_train.reader import read_users
from hstu_train.train import parse_arguments, run

MODEL_FILES = ["model.safetensors", "config.json", "video_id.vocabulary", "user_id.vocabulary"]


def train(folder: Path, csv: str, *more: str) -> dict[str, bytes]:
    """Trains on the text of a processed file; the model's files by name."""
    folder.mkdir()
    (folder / "processed_seqs.csv").write_text(csv)
    arguments = ["--dataset", "kuairand-sample", "--data", str(folder), "--seed", "3", *more]
    run(parse_arguments([*arguments, "--out", str(folder / "model"), "--steps", "4"]))
    return {name: (folder / "model" / name).read_bytes() for name in MODEL_FILES}


def with_other_last_items(csv: str, num_items: int) -> str:
    """Every user's last items replaced by others, with other actions."""
    header, *rows = csv.splitlines()
    changed = [header]
    for row in rows:
        user, *columns = row.rstrip('"').split(',"')
        lists = [json.loads(c.rstrip('"')) for c in columns]
        lists[0][-num_items:] = [9000 + i for i in range(num_items)]
        lists[2][-num_items:] = [255 - a for a in lists[2][-num_items:]]
        changed.append(f"{user}," + ",".join(f'"{c}"' for c in lists))
    return "\n".join(changed) + "\n"


def test_what_is_evaluated_is_never_trained_on(tmp_path: Path) -> None:
    csv = processed_csv(seed=1)
    model = train(tmp_path / "a", csv)
    assert train(tmp_path / "b", with_other_last_items(csv, 8)) == model
    assert train(tmp_path / "c", with_other_last_items(csv, 9)) != model


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    csv = processed_csv(seed=2)
    assert train(tmp_path / "a", csv) == train(tmp_path / "b", csv)


def test_requests_and_expected_logits_belong_to_the_test_users(tmp_path: Path) -> None:
    train(tmp_path / "run", processed_csv(seed=4))
    out = tmp_path / "run"
    users = list(read_users(out, "video_id", "action_weights", ["user_id"]))
    requests = [json.loads(line) for line in (out / "requests.jsonl").read_text().splitlines()]
    expected = [json.loads(line) for line in (out / "expected.jsonl").read_text().splitlines()]
    tested = users[int(0.7 * len(users)) :]
    assert [r["user_id"] for r in requests] == [u.user_id for u in tested]
    assert [e["user_id"] for e in expected] == [u.user_id for u in tested]
    for request, answer, user in zip(requests, expected, tested, strict=True):
        assert request["history"]["items"] + request["candidates"] == user.items.tolist()
        assert request["history"]["actions"] == user.actions[:-8].tolist()
        assert np.array(answer["logits"]).shape == (8, 8)
    assert json.loads((out / "expected_auc.json").read_text())["users"] == len(tested)
    assert "does **not** beat" in (out / "README.md").read_text()


def test_ids_that_training_lacks_get_the_oov_row(tmp_path: Path) -> None:
    csv = processed_csv(seed=5)
    train(tmp_path / "run", with_other_last_items(csv, 8))
    model = load_model(tmp_path / "run" / "model")
    vocabularies = load_vocabularies(model.config, tmp_path / "run" / "model")
    assert set(vocabularies) == {"user_id", "video_id"}
    assert max(vocabularies["video_id"].ids) < 9000
    table = model.config.table_of("video_id")
    assert vocabularies["video_id"].rows(np.array([9000])).tolist() == [table.num_embeddings - 1]


def test_validation_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    csv = processed_csv(seed=6, shortest=20)
    (tmp_path / "processed_seqs.csv").write_text(csv)
    arguments = ["--dataset", "kuairand-sample", "--data", str(tmp_path), "--validate"]
    run(parse_arguments([*arguments, "--steps", "2"]))
    assert "| like |" in capsys.readouterr().out
    assert [p.name for p in tmp_path.iterdir()] == ["processed_seqs.csv"]
