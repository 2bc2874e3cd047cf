# SPDX-License-Identifier: Apache-2.0
"""How the plots look, and that the same figures make the same file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

# Distinct also to those who don't see red and green (Okabe and Ito); hstu comes first.
COLOURS = ["#d55e00", "#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#e69f00", "#000000", "#999999"]

matplotlib.use("svg")
matplotlib.rcParams.update(
    {
        "svg.hashsalt": "hstu",
        "svg.fonttype": "path",
        "font.size": 9,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#dddddd",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "figure.facecolor": "white",
    }
)


def plain(value: float, _place: int) -> str:
    """For axes: 0.5, 16, 4096."""
    return f"{value:g}"


@contextmanager
def figure(path: Path, width: float, height: float) -> Iterator[Figure]:
    """A figure of inches, written to `path` at the end."""
    drawn = Figure(figsize=(width, height), layout="constrained")
    yield drawn
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn.savefig(path, metadata={"Date": None})
