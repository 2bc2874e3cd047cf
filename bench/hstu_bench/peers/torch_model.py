# SPDX-License-Identifier: Apache-2.0
"""The model as a user of torch would write it: the whole square of scores, and a mask."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from hstu_bench.workload import Sequence, padded_ids
from hstu_train.checkpoint import load_model
from hstu_train.model import Batch, HstuRanking


class Ranking(nn.Module):
    """items [B, I], num_items [B], candidates [B, M], num_candidates [B] -> logits [B, M, T]"""

    def __init__(self, model: HstuRanking) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, items: Tensor, num_items: Tensor, candidates: Tensor, num_candidates: Tensor
    ) -> Tensor:
        batch = Batch({}, items, items, num_items, candidates, num_candidates)
        x, rows = self.model.tokens(batch)
        mask = rows.mask(x.shape[1], self.model.config)
        for layer in self.model.layers:
            x = layer(x, mask)
        return self.model.predict(x[:, rows.width :])


def load_ranking(folder: Path, dtype: str) -> Ranking:
    model = Ranking(load_model(folder))
    model.eval().requires_grad_(False)
    model.to({"f32": torch.float32, "bf16": torch.bfloat16}[dtype])
    return model


def inputs(sequences: tuple[Sequence, ...]) -> tuple[Tensor, ...]:
    return tuple(torch.from_numpy(ids) for ids in padded_ids(sequences))
