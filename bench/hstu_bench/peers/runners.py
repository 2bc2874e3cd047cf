# SPDX-License-Identifier: Apache-2.0
"""Each engine behind one interface: load what a case needs, then run it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hstu_bench.library import Model
from hstu_bench.workload import Case, Sequence, padded_ids

Logits = NDArray[np.float32]
Run = Callable[[], list[Logits]]  # logits of each sequence [M, T]

T = TypeVar("T")

DYNAMIC, STATIC = "dynamic shapes", "static shapes"


@dataclass(frozen=True)
class Setup:
    folder: Path  # of the model and of what export.py made of it
    library: Path
    threads: int
    dtype: str

    def text(self) -> str:
        return json.dumps(asdict(self), default=str)

    @classmethod
    def parse(cls, text: str) -> Setup:
        values = json.loads(text)
        paths = {key: Path(values[key]) for key in ("folder", "library")}
        return cls(**{**values, **paths})

    def artifacts(self) -> Path:
        """Of `hstu compile`."""
        return self.folder / f"artifacts-{self.dtype}"

    def package(self, case: Case, variant: str) -> Path:
        """Of AOTInductor."""
        name = case.file_name if variant == STATIC else "dynamic"
        return self.folder / f"{name}-{self.dtype}.pt2"

    def onnx(self, case: Case) -> Path:
        """Shapes of an ONNX file can be fixed when it is loaded; only the batch differs."""
        return self.folder / f"{case.file_name if case.padded else 'dynamic'}.onnx"


class Runner(Protocol):
    """variants: the ways to run a case, of which the faster is to be taken.
    load_seconds: how long the model that was loaded last took, its engine's modules imported."""

    load_seconds: float

    def variants(self, case: Case) -> list[str]: ...
    def load(self, case: Case, variant: str) -> Run: ...
    def settings(self) -> dict[str, str]: ...


def timed(load: Callable[[], T]) -> tuple[T, float]:
    begin = time.perf_counter()
    loaded = load()
    return loaded, time.perf_counter() - begin


def batches(case: Case) -> list[tuple[Sequence, ...]]:
    """What a peer runs at once."""
    return [case.sequences] if case.padded else [(sequence,) for sequence in case.sequences]


def unpadded(logits: Logits, sequences: tuple[Sequence, ...]) -> list[Logits]:
    """logits [B, M, T] -> [candidates, T] of each sequence"""
    return [logits[i, : s.candidates].astype(np.float32) for i, s in enumerate(sequences)]


def shapes_of(case: Case) -> list[str]:
    """Shapes can be fixed where a case has one; a server of mixed lengths can't."""
    if case.padded:
        return [STATIC]
    return [DYNAMIC, STATIC] if case.single else [DYNAMIC]


class Hstu:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._model, self.load_seconds = timed(self._load)

    def _artifacts(self) -> Path | None:
        return None

    def _load(self) -> Model:
        setup = self._setup
        folder = setup.folder / "model"
        return Model(setup.library, folder, setup.threads, setup.dtype, self._artifacts())

    def variants(self, case: Case) -> list[str]:
        return [DYNAMIC]

    def load(self, case: Case, variant: str) -> Run:
        batch = self._model.batch(case.sequences)

        def run() -> list[Logits]:
            self._model.rank(batch)
            return batch.logits

        return run

    def settings(self) -> dict[str, str]:
        return {"threads": str(self._setup.threads), "way": "C API, defaults"}


class HstuCompiled(Hstu):
    def _artifacts(self) -> Path | None:
        return self._setup.artifacts()

    def settings(self) -> dict[str, str]:
        return super().settings() | {"way": "C API, artifacts of hstu compile"}


class TorchEager:
    def __init__(self, setup: Setup) -> None:
        import torch

        from hstu_bench.peers.torch_model import load_ranking

        torch.set_num_threads(setup.threads)
        self._torch = torch
        self._model: Callable[..., Any]
        self._model, self.load_seconds = timed(
            lambda: load_ranking(setup.folder / "model", setup.dtype)
        )

    def variants(self, case: Case) -> list[str]:
        return [DYNAMIC]

    def load(self, case: Case, variant: str) -> Run:
        return self._runs(case, self._model)

    def _runs(self, case: Case, model: Callable[..., Any]) -> Run:
        from hstu_bench.peers.torch_model import inputs

        prepared = [(sequences, inputs(sequences)) for sequences in batches(case)]

        def run() -> list[Logits]:
            logits = []
            with self._torch.inference_mode():
                for sequences, tensors in prepared:
                    logits += unpadded(model(*tensors).float().numpy(), sequences)
            return logits

        return run

    def settings(self) -> dict[str, str]:
        return {
            "torch": self._torch.__version__,
            "threads": str(self._torch.get_num_threads()),
            "way": "inference_mode",
        }


class AotInductor(TorchEager):
    def __init__(self, setup: Setup) -> None:
        import torch
        from torch._inductor import aoti_load_package

        torch.set_num_threads(setup.threads)
        self._torch = torch
        self._setup = setup
        self._load_package = aoti_load_package

    def variants(self, case: Case) -> list[str]:
        return shapes_of(case)

    def load(self, case: Case, variant: str) -> Run:
        path = str(self._setup.package(case, variant))
        package, self.load_seconds = timed(lambda: self._load_package(path))
        return self._runs(case, package)

    def settings(self) -> dict[str, str]:
        return super().settings() | {"way": "torch.export, aoti_compile_and_package"}


class OnnxRuntime:
    NAMES = ("items", "num_items", "candidates", "num_candidates")

    def __init__(self, setup: Setup) -> None:
        import onnxruntime

        self._runtime = onnxruntime
        self._setup = setup

    def variants(self, case: Case) -> list[str]:
        return shapes_of(case)

    def load(self, case: Case, variant: str) -> Run:
        feeds = [dict(zip(self.NAMES, padded_ids(b), strict=True)) for b in batches(case)]
        session, self.load_seconds = timed(lambda: self._session(case, variant, feeds[0]))
        prepared = list(zip(batches(case), feeds, strict=True))

        def run() -> list[Logits]:
            logits = []
            for sequences, feed in prepared:
                logits += unpadded(session.run(None, feed)[0], sequences)
            return logits

        return run

    def _session(self, case: Case, variant: str, feed: dict[str, Any]) -> Any:
        path = str(self._setup.onnx(case))
        session = self._runtime.InferenceSession(path, self._options())
        if case.padded or variant == DYNAMIC:
            return session
        options = self._options()
        for argument in session.get_inputs():
            for name, size in zip(argument.shape, feed[argument.name].shape, strict=True):
                if isinstance(name, str):
                    options.add_free_dimension_override_by_name(name, size)
        return self._runtime.InferenceSession(path, options)

    def _options(self) -> Any:
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = self._setup.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return options

    def settings(self) -> dict[str, str]:
        return {
            "onnxruntime": self._runtime.__version__,
            "intra_op_num_threads": str(self._setup.threads),
            "way": "CPUExecutionProvider, all graph optimisations",
        }


class OpenVino:
    def __init__(self, setup: Setup) -> None:
        import openvino

        self._openvino = openvino
        self._core = openvino.Core()
        self._setup = setup
        self._config = {
            "INFERENCE_NUM_THREADS": setup.threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": setup.dtype,
        }

    def variants(self, case: Case) -> list[str]:
        return shapes_of(case)

    def load(self, case: Case, variant: str) -> Run:
        feeds = [dict(zip(OnnxRuntime.NAMES, padded_ids(b), strict=True)) for b in batches(case)]
        request, self.load_seconds = timed(lambda: self._request(case, variant, feeds[0]))
        prepared = list(zip(batches(case), feeds, strict=True))

        def run() -> list[Logits]:
            logits = []
            for sequences, feed in prepared:
                logits += unpadded(request.infer(feed)[0], sequences)
            return logits

        return run

    def _request(self, case: Case, variant: str, feed: dict[str, Any]) -> Any:
        model = self._core.read_model(self._setup.onnx(case))
        if variant == STATIC and not case.padded:
            model.reshape({name: list(ids.shape) for name, ids in feed.items()})
        return self._core.compile_model(model, "CPU", self._config).create_infer_request()

    def settings(self) -> dict[str, str]:
        return {"openvino": self._openvino.__version__} | {
            name.lower(): str(value) for name, value in self._config.items()
        }


RUNNERS: dict[str, Callable[[Setup], Runner]] = {
    "hstu": Hstu,
    "hstu, compiled": HstuCompiled,
    "torch eager": TorchEager,
    "AOTInductor": AotInductor,
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
}
