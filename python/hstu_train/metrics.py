# SPDX-License-Identifier: Apache-2.0
"""Exact area under the ROC curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def auc(scores: NDArray[np.float64], labels: NDArray[np.bool_]) -> float | None:
    """P(score of a positive > score of a negative) + P(equal) / 2, over all pairs.

    scores and labels [n]; None where all labels are equal.
    """
    positives = int(labels.sum())
    negatives = len(labels) - positives
    if positives == 0 or negatives == 0:
        return None
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    below = np.cumsum(sizes) - sizes
    mean_rank = below + (sizes + 1) / 2  # ranks from 1, equal scores share theirs
    rank_sum = float(mean_rank[group][labels].sum())
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


def auc_per_task(scores: NDArray[np.float64], labels: NDArray[np.bool_]) -> list[float | None]:
    """scores and labels [n, T] -> T AUCs"""
    return [auc(scores[:, t], labels[:, t]) for t in range(labels.shape[1])]
