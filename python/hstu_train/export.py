# SPDX-License-Identifier: Apache-2.0
"""What is written beside a trained model, so that an engine can be checked against torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from hstu_train.config import ModelConfig
from hstu_train.datasets import Dataset, build_config
from hstu_train.evaluate import Evaluation
from hstu_train.model import HstuRanking
from hstu_train.reader import User
from hstu_train.split import Example, last_items
from hstu_train.vocabulary import Vocabulary


def served_form(
    model: HstuRanking, dataset: Dataset, vocabularies: dict[str, Vocabulary]
) -> tuple[HstuRanking, dict[str, Vocabulary]]:
    """The model with raw item ids as table rows, where the dataset asks for it (num_items).

    Every id that has no row in the training vocabulary gets a copy of its oov row.
    """
    if dataset.num_items is None:
        return model, vocabularies
    item = dataset.item_feature
    kept = {name: v for name, v in vocabularies.items() if name != item}
    served = HstuRanking(build_config(dataset, kept))
    weights = model.state_dict()
    key = f"embedding.{item}.weight"
    ids = torch.arange(dataset.num_items)
    weights[key] = weights[key][torch.from_numpy(vocabularies[item].rows(ids.numpy()))]
    served.load_state_dict(weights)
    served.eval()
    return served, kept


def request(example: Example, config: ModelConfig) -> dict[str, Any]:
    """A line of a requests file, in raw ids."""
    history: dict[str, Any] = {"items": example.history.items.tolist()}
    if config.action_feature:
        history["actions"] = example.history.actions.tolist()
    contextual = {f: example.history.contextual[f] for f in config.contextual_features}
    return {
        "user_id": example.history.user_id,
        "contextual": contextual,
        "history": history,
        "candidates": example.candidates.tolist(),
    }


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(line + "\n" for line in lines))


def write_requests(path: Path, users: list[User], dataset: Dataset, config: ModelConfig) -> None:
    m = dataset.max_num_candidates
    examples = [last_items(u, m, config.max_history_items) for u in users]
    write_lines(path, [json.dumps(request(e, config)) for e in examples])


def write_expected(path: Path, evaluation: Evaluation) -> None:
    """Nine significant digits give every float back."""
    lines = []
    for user_id, logits in zip(evaluation.user_ids, evaluation.logits, strict=True):
        rows = ", ".join("[" + ", ".join(f"{x:.9g}" for x in row) + "]" for row in logits)
        lines.append(f'{{"user_id": {user_id}, "logits": [{rows}]}}')
    write_lines(path, lines)


def write_auc(path: Path, evaluation: Evaluation) -> None:
    path.write_text(json.dumps(evaluation.to_json(), indent=2) + "\n")
