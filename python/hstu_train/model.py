# SPDX-License-Identifier: Apache-2.0
"""The HSTU ranking model in torch, for padded batches.

The arithmetic is that of the engine, the parameters have the names of the file's tensors, and the
tests compare the logits with the golden cases. Dropout is the only addition, and only in training.

Shapes: B users, N history tokens (padded), M candidates (padded), R = N + M rows, C hidden_size,
H heads, D kv_channels, T tasks.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hstu_train.config import ModelConfig, StageConfig


@dataclass
class Batch:
    """Table rows, not raw ids; padding may hold any valid row.

    contextual: feature -> [B]; items and actions [B, I]; num_items [B];
    candidates [B, M]; num_candidates [B].
    """

    contextual: dict[str, Tensor]
    items: Tensor
    actions: Tensor
    num_items: Tensor
    candidates: Tensor
    num_candidates: Tensor


@dataclass
class Output:
    """candidate_logits [B, M, T]; item_logits [B, I, T] of the history's own item tokens.

    Each of these is scored as if it were the only candidate after the items before it; None where
    the model gives no such thing.
    """

    candidate_logits: Tensor
    item_logits: Tensor | None


@dataclass
class Rows:
    """Where the rows of a padded batch stand: N history rows, then M candidate rows.

    num_history and num_candidates [B]; width is N; num_context contextual tokens come first.
    """

    width: int
    num_history: Tensor
    num_candidates: Tensor
    num_context: int

    def positions(self, num_rows: int) -> tuple[Tensor, Tensor]:
        """Position in the user's sequence [B, R], and whether the row is no padding [B, R]."""
        index = torch.arange(num_rows).expand(len(self.num_history), num_rows)
        history = index < self.width
        past = self.num_history[:, None]
        position = torch.where(history, index, index - self.width + past)
        candidate_end = self.width + self.num_candidates[:, None]
        # No torch.where on booleans, here and below: ONNX Runtime has none.
        return position, (history & (index < past)) | (~history & (index < candidate_end))

    def mask(self, num_rows: int, config: ModelConfig) -> Tensor:
        """[B, R, R], true where the row may attend to the column."""
        position, valid = self.positions(num_rows)
        row, col, past = position[:, :, None], position[:, None, :], self.num_history[:, None, None]
        row_candidate, col_candidate = row >= past, col >= past
        group = config.target_group_size
        row_group = torch.div(row - past, group, rounding_mode="floor")
        col_group = torch.div(col - past, group, rounding_mode="floor")
        among_candidates = row_candidate & (row_group == col_group) & (col < row)
        to_history = col < row
        if config.max_attn_len > 0:
            to_history = to_history & (torch.minimum(row, past) - col <= config.max_attn_len)
        if config.contextual_mask:
            to_history = to_history | (row < self.num_context)
        seen = (col_candidate & among_candidates) | (~col_candidate & to_history)
        # A padding row has the position of a real one: compare indices, not positions.
        itself = torch.eye(num_rows, dtype=torch.bool)
        return (seen & valid[:, None, :] & valid[:, :, None]) | itself


class HstuLayer(nn.Module):
    def __init__(self, config: ModelConfig, dropout: float) -> None:
        super().__init__()
        width = config.num_attention_heads * config.kv_channels
        self.config = config
        self.input_norm = nn.LayerNorm(config.hidden_size, eps=config.layernorm_epsilon)
        self.uvqk = nn.Linear(config.hidden_size, 4 * width)
        self.output_norm = nn.LayerNorm(width, eps=config.layernorm_epsilon)
        self.proj = nn.Linear(width, config.hidden_size, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, R, C], mask [B, R, R] -> [B, R, C]"""
        u, v, q, k = F.silu(self.uvqk(self.input_norm(x))).chunk(4, dim=-1)
        attended = self.attend(q, k, v, mask)
        out: Tensor = self.proj(self.dropout(u * self.output_norm(attended)))
        return out + x if self.config.residual else out

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        """q, k and v [B, R, H * D], mask [B, R, R] -> [B, R, H * D]"""
        heads, dim = self.config.num_attention_heads, self.config.kv_channels
        q, k, v = (t.unflatten(-1, (heads, dim)).transpose(1, 2) for t in (q, k, v))
        score = q @ k.transpose(-1, -2) / math.sqrt(dim)
        if self.config.attention == "silu":
            weight = F.silu(score) * mask[:, None] / self.config.scaling_seqlen
        else:
            weight = score.masked_fill(~mask[:, None], -math.inf).softmax(dim=-1)
        return (weight @ v).transpose(1, 2).flatten(-2)


def pool(x: Tensor, rows: Rows, stage: StageConfig) -> tuple[Tensor, Rows]:
    """Mean over windows of the history x [B, N, C]; only windows that are full count."""
    window, stride = stage.aggregation_window, stage.aggregation_stride
    if window is None or stride is None:
        raise ValueError(
            "every stage but the first needs aggregation_window and aggregation_stride"
        )
    short = max(0, window - x.shape[1])
    pooled = F.pad(x, (0, 0, 0, short)).unfold(1, window, stride).mean(dim=-1)
    full = torch.div(rows.num_history - window, stride, rounding_mode="floor") + 1
    return pooled, Rows(pooled.shape[1], full.clamp(min=0), rows.num_candidates, num_context=0)


class HstuRanking(nn.Module):
    def __init__(self, config: ModelConfig, dropout: float = 0.0) -> None:
        super().__init__()
        self.config = config
        size = config.hidden_size
        self.embedding = nn.ModuleDict(
            {t.name: nn.Embedding(t.num_embeddings, size) for t in config.embedding_tables}
        )
        self.position = nn.Embedding(config.num_position_buckets, size)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(HstuLayer(config, dropout) for _ in range(config.num_layers))
        sizes = [size, *config.prediction_head_arch]
        self.head = nn.ModuleList(
            nn.Linear(a, b, bias=config.prediction_head_bias) for a, b in itertools.pairwise(sizes)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=1.0 / math.sqrt(self.config.hidden_size))
            elif isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def lookup(self, feature: str, rows: Tensor) -> Tensor:
        """rows [...] -> embeddings [..., C]"""
        embedded: Tensor = self.embedding[self.config.table_of(feature).name](rows)
        return embedded

    def history_tokens(self, batch: Batch) -> Tensor:
        """[contextual ...] [item action item action ...] -> [B, N, C]"""
        tokens = self.lookup(self.config.item_feature, batch.items)
        if self.config.action_feature:
            actions = self.lookup(self.config.action_feature, batch.actions)
            tokens = torch.stack([tokens, actions], dim=2).flatten(1, 2)
        context = [self.lookup(f, batch.contextual[f]) for f in self.config.contextual_features]
        return torch.cat([torch.stack(context, dim=1), tokens], dim=1) if context else tokens

    def tokens(self, batch: Batch) -> tuple[Tensor, Rows]:
        """History and candidate tokens with their positions -> [B, R, C]"""
        num_context = len(self.config.contextual_features)
        history = self.history_tokens(batch)
        num_history = num_context + batch.num_items * self.config.tokens_per_item
        rows = Rows(history.shape[1], num_history, batch.num_candidates, num_context)
        x = torch.cat([history, self.lookup(self.config.item_feature, batch.candidates)], dim=1)
        position, _ = rows.positions(x.shape[1])
        shared = torch.minimum(position, num_history[:, None])
        shared = shared.clamp(max=self.config.num_position_buckets - 1)
        return x * math.sqrt(self.config.hidden_size) + self.position(shared), rows

    def predict(self, x: Tensor) -> Tensor:
        """States [..., C] -> logits [..., T]"""
        x = x / x.norm(dim=-1, keepdim=True).clamp(min=1e-6)
        for layer in self.head[:-1]:
            x = F.relu(layer(x))
        logits: Tensor = self.head[-1](x)
        return logits

    def forward(self, batch: Batch) -> Output:
        x, rows = self.tokens(batch)
        x = self.dropout(x)
        first = 0
        for i, stage in enumerate(self.config.stages):
            if i > 0:
                pooled, narrower = pool(x[:, : rows.width], rows, stage)
                x, rows = torch.cat([pooled, x[:, rows.width :]], dim=1), narrower
            mask = rows.mask(x.shape[1], self.config)
            for layer in self.layers[first : first + stage.num_layers]:
                x = layer(x, mask)
            first += stage.num_layers
        return Output(self.predict(x[:, rows.width :]), self.item_logits(x, rows))

    def item_logits(self, x: Tensor, rows: Rows) -> Tensor | None:
        """An item of the history sees what a lone candidate in its place would see, at the same
        position. Not so where contextual rows see the whole history, or history was pooled."""
        if len(self.config.stages) > 1 or self.config.contextual_mask:
            return None
        return self.predict(x[:, rows.num_context : rows.width : self.config.tokens_per_item])
