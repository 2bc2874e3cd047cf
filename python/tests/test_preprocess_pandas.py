# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
import json
from pathlib import Path
from types import ModuleType

import pytest

NAMES = ["processed_seqs.csv", "processed_seqs_inference.csv", "processed_batches.csv"]
CASES = {
    "preprocess_kuairand": "kuairand-1k",
    "preprocess_kuairand_27k": "kuairand-27k",
    "preprocess_ml-1m": "ml-1m",
    "preprocess_ml-20m": "ml-20m",
}


def run(preprocess: ModuleType, *arguments: str) -> None:
    preprocess.run(preprocess.parse_arguments(list(arguments)))


@pytest.mark.parametrize(("case", "dataset"), CASES.items())
def test_gives_the_golden_bytes(
    preprocess: ModuleType, golden: Path, tmp_path: Path, case: str, dataset: str
) -> None:
    raw = str(golden / case / "raw")
    compat = ["--compat", "recsys-examples"] if dataset.startswith("ml-") else []
    run(preprocess, "--dataset", dataset, "--data-dir", raw, "--out-dir", str(tmp_path), *compat)
    for name in NAMES:
        assert (tmp_path / name).read_bytes() == (golden / case / "expected" / name).read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(NAMES)


def test_movielens_inference_is_by_time_unless_compatible(
    preprocess: ModuleType, golden: Path, tmp_path: Path
) -> None:
    raw = str(golden / "preprocess_ml-1m" / "raw")
    run(preprocess, "--dataset", "ml-1m", "--data-dir", raw, "--out-dir", str(tmp_path))
    with (tmp_path / "processed_seqs_inference.csv").open(newline="") as file:
        times = [json.loads(row["unix_timestamp"]) for row in csv.DictReader(file)]
    assert times and all(t == sorted(t) for t in times)


def test_logs_without_user_features_keep_all_users(
    preprocess: ModuleType, golden: Path, tmp_path: Path
) -> None:
    log = golden / "preprocess_kuairand" / "raw" / "log_standard_4_22_to_5_08_1k.csv"
    out = ["--out-dir", str(tmp_path), "--training"]
    run(preprocess, "--dataset", "kuairand", "--log", str(log), *out)
    header, *rows = (tmp_path / "processed_seqs.csv").read_text().splitlines()
    assert header == "user_id,video_id,time_ms,action_weights,play_time_ms,duration_ms"
    assert len(rows) == 38
    assert not (tmp_path / "processed_batches.csv").exists()
