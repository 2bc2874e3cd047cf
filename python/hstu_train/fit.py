# SPDX-License-Identifier: Apache-2.0
"""The training loop: AdamW on the binary cross entropy of all tasks, seeded and deterministic."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from hstu_train.batches import Collator, by_length, pad_labels
from hstu_train.datasets import Dataset, Training
from hstu_train.model import Batch, HstuRanking
from hstu_train.reader import User
from hstu_train.split import Example, example_at


def make_deterministic(seed: int, threads: int) -> None:
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(seed)


def sample_examples(users: list[User], dataset: Dataset, rng: np.random.Generator) -> list[Example]:
    """One example a user: a random point of its behaviour, in the newer half, and what followed."""
    num_candidates = dataset.training.num_candidates or dataset.max_num_candidates
    examples = []
    for user in users:
        latest = max(0, len(user) - dataset.max_num_candidates)
        start = int(rng.integers(latest // 2, latest + 1))
        examples.append(example_at(user, start, num_candidates))
    return examples


def forget_some(
    batch: Batch, collator: Collator, training: Training, rng: torch.Generator
) -> Batch:
    """Sends a share of the ids to the oov rows, so that these learn what an unknown id is like."""

    def forget(feature: str, rows: Tensor, rate: float) -> Tensor:
        oov = collator.config.table_of(feature).oov_row
        if oov is None:
            return rows
        return rows.masked_fill(torch.rand(rows.shape, generator=rng) < rate, oov)

    item = collator.config.item_feature
    batch.items = forget(item, batch.items, training.item_oov_rate)
    batch.candidates = forget(item, batch.candidates, training.item_oov_rate)
    for feature, rows in batch.contextual.items():
        batch.contextual[feature] = forget(feature, rows, training.user_oov_rate)
    return batch


def loss_of(model: HstuRanking, batch: Batch, examples: list[Example], dataset: Dataset) -> Tensor:
    """Mean over all predictions: candidates, and the history's items in their places."""
    output = model(batch)
    labels, real = pad_labels([dataset.labels(e.actions) for e in examples])
    loss = F.binary_cross_entropy_with_logits(output.candidate_logits[real], labels[real])
    weight = dataset.training.history_loss_weight
    if output.item_logits is None or weight == 0 or not batch.num_items.any():
        return loss
    labels, real = pad_labels([dataset.labels(e.history.actions) for e in examples])
    past = F.binary_cross_entropy_with_logits(output.item_logits[real], labels[real])
    return loss + weight * past


def learning_rate_factor(step: int, training: Training) -> float:
    """Linear warm-up, then a half cosine down to zero."""
    warmup, total = training.warmup_steps, training.steps
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


def optimizer_of(model: HstuRanking, training: Training) -> torch.optim.Optimizer:
    """Biases and norms are not decayed."""
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [
        {"params": decayed, "weight_decay": training.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=training.learning_rate)


def fit(
    model: HstuRanking,
    collator: Collator,
    users: list[User],
    dataset: Dataset,
    seed: int,
    report: Callable[[int, int, float], None],
) -> None:
    """Trains in place; report(epoch, step, mean loss) is called after every epoch."""
    training = dataset.training
    rng, torch_rng = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    users = [u for u in users if len(u) > 0]
    optimizer = optimizer_of(model, training)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: learning_rate_factor(step, training)
    )
    model.train()
    step, epoch = 0, 0
    while step < training.steps:
        groups = list(by_length(sample_examples(users, dataset, rng), training.batch_items))
        losses = []
        for i in rng.permutation(len(groups))[: training.steps - step]:
            batch = forget_some(collator(groups[i]), collator, training, torch_rng)
            optimizer.zero_grad()
            loss = loss_of(model, batch, groups[i], dataset)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        step += len(losses)
        epoch += 1
        report(epoch, step, float(np.mean(losses)))
    model.eval()


def predict(
    model: HstuRanking, collator: Collator, examples: list[Example]
) -> list[NDArray[np.float32]]:
    """Logits of every example's candidates [m, T], in order."""
    logits = []
    with torch.no_grad():
        for example in examples:
            logits.append(model(collator([example])).candidate_logits[0].numpy())
    return logits
