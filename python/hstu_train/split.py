# SPDX-License-Identifier: Apache-2.0
"""The temporal split: of every user the last items are evaluated and never trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hstu_train.reader import User


@dataclass(frozen=True)
class Example:
    """What is known of a user, and the items to score with the actions that followed [m]."""

    history: User
    candidates: NDArray[np.int64]
    actions: NDArray[np.int64]


def example_at(user: User, start: int, num_candidates: int) -> Example:
    """Candidates are the items [start, start + num_candidates), the history all before them."""
    end = start + num_candidates
    return Example(user.before(start), user.items[start:end], user.actions[start:end])


def last_items(user: User, num_candidates: int, max_history_items: int) -> Example:
    """The user's last items as candidates after the newest max_history_items before them."""
    example = example_at(user, len(user) - num_candidates, num_candidates)
    skip = max(0, len(example.history) - max_history_items)
    history = User(
        user.user_id,
        user.contextual,
        example.history.items[skip:],
        example.history.actions[skip:],
    )
    return Example(history, example.candidates, example.actions)


def trainable(users: list[User], num_held_out: int) -> list[User]:
    """All users without their last num_held_out items; who has no more than those is left out."""
    return [u.before(len(u) - num_held_out) for u in users if len(u) > num_held_out]


def test_users(users: list[User], num_candidates: int) -> list[User]:
    """Of the n users with more than num_candidates items, the last n - int(0.7 n)."""
    eligible = [u for u in users if len(u) > num_candidates]
    return eligible[int(0.7 * len(eligible)) :]
