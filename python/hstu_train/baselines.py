# SPDX-License-Identifier: Apache-2.0
"""Two scores that need no model, and that a model should beat."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hstu_train.reader import User
from hstu_train.split import Example

# Action values [n] -> what they say of every task [n, T].
Labels = Callable[[NDArray[np.int64]], NDArray[np.bool_]]


def popularity_scores(
    examples: list[Example], known: list[User], labels: Labels
) -> NDArray[np.float64]:
    """How many known interactions with a candidate were positive for the task -> [n, T]"""
    num_tasks = labels(np.zeros(1, dtype=np.int64)).shape[1]
    counts: dict[int, NDArray[np.float64]] = defaultdict(lambda: np.zeros(num_tasks))
    for user in known:
        for item, positive in zip(user.items.tolist(), labels(user.actions), strict=True):
            counts[item] += positive
    unknown = np.zeros(num_tasks)
    return np.array([counts.get(i, unknown) for e in examples for i in e.candidates.tolist()])


def last_action_scores(examples: list[Example], labels: Labels) -> NDArray[np.float64]:
    """What the newest action of the candidate's user says of the task -> [n, T]"""
    last = [labels(e.history.actions[-1:])[0] for e in examples for _ in e.candidates]
    return np.array(last, dtype=np.float64)
