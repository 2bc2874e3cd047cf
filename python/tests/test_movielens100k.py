# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from hstu_train.movielens100k import FOLDER, age_group, convert

INTER = (
    "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
    "1\t242\t3\t881250949\n2\t7\t5\t9\n"
)
USER = (
    "user_id:token\tage:token\tgender:token\toccupation:token\tzip_code:token\n"
    "1\t24\tM\ttechnician\t85711\n2\t7\tF\tother\t94043\n"
)


def test_a_wheel_becomes_the_files_of_movielens_1m(tmp_path: Path) -> None:
    wheel = tmp_path / "recbole.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{FOLDER}/ml-100k.inter", INTER)
        archive.writestr(f"{FOLDER}/ml-100k.user", USER)
    convert(wheel, tmp_path / "ml-1m")
    assert (tmp_path / "ml-1m/ratings.dat").read_text() == "1::242::3::881250949\n2::7::5::9\n"
    users = "1::M::18::technician::85711\n2::F::1::other::94043\n"
    assert (tmp_path / "ml-1m/users.dat").read_text() == users


@pytest.mark.parametrize(
    ("age", "group"), [(0, 1), (17, 1), (18, 18), (49, 45), (50, 50), (99, 56)]
)
def test_age_groups_are_those_of_movielens_1m(age: int, group: int) -> None:
    assert age_group(age) == group
