# SPDX-License-Identifier: Apache-2.0
"""Examples in raw ids to padded torch batches of table rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hstu_train.config import ModelConfig
from hstu_train.model import Batch
from hstu_train.split import Example
from hstu_train.vocabulary import Vocabulary


class Collator:
    """Looks ids up in the vocabularies and pads. A table without a vocabulary takes ids as rows."""

    def __init__(self, config: ModelConfig, vocabularies: dict[str, Vocabulary]) -> None:
        self.config = config
        self.vocabularies = vocabularies

    def rows(self, feature: str, raw: NDArray[np.int64]) -> NDArray[np.int64]:
        table = self.config.table_of(feature)
        if table.name in self.vocabularies:
            return self.vocabularies[table.name].rows(raw)
        if raw.size and (raw.min() < 0 or raw.max() >= table.num_embeddings):
            limit = f"[0, {table.num_embeddings})"
            raise ValueError(f"{feature} has ids outside its table {limit}")
        return raw

    def padded(self, feature: str, sequences: list[NDArray[np.int64]]) -> Tensor:
        """[B, longest]; padding is row 0"""
        out = np.zeros((len(sequences), max(map(len, sequences))), dtype=np.int64)
        for i, sequence in enumerate(sequences):
            out[i, : len(sequence)] = self.rows(feature, sequence)
        return torch.from_numpy(out)

    def __call__(self, examples: list[Example]) -> Batch:
        config = self.config
        items = [e.history.items for e in examples]
        actions = [e.history.actions for e in examples]
        contextual = {
            f: np.array([e.history.contextual[f] for e in examples])
            for f in config.contextual_features
        }
        action_feature = config.action_feature
        return Batch(
            contextual={f: torch.from_numpy(self.rows(f, v)) for f, v in contextual.items()},
            items=self.padded(config.item_feature, items),
            actions=self.padded(action_feature, actions) if action_feature else torch.empty(0),
            num_items=torch.tensor([len(i) for i in items]),
            candidates=self.padded(config.item_feature, [e.candidates for e in examples]),
            num_candidates=torch.tensor([len(e.candidates) for e in examples]),
        )


def pad_labels(labels: list[NDArray[np.bool_]]) -> tuple[Tensor, Tensor]:
    """labels of each example [m, T] -> padded f32 [B, M, T], and where they are real [B, M]"""
    width = max(map(len, labels))
    out = np.zeros((len(labels), width, labels[0].shape[1]), dtype=np.float32)
    real = np.zeros((len(labels), width), dtype=np.bool_)
    for i, example in enumerate(labels):
        out[i, : len(example)] = example
        real[i, : len(example)] = True
    return torch.from_numpy(out), torch.from_numpy(real)


def by_length(examples: list[Example], max_tokens: int) -> Iterator[list[Example]]:
    """Groups of similar history length; a group padded holds at most max_tokens items or is one."""
    group: list[Example] = []
    for example in sorted(examples, key=lambda e: -len(e.history)):
        longest = len((group or [example])[0].history) + len(example.candidates)
        if group and (len(group) + 1) * longest > max_tokens:
            yield group
            group = []
        group.append(example)
    if group:
        yield group
