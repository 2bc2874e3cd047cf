# SPDX-License-Identifier: Apache-2.0
"""The model card that is written beside a trained model."""

from __future__ import annotations

from collections.abc import Sequence

from hstu_train.datasets import Dataset
from hstu_train.evaluate import Evaluation, table
from hstu_train.model import HstuRanking


def verdict(evaluation: Evaluation) -> str:
    behind = [t.task for t in evaluation.tasks if not t.beats_baselines]
    if not behind:
        return "The model beats both baselines on every task."
    return f"The model does **not** beat both baselines on: {', '.join(behind)}."


def model_card(
    dataset: Dataset, model: HstuRanking, evaluation: Evaluation, num_users: int, command: str
) -> str:
    config, m = model.config, dataset.max_num_candidates
    parameters = sum(p.numel() for p in model.parameters())
    training = dataset.training
    paragraphs: Sequence[str] = [
        f"# HSTU ranking model: {dataset.name}",
        f"{config.num_layers} layers, {config.num_attention_heads} heads of {config.kv_channels}, "
        f"hidden size {config.hidden_size}, {config.attention} attention, {parameters:,} "
        f"parameters; tables are bf16, the rest is f32. It predicts {describe_tasks(dataset)} "
        f"for items shown to a user, from the user's behaviour so far. It shows what the engine "
        f"does; it is not meant to recommend anything to anyone.",
        f"## Data\n\n{dataset.about}",
        f"## Split\n\nBy time: of each of the {num_users} users the last {m} items are never "
        f"trained on. Of the users with more than {m} items the last 30 % in the file are the test "
        f"set, {len(evaluation.user_ids)} users; their last {m} items are the "
        f"{evaluation.num_candidates} candidates. Sizes and steps were chosen on the {m} items "
        f"before those, by `--validate`. The vocabularies hold only ids of the training part.",
        f"## Result\n\nAUC over all candidates, ties counted half. Popularity: how many known "
        f"interactions (of all users, candidates excluded) with the item were positive. Last "
        f"action: whether the user's newest known one was.\n\n{table(evaluation)}\n"
        f"{verdict(evaluation)}",
        f"## Limits\n\n{dataset.limits}",
        f"## Making it again\n\n```\n{dataset.prepare}\n{command}\n```\n\n"
        f"AdamW, learning rate {training.learning_rate}, weight decay {training.weight_decay}, "
        f"dropout {training.dropout}. The same seed, torch version and kind of CPU give the same "
        f"bytes.",
    ]
    return "\n\n".join(paragraphs) + "\n"


def describe_tasks(dataset: Dataset) -> str:
    return ", ".join(name.replace("_", " ") for name in dataset.task_names)
