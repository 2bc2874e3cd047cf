# SPDX-License-Identifier: Apache-2.0
"""The evaluation of `hstu eval`, by torch: AUC of every task beside two baselines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstu_train.baselines import last_action_scores, popularity_scores
from hstu_train.batches import Collator
from hstu_train.datasets import Dataset
from hstu_train.fit import predict
from hstu_train.metrics import auc_per_task
from hstu_train.model import HstuRanking
from hstu_train.reader import User
from hstu_train.split import last_items, test_users, trainable


@dataclass(frozen=True)
class TaskResult:
    """AUCs are None where all labels of the task are equal."""

    task: str
    positives: int
    model: float | None
    popularity: float | None
    last_action: float | None

    @property
    def beats_baselines(self) -> bool:
        baselines = [b for b in (self.popularity, self.last_action) if b is not None]
        return self.model is not None and all(self.model > b for b in baselines)


@dataclass(frozen=True)
class Evaluation:
    """logits: of every test user's candidates [m, T], in the order of user_ids."""

    user_ids: list[int]
    num_candidates: int
    tasks: list[TaskResult]
    logits: list[NDArray[np.float32]]

    def to_json(self) -> dict[str, Any]:
        tasks = [
            {
                "task": t.task,
                "positives": t.positives,
                "model": t.model,
                "popularity": t.popularity,
                "last_action": t.last_action,
            }
            for t in self.tasks
        ]
        counts = {"users": len(self.user_ids), "candidates": self.num_candidates}
        return {**counts, "tasks": tasks}


def evaluate(
    model: HstuRanking, collator: Collator, dataset: Dataset, users: list[User], all_users: bool
) -> Evaluation:
    """Scores the last max_num_candidates items of the test users, or of all who have more."""
    m = dataset.max_num_candidates
    known = trainable(users, m)
    chosen = [u for u in users if len(u) > m] if all_users else test_users(users, m)
    examples = [last_items(u, m, model.config.max_history_items) for u in chosen]
    labels = np.concatenate([dataset.labels(e.actions) for e in examples])
    logits = predict(model, collator, examples)
    aucs = zip(
        auc_per_task(np.concatenate(logits).astype(np.float64), labels),
        auc_per_task(popularity_scores(examples, known, dataset.labels), labels),
        auc_per_task(last_action_scores(examples, dataset.labels), labels),
        strict=True,
    )
    tasks = [
        TaskResult(name, int(positives), *values)
        for name, positives, values in zip(dataset.task_names, labels.sum(0), aucs, strict=True)
    ]
    return Evaluation([u.user_id for u in chosen], len(labels), tasks, logits)


def table(evaluation: Evaluation) -> str:
    """The tasks as a Markdown table."""

    def cell(value: float | None) -> str:
        return "-" if value is None else f"{value:.4f}"

    lines = [
        "| task | positives | model | popularity | last action | beats both |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for t in evaluation.tasks:
        aucs = " | ".join(cell(v) for v in (t.model, t.popularity, t.last_action))
        verdict = "yes" if t.beats_baselines else "**no**"
        lines.append(f"| {t.task} | {t.positives} | {aucs} | {verdict} |")
    return "\n".join(lines) + "\n"
