# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hstu_train.batches import Collator  # noqa: E402
from hstu_train.datasets import DATASETS, build_config, build_vocabularies  # noqa: E402
from hstu_train.export import served_form  # noqa: E402
from hstu_train.model import HstuRanking  # noqa: E402
from hstu_train.reader import User  # noqa: E402
from hstu_train.split import Example  # noqa: E402


def test_raw_ids_as_rows_score_like_the_vocabulary_they_replace() -> None:
    dataset = DATASETS["ml-100k"]
    often, rare = np.repeat([3, 1600], 5), np.array([7])
    items = np.concatenate([often, rare])
    user = User(1, {}, items, items % 5)
    vocabularies = build_vocabularies(dataset, [user])
    torch.manual_seed(1)
    model = HstuRanking(build_config(dataset, vocabularies)).eval()
    example = Example(user, np.array([3, 7, 1600, 1682]), np.zeros(4, dtype=np.int64))
    served, kept = served_form(model, dataset, vocabularies)
    assert kept == {} and served.config.table_of("movie_id").num_embeddings == 1683
    with torch.no_grad():
        before = model(Collator(model.config, vocabularies)([example])).candidate_logits
        after = served(Collator(served.config, kept)([example])).candidate_logits
    torch.testing.assert_close(after, before)
    torch.testing.assert_close(after[0, 1], after[0, 3])  # rare and unknown share one embedding
