# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def golden() -> Path:
    return ROOT / "tests" / "golden"


@pytest.fixture(scope="session")
def preprocess() -> ModuleType:
    """bench/preprocess_pandas.py as a module."""
    pytest.importorskip("pandas")
    path = ROOT / "bench" / "preprocess_pandas.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def processed_csv(seed: int, num_users: int = 12, shortest: int = 10, longest: int = 30) -> str:
    """A made-up processed_seqs.csv in KuaiRand's columns."""
    rng = np.random.default_rng(seed)
    lines = ["user_id,video_id,time_ms,action_weights"]
    for user in range(num_users):
        n = int(rng.integers(shortest, longest))
        columns = [
            rng.integers(0, 20, n).tolist(),
            np.sort(rng.integers(0, 10**6, n)).tolist(),
            rng.integers(0, 256, n).tolist(),
        ]
        lines.append(f"{user + 100}," + ",".join(f'"{c}"' for c in columns))
    return "\n".join(lines) + "\n"
