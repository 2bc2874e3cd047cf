# SPDX-License-Identifier: Apache-2.0
"""MovieLens-100K, as the recbole package ships it, to the files of MovieLens-1M.

    python -m hstu_train.movielens100k --recbole recbole.whl --out ml-1m

writes ratings.dat and users.dat, which `hstu preprocess --dataset ml-1m` reads. The licence of the
data does not allow them to be passed on.
"""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Iterator
from pathlib import Path

FOLDER = "recbole/dataset_example/ml-100k"
# MovieLens-1M names an age group by its youngest age.
AGE_GROUPS = [1, 18, 25, 35, 45, 50, 56]


def age_group(age: int) -> int:
    return max(g for g in AGE_GROUPS if g <= max(age, 1))


def read_atomic(text: str) -> Iterator[dict[str, str]]:
    """Rows of a tab-separated file whose header gives every column as name:type."""
    lines = text.splitlines()
    names = [column.split(":")[0] for column in lines[0].split("\t")]
    for line in lines[1:]:
        yield dict(zip(names, line.split("\t"), strict=True))


def ratings(text: str) -> Iterator[str]:
    for row in read_atomic(text):
        stars, time = int(float(row["rating"])), int(float(row["timestamp"]))
        yield f"{row['user_id']}::{row['item_id']}::{stars}::{time}\n"


def users(text: str) -> Iterator[str]:
    for row in read_atomic(text):
        group = age_group(int(row["age"]))
        columns = [row["user_id"], row["gender"], str(group), row["occupation"], row["zip_code"]]
        yield "::".join(columns) + "\n"


def convert(recbole: Path, out: Path) -> None:
    """recbole: the package's wheel, or a folder that holds it unpacked or installed."""

    def read(name: str) -> str:
        if recbole.is_dir():
            return (recbole / FOLDER / name).read_text()
        with zipfile.ZipFile(recbole) as wheel:
            return wheel.read(f"{FOLDER}/{name}").decode()

    out.mkdir(parents=True, exist_ok=True)
    (out / "ratings.dat").write_text("".join(ratings(read("ml-100k.inter"))))
    (out / "users.dat").write_text("".join(users(read("ml-100k.user"))))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="MovieLens-100K in the files of MovieLens-1M.")
    parser.add_argument("--recbole", type=Path, required=True, help="the package's .whl, or folder")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    convert(arguments.recbole, arguments.out)
