# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hstu_train.vocabulary import Vocabulary


def test_the_line_number_is_the_row_and_all_others_share_the_oov_row(tmp_path: Path) -> None:
    Vocabulary.with_oov([30, 10, 20, 10]).save(tmp_path / "ids")
    assert (tmp_path / "ids").read_text() == "10\n20\n30\n"
    loaded = Vocabulary.load(tmp_path / "ids", oov_row=3)
    assert loaded.rows(np.array([30, 10, 11])).tolist() == [2, 0, 3]
    assert loaded.num_rows == 4


def test_without_an_oov_row_an_unknown_id_is_an_error() -> None:
    with pytest.raises(ValueError, match="id 11 is not in the vocabulary"):
        Vocabulary([10]).rows(np.array([11]))


def test_an_id_named_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        Vocabulary([10, 10])
