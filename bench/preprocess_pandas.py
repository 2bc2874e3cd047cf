# SPDX-License-Identifier: Apache-2.0
"""What `hstu preprocess` does, restated in pandas: the baseline of its speed, and a second opinion.

Writes the same bytes for the same input, so either output can be fed to training and evaluation:

    python bench/preprocess_pandas.py --dataset ml-1m --data-dir ml-1m --out-dir processed

processed_seqs.csv            training: one row a user, the whole history by time
processed_seqs_inference.csv  one row a user, log and date (MovieLens: a user) with its intervals
processed_batches.csv         one row an interval
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

# Bit t of action_weights is task t.
ACTION_BITS = {
    "is_click": 1,
    "is_like": 2,
    "is_follow": 4,
    "is_comment": 8,
    "is_forward": 16,
    "is_hate": 32,
    "long_view": 64,
    "is_profile_enter": 128,
}
KUAIRAND_SEQUENCES = ["video_id", "time_ms", "action_weights", "play_time_ms", "duration_ms"]
# These are numbered from 1 in order of first appearance; all other user columns pass through.
KUAIRAND_CATEGORIES = [
    "user_active_degree",
    "follow_user_num_range",
    "fans_user_num_range",
    "friend_user_num_range",
    "register_days_range",
]
MOVIELENS_USER_COLUMNS = ["user_id", "sex", "age_group", "occupation", "zip_code"]

KUAIRAND_FOLDERS = {
    "kuairand-pure": "KuaiRand-Pure",
    "kuairand-1k": "KuaiRand-1K",
    "kuairand-27k": "KuaiRand-27K",
}
KUAIRAND_LOGS = {
    "kuairand-pure": ["4_08_to_4_21_pure", "4_22_to_5_08_pure"],
    "kuairand-1k": ["4_08_to_4_21_1k", "4_22_to_5_08_1k"],
    "kuairand-27k": [
        "4_08_to_4_21_27k_part1",
        "4_08_to_4_21_27k_part2",
        "4_22_to_5_08_27k_part1",
        "4_22_to_5_08_27k_part2",
    ],
}


@dataclass
class Dataset:
    """What the formats of the two families come down to.

    logs: interactions in file order, one frame a log, with user_id and the sequence columns.
    users: user_id and the user columns, or None where the dataset has no user file.
    day: the column that cuts a user's inference rows, if any.
    """

    logs: list[pd.DataFrame]
    users: pd.DataFrame | None
    time: str
    day: str | None
    training_columns: list[str]
    inference_columns: list[str]
    inference_order: list[str]
    ticks_per_second: int


def number_categories(users: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """The columns' values -> 1, 2, ... in order of first appearance; a gap becomes 0."""
    numbered = {c: pd.factorize(users[c])[0] + 1 for c in columns if c in users}
    return users.assign(**numbered)


def load_kuairand(logs: list[Path], user_features: Path | None) -> Dataset:
    flags = list(ACTION_BITS)
    columns = ["user_id", "date", *(c for c in KUAIRAND_SEQUENCES if c != "action_weights"), *flags]
    frames = []
    for path in logs:
        frame = pd.read_csv(path, usecols=columns)
        frame["action_weights"] = sum(frame[c] * bit for c, bit in ACTION_BITS.items())
        frames.append(frame.drop(columns=flags))
    users = None
    if user_features is not None:
        kinds = dict.fromkeys(KUAIRAND_CATEGORIES, "str")
        users = number_categories(pd.read_csv(user_features, dtype=kinds), KUAIRAND_CATEGORIES)
    return Dataset(
        logs=frames,
        users=users,
        time="time_ms",
        day="date",
        training_columns=KUAIRAND_SEQUENCES,
        inference_columns=KUAIRAND_SEQUENCES,
        inference_order=["time_ms"],
        ticks_per_second=1000,
    )


def load_movielens(ratings: pd.DataFrame, users: pd.DataFrame | None, by_movie: bool) -> Dataset:
    return Dataset(
        logs=[ratings],
        users=users,
        time="unix_timestamp",
        day=None,
        training_columns=["movie_id", "rating", "unix_timestamp"],
        inference_columns=["movie_id", "unix_timestamp", "rating"],
        inference_order=["movie_id", "unix_timestamp"] if by_movie else ["unix_timestamp"],
        ticks_per_second=1,
    )


def load_movielens_1m(folder: Path, by_movie: bool) -> Dataset:
    # The C parser takes one-character separators only; "::" leaves empty columns between them.
    columns = ["user_id", "movie_id", "rating", "unix_timestamp"]
    ratings = pd.read_csv(folder / "ratings.dat", sep=":", header=None, usecols=[0, 2, 4, 6])
    ratings.columns = pd.Index(columns)
    ratings["rating"] -= 1
    users = pd.read_csv(folder / "users.dat", sep="::", header=None, engine="python", dtype=str)
    users.columns = pd.Index(MOVIELENS_USER_COLUMNS)
    users["user_id"] = users["user_id"].astype("int64")
    return load_movielens(ratings, number_categories(users, MOVIELENS_USER_COLUMNS[1:]), by_movie)


def load_movielens_20m(folder: Path, by_movie: bool) -> Dataset:
    ratings = pd.read_csv(folder / "ratings.csv")
    names = {"userId": "user_id", "movieId": "movie_id", "timestamp": "unix_timestamp"}
    ratings = ratings.rename(columns=names)
    ratings["rating"] = (2 * ratings["rating"]).astype("int64") - 1
    return load_movielens(ratings, None, by_movie)


def inner_folder(data_dir: Path, *nested: str) -> Path:
    """The archive's own folder below data_dir, or data_dir where the files are in it directly."""
    inside = data_dir.joinpath(*nested)
    return inside if inside.is_dir() else data_dir


def load(args: argparse.Namespace) -> Dataset:
    by_movie = args.compat == "recsys-examples"
    if args.dataset == "ml-1m":
        return load_movielens_1m(inner_folder(args.data_dir, "ml-1m"), by_movie)
    if args.dataset == "ml-20m":
        return load_movielens_20m(inner_folder(args.data_dir, "ml-20m"), by_movie)
    if args.dataset == "kuairand":
        logs = args.log or sorted(args.data_dir.glob("log_*.csv"))
        if not logs:
            raise SystemExit(f"{args.data_dir} holds no log_*.csv; name the logs with --log")
        return load_kuairand(logs, args.user_features)
    folder = inner_folder(args.data_dir, KUAIRAND_FOLDERS[args.dataset], "data")
    logs = [folder / f"log_standard_{part}.csv" for part in KUAIRAND_LOGS[args.dataset]]
    suffix = args.dataset.removeprefix("kuairand-")
    return load_kuairand(logs, folder / f"user_features_{suffix}.csv")


def with_users(rows: pd.DataFrame, users: pd.DataFrame | None) -> pd.DataFrame:
    """Rows of users that have features, with them; order kept."""
    return rows if users is None else rows.merge(users, on="user_id", how="inner")


def training_rows(data: Dataset) -> pd.DataFrame:
    """One row a user that is in every log, ascending: the sequences of all logs by time."""
    common = set.intersection(*(set(log["user_id"]) for log in data.logs))
    log = pd.concat(data.logs, ignore_index=True)
    log = log[log["user_id"].isin(common)].sort_values(data.time, kind="stable")
    rows = log.groupby("user_id")[data.training_columns].agg(list).reset_index()
    return with_users(rows, data.users)


def interval_bounds(times: list[int], length: int) -> list[int]:
    """times -> [0, end of interval 0, ..., len(times)].

    A new interval starts where a time is `length` or more after the first one of its interval.
    """
    bounds, first = [0], times[0]
    for i, t in enumerate(times):
        if t - first >= length:
            bounds.append(i)
            first = t
    return [*bounds, len(times)]


def day_rows(data: Dataset, seconds: int) -> pd.DataFrame:
    """One row a log, user and day, in this order, with interval_indptr and num_intervals."""
    keys = ["user_id"] if data.day is None else ["user_id", data.day]
    length = seconds * data.ticks_per_second
    parts = []
    for log in data.logs:
        ordered = log.sort_values(data.inference_order, kind="stable")
        rows = ordered.groupby(keys)[data.inference_columns].agg(list).reset_index()
        parts.append(rows)
    rows = pd.concat(parts, ignore_index=True)
    rows["interval_indptr"] = [interval_bounds(t, length) for t in rows[data.time]]
    rows["num_intervals"] = [len(bounds) - 1 for bounds in rows["interval_indptr"]]
    return rows


def batch_rows(days: pd.DataFrame, data: Dataset) -> pd.DataFrame:
    """One row an interval: the time of its last interaction and where it ends in the day's row."""
    keys = ["user_id"] if data.day is None else ["user_id", data.day]
    ends = [bounds[1:] for bounds in days["interval_indptr"]]
    last = [[times[e - 1] for e in row] for times, row in zip(days[data.time], ends, strict=True)]
    batches = days[keys].copy()
    batches["interval_end_ts"], batches["interval_indptr"] = last, ends
    return batches.explode(["interval_end_ts", "interval_indptr"])


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A path to write to that takes the place of `path` once the block ended well."""
    aside = path.with_name(path.name + ".tmp")
    yield aside
    aside.replace(path)


def write(rows: pd.DataFrame, path: Path) -> None:
    with replaced(path) as aside:
        rows.to_csv(aside, index=False, lineterminator="\n")


def run(args: argparse.Namespace) -> None:
    data = load(args)
    args.out_dir.mkdir(parents=True, exist_ok=True)
    both = not (args.training or args.inference)
    if args.training or both:
        write(training_rows(data), args.out_dir / "processed_seqs.csv")
    if args.inference or both:
        days = day_rows(data, args.batch_ts_interval)
        write(batch_rows(days, data), args.out_dir / "processed_batches.csv")
        served = with_users(days, data.users).sort_values("user_id", kind="stable")
        write(served, args.out_dir / "processed_seqs_inference.csv")


def parse_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    datasets = ["kuairand", *KUAIRAND_LOGS, "ml-1m", "ml-20m"]
    parser.add_argument("--dataset", required=True, choices=datasets)
    parser.add_argument("--data-dir", type=Path, default=Path())
    parser.add_argument("--out-dir", type=Path, default=Path())
    parser.add_argument("--log", type=Path, action="append", help="kuairand: a log, repeatable")
    parser.add_argument("--user-features", type=Path, help="kuairand: the user feature file")
    parser.add_argument("--training", action="store_true", help="write processed_seqs.csv only")
    parser.add_argument("--inference", action="store_true", help="write the other two files only")
    parser.add_argument("--batch-ts-interval", type=int, default=60, metavar="SECONDS")
    parser.add_argument(
        "--compat",
        choices=["recsys-examples"],
        help="order a MovieLens user's inference items by movie id, as recsys-examples does",
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    run(parse_arguments())
