# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import processed_csv


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


def test_the_python_of_the_training_page_runs(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "processed").mkdir()
    (tmp_path / "processed" / "processed_seqs.csv").write_text(processed_csv(seed=1))
    monkeypatch.chdir(tmp_path)
    settings, loop = python_blocks(root / "docs" / "training.md")
    names: dict[str, object] = {}
    exec(settings, names)
    assert names["mine"]
    torch = pytest.importorskip("torch")
    exec(loop, names)
    logits = names["logits"]
    assert isinstance(logits, torch.Tensor) and logits.shape[1:] == (4, 8)
