# SPDX-License-Identifier: Apache-2.0
"""What differs between datasets: columns, tasks, ids, the size of model and training."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hstu_train.config import ModelConfig, StageConfig, TableConfig
from hstu_train.reader import User
from hstu_train.vocabulary import Vocabulary

KUAIRAND_TASKS = [
    "click",
    "like",
    "follow",
    "comment",
    "forward",
    "hate",
    "long_view",
    "profile_enter",
]


@dataclass(frozen=True)
class Training:
    """How long and how hard. Item logits are the history's own items, each scored in its place;
    hierarchical models have none, so they learn from more candidates of a sample instead.

    num_candidates: items scored after the point where a sample is cut; None: the model's limit.
    """

    steps: int = 2000
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    dropout: float = 0.3
    warmup_steps: int = 50
    batch_items: int = 512
    item_oov_rate: float = 0.02
    user_oov_rate: float = 0.2
    history_loss_weight: float = 1.0
    num_candidates: int | None = None


@dataclass(frozen=True)
class Dataset:
    """min_item_count: items that training saw less often share the oov row of the vocabulary.

    num_items: None, or the served model takes item ids below it as rows, without a vocabulary.
    prepare: the command that makes PROCESSED. shareable: requests made of the data may be passed
    on. about and limits: for the model card.
    """

    name: str
    item_feature: str
    action_feature: str
    num_actions: int
    task_names: list[str]
    contextual_tables: dict[str, int | None]  # feature -> rows; None: a vocabulary with an oov row
    num_items: int | None
    min_item_count: int
    hidden_size: int
    num_layers: int
    num_heads: int
    scaling_seqlen: int
    prepare: str
    shareable: bool
    about: str
    limits: str
    attention: str = "silu"
    stages: list[StageConfig] = field(default_factory=list)
    max_history_tokens: int = 2048
    max_num_candidates: int = 8
    num_position_buckets: int = 128
    training: Training = field(default_factory=Training)

    def labels(self, actions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Action values [n] -> tasks [n, T]"""
        if self.action_feature == "rating":
            return (actions >= 3)[:, None]  # ratings are stars - 1: at least 4 stars
        return (actions[:, None] >> np.arange(len(self.task_names)) & 1).astype(np.bool_)


DATASETS = {
    "kuairand-sample": Dataset(
        name="kuairand-sample",
        item_feature="video_id",
        action_feature="action_weights",
        num_actions=256,
        task_names=KUAIRAND_TASKS,
        contextual_tables={"user_id": None},
        num_items=None,
        min_item_count=2,
        hidden_size=64,
        num_layers=2,
        num_heads=4,
        scaling_seqlen=64,
        prepare=(
            "hstu preprocess --dataset kuairand --training --out-dir PROCESSED \\\n"
            "    --log data/log_standard_4_08_to_4_21_sample.csv"
        ),
        shareable=True,
        about=(
            "41,828 real interactions of 664 users with 9,359 videos, 2022-04-08 to 2022-04-21, a "
            'sample of KuaiRand-27K (Gao et al., "KuaiRand: An Unbiased Sequential Recommendation '
            'Dataset with Randomly Exposed Videos", CIKM 2022, doi 10.1145/3511808.3557624), '
            "licence CC BY-SA 4.0. The subset is the one that Alessandro Soccol published "
            "(predict_explicit_negative_feedback_kuairand). This model, requests.jsonl and "
            "expected.jsonl are made from it and carry the same attribution and licence."
        ),
        limits=(
            "The sample holds only interactions that were liked or hated, popular videos and "
            "active users among the liked ones. So like and hate are nearly complementary, and "
            "an unknown or rare video is likely a hated one: their AUCs say more about how the "
            "sample was drawn than about taste. Follow, comment, forward and profile enter have "
            "few positives; differences of some hundredths there are noise. There are no user "
            "features but the id, and users that training did not see share one row."
        ),
    ),
    "ml-100k": Dataset(
        name="ml-100k",
        item_feature="movie_id",
        action_feature="rating",
        num_actions=11,
        task_names=["at_least_4_stars"],
        contextual_tables={},
        num_items=1683,
        min_item_count=5,
        hidden_size=64,
        num_layers=2,
        num_heads=4,
        scaling_seqlen=64,
        attention="softmax",
        num_position_buckets=32,
        training=Training(weight_decay=0.5),
        prepare=(
            "python -m hstu_train.movielens100k --recbole WHEEL --out ml-1m\n"
            "hstu preprocess --dataset ml-1m --data-dir ml-1m --training --out-dir PROCESSED"
        ),
        shareable=False,
        about=(
            'MovieLens-100K (F. Maxwell Harper and Joseph A. Konstan, "The MovieLens Datasets: '
            'History and Context", ACM TiiS 5(4), 2015, doi 10.1145/2827872): 100,000 ratings of '
            "943 users for 1,682 movies. Its licence asks for permission before the data are "
            "passed on or used commercially, so neither they nor requests made of them are here; "
            "docs/training.md tells how to get them. Movie ids are table rows as they are."
        ),
        limits=(
            "Ratings of 1997 and 1998, entered in bursts: a user's time stamps say when movies "
            "were rated, not when they were seen, and a user's candidates were all rated by that "
            "user. Movies that training saw less than five times share one embedding. The "
            "baselines are weak here: a user's and a movie's mean, both shrunk and added, reached "
            "0.768 on the same candidates, as much as this model."
        ),
    ),
}

OWN_DATA = "Your own, as `hstu preprocess --training` wrote it to PROCESSED."

# The same columns and sizes for data that is not shipped.
DATASETS["kuairand"] = replace(
    DATASETS["kuairand-sample"],
    name="kuairand",
    prepare="hstu preprocess --dataset kuairand --training --out-dir PROCESSED --log LOG",
    shareable=False,
    about=OWN_DATA,
    limits="Not known: sizes and steps are those of a small sample.",
)
DATASETS["ml-1m"] = replace(
    DATASETS["ml-100k"],
    name="ml-1m",
    prepare="hstu preprocess --dataset ml-1m --training --out-dir PROCESSED --data-dir FOLDER",
    num_items=None,
    about=OWN_DATA,
    limits="Not known: sizes and steps are those of MovieLens-100K.",
)

# The second layer sees means of two items and their actions.
for name in ("kuairand-sample", "ml-100k"):
    flat = DATASETS[name]
    DATASETS[f"{name}-hierarchical"] = replace(
        flat,
        name=f"{name}-hierarchical",
        stages=[StageConfig(1), StageConfig(1, aggregation_window=4, aggregation_stride=4)],
        prepare=flat.prepare.replace("data/log", "../kuairand/data/log"),
        limits=f"{flat.limits} Sizes and steps are the flat model's; stages were not searched for.",
        training=replace(flat.training, num_candidates=64),
    )


def build_vocabularies(dataset: Dataset, users: list[User]) -> dict[str, Vocabulary]:
    """Only what `users`, the training part, holds gets a row of its own. Named by table."""
    vocabularies = {
        feature: Vocabulary.with_oov(u.contextual[feature] for u in users)
        for feature, rows in dataset.contextual_tables.items()
        if rows is None
    }
    ids, counts = np.unique(np.concatenate([u.items for u in users]), return_counts=True)
    often = ids[counts >= dataset.min_item_count]
    vocabularies[dataset.item_feature] = Vocabulary.with_oov(often.tolist())
    return vocabularies


def build_config(dataset: Dataset, vocabularies: dict[str, Vocabulary]) -> ModelConfig:
    def table(feature: str, num_rows: int | None) -> TableConfig:
        if feature not in vocabularies:
            assert num_rows is not None
            return TableConfig(feature, num_rows, [feature])
        vocabulary = vocabularies[feature]
        file = f"{feature}.vocabulary"
        return TableConfig(feature, vocabulary.num_rows, [feature], file, vocabulary.oov_row)

    size, heads = dataset.hidden_size, dataset.num_heads
    return ModelConfig(
        hidden_size=size,
        num_layers=dataset.num_layers,
        stages=list(dataset.stages),
        num_attention_heads=heads,
        kv_channels=size // heads,
        attention=dataset.attention,
        scaling_seqlen=dataset.scaling_seqlen,
        max_history_tokens=dataset.max_history_tokens,
        max_num_candidates=dataset.max_num_candidates,
        num_position_buckets=dataset.num_position_buckets,
        item_feature=dataset.item_feature,
        action_feature=dataset.action_feature,
        contextual_features=list(dataset.contextual_tables),
        embedding_tables=[
            *(table(f, rows) for f, rows in dataset.contextual_tables.items()),
            table(dataset.item_feature, dataset.num_items),
            table(dataset.action_feature, dataset.num_actions),
        ],
        prediction_head_arch=[size, len(dataset.task_names)],
        task_names=dataset.task_names,
    )
