# SPDX-License-Identifier: Apache-2.0
"""Trains a model on processed_seqs.csv and writes the folder that hstu.cpp serves.

    python -m hstu_train.train --dataset kuairand-sample --data processed --out example/model

Beside the model folder go the model card (README.md), expected_auc.json, and, where the data may
be passed on, requests.jsonl with torch's answers in expected.jsonl.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from hstu_train.batches import Collator
from hstu_train.card import model_card
from hstu_train.checkpoint import load_model, save_model
from hstu_train.datasets import DATASETS, Dataset, build_config, build_vocabularies
from hstu_train.evaluate import Evaluation, evaluate, table
from hstu_train.export import served_form, write_auc, write_expected, write_requests
from hstu_train.fit import fit, make_deterministic
from hstu_train.model import HstuRanking
from hstu_train.reader import User, read_users
from hstu_train.split import test_users, trainable
from hstu_train.vocabulary import Vocabulary


def report(epoch: int, step: int, loss: float) -> None:
    print(f"epoch {epoch}, step {step}: loss {loss:.4f}", file=sys.stderr, flush=True)


def train(
    dataset: Dataset, users: list[User], seed: int
) -> tuple[HstuRanking, dict[str, Vocabulary]]:
    """Trains on `users` as they are: what must not be seen has been cut off before."""
    vocabularies = build_vocabularies(dataset, users)
    config = build_config(dataset, vocabularies)
    model = HstuRanking(config, dataset.training.dropout)
    fit(model, Collator(config, vocabularies), users, dataset, seed, report)
    return model, vocabularies


def validate(dataset: Dataset, users: list[User], seed: int) -> Evaluation:
    """As if the interactions of the test had not happened yet: nothing of them is looked at."""
    earlier = trainable(users, dataset.max_num_candidates)
    known = trainable(earlier, dataset.max_num_candidates)
    model, vocabularies = train(dataset, known, seed)
    return evaluate(model, Collator(model.config, vocabularies), dataset, earlier, all_users=True)


def command_line(args: argparse.Namespace) -> str:
    steps = f" --steps {args.steps}" if args.steps else ""
    return (
        f"python -m hstu_train.train --dataset {args.dataset} --data PROCESSED "
        f"--out {args.out.name} --seed {args.seed}{steps}"
    )


def run(args: argparse.Namespace) -> None:
    dataset = DATASETS[args.dataset]
    if args.steps:
        dataset = replace(dataset, training=replace(dataset.training, steps=args.steps))
    make_deterministic(args.seed, args.threads)
    contextual = list(dataset.contextual_tables)
    users = list(read_users(args.data, dataset.item_feature, dataset.action_feature, contextual))
    if args.validate:
        print(table(validate(dataset, users, args.seed)), end="")
        return
    known = trainable(users, dataset.max_num_candidates)
    trained, training_ids = train(dataset, known, args.seed)
    model, vocabularies = served_form(trained, dataset, training_ids)
    save_model(model, vocabularies, args.out)
    stored = load_model(args.out)  # what the engine will read: tables rounded to bf16
    evaluation = evaluate(stored, Collator(stored.config, vocabularies), dataset, users, False)
    beside = args.out.parent
    if dataset.shareable:
        tested = test_users(users, dataset.max_num_candidates)
        write_requests(beside / "requests.jsonl", tested, dataset, stored.config)
        write_expected(beside / "expected.jsonl", evaluation)
    write_auc(beside / "expected_auc.json", evaluation)
    card = model_card(dataset, stored, evaluation, len(users), command_line(args))
    (beside / "README.md").write_text(card)
    print(table(evaluation), end="")


def parse_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains an HSTU ranking model.")
    parser.add_argument("--dataset", required=True, choices=sorted(DATASETS))
    parser.add_argument("--data", type=Path, required=True, help="folder of processed_seqs.csv")
    parser.add_argument("--out", type=Path, help="the model folder to write")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, help="instead of the dataset's own number")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--validate",
        action="store_true",
        help="hold out what comes before the test items, print AUCs, write nothing",
    )
    args = parser.parse_args(argv)
    if not args.validate and not args.out:
        parser.error("--out is needed, unless --validate")
    return args


if __name__ == "__main__":
    run(parse_arguments())
