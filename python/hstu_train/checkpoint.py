# SPDX-License-Identifier: Apache-2.0
"""A model folder: config.json, model.safetensors, vocabularies. Tables bf16, the rest f32."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file, save

from hstu_train.config import ModelConfig
from hstu_train.model import HstuRanking
from hstu_train.vocabulary import Vocabulary


def save_model(model: HstuRanking, vocabularies: dict[str, Vocabulary], folder: Path) -> None:
    """vocabularies: table name -> vocabulary, for the tables that have one."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in model.config.embedding_tables:
        if table.vocabulary:
            vocabularies[table.name].save(folder / table.vocabulary)
    tensors = {
        name: tensor.detach().to(torch.bfloat16 if name.startswith("embedding.") else torch.float32)
        for name, tensor in model.state_dict().items()
    }
    # Not save_file: it makes a file that only its owner can read.
    (folder / "model.safetensors").write_bytes(save(tensors))
    (folder / "config.json").write_text(model.config.to_json())


def load_model(folder: Path) -> HstuRanking:
    """The model as it is served: f32 arithmetic on the stored weights."""
    model = HstuRanking(ModelConfig.load(folder))
    tensors = load_file(folder / "model.safetensors")
    model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    model.eval()
    return model


def load_vocabularies(config: ModelConfig, folder: Path) -> dict[str, Vocabulary]:
    return {
        table.name: Vocabulary.load(folder / table.vocabulary, table.oov_row)
        for table in config.embedding_tables
        if table.vocabulary
    }
