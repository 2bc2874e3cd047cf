# SPDX-License-Identifier: Apache-2.0
"""Reads processed_seqs.csv, what `hstu preprocess --training` writes: one row a user.

Sequence columns hold lists ("[3, 1, 4]"), all others one value. Nothing here needs torch.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FILE_NAME = "processed_seqs.csv"


@dataclass(frozen=True)
class User:
    """One user's whole behaviour by time, in raw ids. items and actions [n]."""

    user_id: int
    contextual: dict[str, int]
    items: NDArray[np.int64]
    actions: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.items)

    def before(self, end: int) -> User:
        """The same user when only the first `end` items had happened."""
        return User(self.user_id, self.contextual, self.items[:end], self.actions[:end])


def parse_sequence(text: str) -> NDArray[np.int64]:
    """'[3, 1, 4]' -> [3, 1, 4]"""
    if not (text.startswith("[") and text.endswith("]")):
        raise ValueError(f"{text[:40]!r} is no list")
    inside = text[1:-1]
    return np.array([int(x) for x in inside.split(",")] if inside.strip() else [], dtype=np.int64)


def read_users(
    path: Path, item_column: str, action_column: str, contextual_columns: list[str]
) -> Iterator[User]:
    """Users in file order; an error names file and line. `path` may be the folder of the file."""
    if path.is_dir():
        path = path / FILE_NAME
    csv.field_size_limit(sys.maxsize)
    with path.open(newline="") as file:
        reader = csv.DictReader(file, restval="")
        needed = {"user_id", item_column, action_column, *contextual_columns}
        missing = sorted(needed - set(reader.fieldnames or []))
        if missing:
            raise ValueError(f"{path} lacks the columns {', '.join(missing)}")
        for row in reader:
            try:
                items, actions = (
                    parse_sequence(row[item_column]),
                    parse_sequence(row[action_column]),
                )
                contextual = {c: int(row[c]) for c in contextual_columns}
                user_id = int(row["user_id"])
            except (TypeError, ValueError) as error:
                raise ValueError(f"{path}:{reader.line_num}: {error}") from None
            if len(items) != len(actions):
                lengths = f"{len(items)} items and {len(actions)} actions"
                raise ValueError(f"{path}:{reader.line_num}: user {user_id} has {lengths}")
            yield User(user_id, contextual, items, actions)
