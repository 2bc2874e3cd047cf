# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from hstu_train.reader import User, read_users

HEADER = "user_id,video_id,time_ms,action_weights,degree\n"


def read(path: Path, text: str) -> list[User]:
    path.write_text(text)
    return list(read_users(path, "video_id", "action_weights", ["degree"]))


def test_reads_lists_of_any_length_in_file_order(tmp_path: Path) -> None:
    rows = '7,"[3, 1, 4]","[1, 2, 3]","[0, 65, 2]",2\n5,[9],[1],[128],1\n'
    first, second = read(tmp_path / "processed_seqs.csv", HEADER + rows)
    assert (first.user_id, second.user_id) == (7, 5)
    assert first.items.tolist() == [3, 1, 4]
    assert first.actions.tolist() == [0, 65, 2]
    assert first.contextual == {"degree": 2}
    assert second.items.tolist() == [9]


def test_a_folder_means_its_processed_seqs(tmp_path: Path) -> None:
    (tmp_path / "processed_seqs.csv").write_text(HEADER + "5,[9],[1],[128],1\n")
    assert len(list(read_users(tmp_path, "video_id", "action_weights", []))) == 1


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("5,9,[1],[128],1\n", "is no list"),
        ("5,[x],[1],[128],1\n", "invalid literal"),
        ('5,"[9, 8]",[1],[128],1\n', "2 items and 1 actions"),
        ("5,[9]\n", "processed.csv:3"),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, row: str, what: str) -> None:
    good = "4,[9],[1],[128],1\n"
    with pytest.raises(ValueError, match=r"processed.csv:3: ") as error:
        read(tmp_path / "processed.csv", HEADER + good + row)
    assert what in str(error.value)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="lacks the columns degree"):
        read(tmp_path / "processed.csv", "user_id,video_id,action_weights\n")


def test_reads_what_the_golden_preprocessing_holds(golden: Path) -> None:
    folder = golden / "preprocess_kuairand" / "expected"
    columns = ["user_active_degree", "register_days"]
    users = list(read_users(folder, "video_id", "action_weights", columns))
    assert len(users) == 38
    assert all(len(u.items) == len(u.actions) > 0 for u in users)
    assert users[0].contextual == {"user_active_degree": 1, "register_days": 1999}
