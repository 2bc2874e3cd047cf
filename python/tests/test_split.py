# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np

from hstu_train import split
from hstu_train.reader import User
from hstu_train.split import last_items, trainable


def user(user_id: int, length: int) -> User:
    return User(user_id, {}, np.arange(length), np.arange(length) + 100)


def test_the_test_set_is_the_last_thirty_percent_of_those_with_enough_items() -> None:
    users = [user(i, 8 if i % 2 else 9) for i in range(20)]
    assert [u.user_id for u in split.test_users(users, 8)] == [14, 16, 18]


def test_the_evaluated_items_are_not_trainable() -> None:
    kept = trainable([user(0, 20), user(1, 8), user(2, 9)], 8)
    assert [(u.user_id, len(u)) for u in kept] == [(0, 12), (2, 1)]


def test_the_history_keeps_the_newest_items_that_fit() -> None:
    example = last_items(user(0, 20), 8, max_history_items=5)
    assert example.history.items.tolist() == [7, 8, 9, 10, 11]
    assert example.candidates.tolist() == list(range(12, 20))
    assert example.actions.tolist() == list(range(112, 120))
