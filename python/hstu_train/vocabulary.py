# SPDX-License-Identifier: Apache-2.0
"""Raw ids to table rows: one decimal id a line, the line's number from 0 is the row."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


class Vocabulary:
    def __init__(self, ids: Iterable[int], oov_row: int | None = None) -> None:
        self.ids = [int(i) for i in ids]
        self.oov_row = oov_row
        self._rows = {raw: row for row, raw in enumerate(self.ids)}
        if len(self._rows) != len(self.ids):
            raise ValueError("a vocabulary names an id twice")

    @classmethod
    def with_oov(cls, ids: Iterable[int]) -> Vocabulary:
        """The ids, ascending, and one more row for all others."""
        known = sorted(set(ids))
        return cls(known, oov_row=len(known))

    @property
    def num_rows(self) -> int:
        return len(self.ids) + (self.oov_row == len(self.ids))

    def rows(self, raw: NDArray[np.int64]) -> NDArray[np.int64]:
        """raw [n] -> rows [n]; an id that is not known is an error where there is no oov_row."""
        try:
            rows = [
                self._rows[i] if self.oov_row is None else self._rows.get(i, self.oov_row)
                for i in raw.tolist()
            ]
        except KeyError as missing:
            raise ValueError(
                f"id {missing} is not in the vocabulary, which has no oov_row"
            ) from None
        return np.array(rows, dtype=np.int64)

    @classmethod
    def load(cls, path: Path, oov_row: int | None = None) -> Vocabulary:
        return cls((int(line) for line in path.read_text().split()), oov_row)

    def save(self, path: Path) -> None:
        path.write_text("".join(f"{i}\n" for i in self.ids))
