# SPDX-License-Identifier: Apache-2.0
"""hstu through its C API (include/hstu/hstu.h)."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_float,
    c_int32,
    c_int64,
    c_uint64,
    c_void_p,
)
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hstu_bench.workload import Ids, Sequence


class Options(Structure):
    _fields_ = (
        ("structSize", c_uint64),
        ("isa", c_char_p),
        ("fusedOps", c_char_p),
        ("maxStepTokens", c_int64),
        ("chunkTokens", c_int64),
        ("threads", c_int32),
        ("pageSize", c_int32),
        ("truncate", c_int32),
        ("disableContext", c_int32),
        ("dtype", c_char_p),
        ("kvBytes", c_int64),
        ("kvPages", c_int64),
        ("kvDtype", c_char_p),
        ("artifacts", c_char_p),
        ("operatorPath", c_char_p),
        ("kvCache", c_int32),
        ("reserved", c_int32),
        ("bf16Products", c_char_p),
    )


class Request(Structure):
    _fields_ = (
        ("structSize", c_uint64),
        ("userId", c_char_p),
        ("contextualNames", c_void_p),
        ("contextualIds", c_void_p),
        ("numContextual", c_int64),
        ("items", POINTER(c_int64)),
        ("numItems", c_int64),
        ("actions", c_void_p),
        ("numActions", c_int64),
        ("historyStart", c_int64),
        ("hasHistoryStart", c_int32),
        ("reserved", c_int32),
        ("candidates", POINTER(c_int64)),
        ("numCandidates", c_int64),
    )


class Answer(Structure):
    _fields_ = (
        ("structSize", c_uint64),
        ("logits", POINTER(c_float)),
        ("logitsCapacity", c_int64),
        ("numTasks", c_int64),
        ("historyItems", c_int64),
        ("cachedTokens", c_int64),
        ("evictedTokens", c_int64),
        ("error", c_int32),
        ("reserved", c_int32),
        ("errorMessage", c_char_p),
    )


class Batch:
    """Requests and room for their answers, as the C API takes them."""

    def __init__(self, sequences: tuple[Sequence, ...], num_tasks: int) -> None:
        self.count = len(sequences)
        self.requests = (Request * self.count)()
        self.answers = (Answer * self.count)()
        self.logits: list[NDArray[np.float32]] = []
        self.ids: list[Ids] = []
        for i, sequence in enumerate(sequences):
            self._set(i, sequence, num_tasks)

    def _set(self, i: int, sequence: Sequence, num_tasks: int) -> None:
        items, candidates = (np.ascontiguousarray(ids) for ids in sequence.ids())
        self.ids += [items, candidates]
        request, answer = self.requests[i], self.answers[i]
        request.structSize = ctypes.sizeof(Request)
        request.items = items.ctypes.data_as(POINTER(c_int64))
        request.numItems = len(items)
        request.candidates = candidates.ctypes.data_as(POINTER(c_int64))
        request.numCandidates = len(candidates)
        logits = np.zeros((len(candidates), num_tasks), np.float32)
        self.logits.append(logits)
        answer.structSize = ctypes.sizeof(Answer)
        answer.logits = logits.ctypes.data_as(POINTER(c_float))
        answer.logitsCapacity = logits.size


class Model:
    """A loaded model; raises RuntimeError with the library's message."""

    def __init__(
        self,
        library: Path,
        folder: Path,
        threads: int,
        dtype: str = "f32",
        artifacts: Path | None = None,
    ) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.hstuLastError.restype = c_char_p
        self._model = c_void_p()
        size = ctypes.sizeof(Options)
        options = Options(structSize=size, threads=threads, dtype=dtype.encode())
        if artifacts is not None:
            options.artifacts = str(artifacts).encode()
        self._check(
            self._library.hstuLoadModel(str(folder).encode(), byref(options), byref(self._model))
        )
        tasks = c_int64()
        self._check(self._library.hstuNumTasks(self._model, byref(tasks)))
        self.num_tasks = tasks.value

    def batch(self, sequences: tuple[Sequence, ...]) -> Batch:
        return Batch(sequences, self.num_tasks)

    def rank(self, batch: Batch) -> None:
        """Fills batch.logits."""
        self._check(
            self._library.hstuRank(self._model, batch.requests, c_int64(batch.count), batch.answers)
        )

    def close(self) -> None:
        self._library.hstuDestroyModel(self._model)
        self._model = c_void_p()

    def _check(self, error: int) -> None:
        if error:
            raise RuntimeError(self._library.hstuLastError().decode())
