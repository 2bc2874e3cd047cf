# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from hstu_train.baselines import last_action_scores, popularity_scores
from hstu_train.datasets import DATASETS
from hstu_train.metrics import auc
from hstu_train.reader import User
from hstu_train.split import Example


def test_auc_counts_all_pairs_and_ties_half() -> None:
    rng = np.random.default_rng(1)
    scores, labels = rng.integers(0, 5, 200).astype(float), rng.random(200) < 0.3
    above = scores[labels][:, None] - scores[~labels][None, :]
    pairs = (above > 0).mean() + (above == 0).mean() / 2
    assert auc(scores, labels) == pytest.approx(pairs, abs=1e-12)


def test_auc_of_one_class_is_none() -> None:
    assert auc(np.array([1.0, 2.0]), np.array([True, True])) is None


def test_popularity_counts_positives_and_last_action_repeats_the_newest() -> None:
    labels = DATASETS["kuairand-sample"].labels
    known = [
        User(1, {}, np.array([5, 6]), np.array([1, 2])),
        User(2, {}, np.array([5]), np.array([3])),
    ]
    examples = [Example(known[0], np.array([5, 7]), np.array([0, 0]))]
    assert popularity_scores(examples, known, labels)[:, :3].tolist() == [[2, 1, 0], [0, 0, 0]]
    assert last_action_scores(examples, labels)[:, :3].tolist() == [[0, 1, 0], [0, 1, 0]]
