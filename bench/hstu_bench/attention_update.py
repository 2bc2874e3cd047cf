# SPDX-License-Identifier: Apache-2.0
"""attention_update through the C API beside torch, which unbinds the parts and merges them.

On one processor, at decode shapes: rows are heads times candidates. A call of the C API is both
phases, from Python, which is most of the smallest ones.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from ctypes import Structure, byref, c_int32, c_int64, c_uint64, c_void_p
from pathlib import Path
from statistics import median

import torch

HEADS = 4
DIM = 128
SAMPLES = 15


class Tensor(Structure):
    """hstuTensor."""

    _fields_ = (
        ("data", c_void_p),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("shape", c_int64 * 8),
        ("stride", c_int64 * 8),
    )

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Tensor:
        """The f32 tensor's memory, which stays its own."""
        sizes = [*tensor.shape, *[0] * (8 - tensor.dim())]
        strides = [*tensor.stride(), *[0] * (8 - tensor.dim())]
        array = c_int64 * 8
        return cls(tensor.data_ptr(), 0, tensor.dim(), array(*sizes), array(*strides))


class Operator:
    """hstuAttentionUpdate on given tensors."""

    def __init__(self, library: ctypes.CDLL, lse: torch.Tensor, parts: torch.Tensor) -> None:
        self.out = torch.empty(parts.shape[1:])
        self.lse_out = torch.empty(lse.shape[1:])
        self._library = library
        self._tensors = [Tensor.of(t) for t in (lse, parts, self.out, self.lse_out)]
        self._workspace = torch.empty(1 << 20)

    def __call__(self) -> None:
        """Both phases."""
        lse, parts, out, lse_out = (byref(tensor) for tensor in self._tensors)
        size = c_uint64()
        executor = c_void_p()
        status = self._library.hstuAttentionUpdateGetWorkspaceSize(
            lse, parts, c_int64(1), out, lse_out, byref(size), byref(executor)
        )
        workspace = c_void_p(self._workspace.data_ptr())
        if status == 0:
            status = self._library.hstuAttentionUpdate(workspace, size, executor)
        if status != 0:
            raise RuntimeError(self._library.hstuLastError().decode())


def merge(lse: torch.Tensor, parts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What a program in torch does with a list of ranks' results."""
    lses = lse.unbind(0)
    top = lses[0]
    for other in lses[1:]:
        top = torch.maximum(top, other)
    weights = [torch.exp(one - top) for one in lses]
    total = weights[0].clone()
    for weight in weights[1:]:
        total += weight
    out = torch.zeros_like(parts[0])
    for weight, part in zip(weights, parts.unbind(0), strict=True):
        out += part * (weight / total).unsqueeze(-1)
    return out, top + torch.log(total)


def seconds(body: Callable[[], object]) -> float:
    """The median of calls, some of which are timed together where they are short."""
    body()
    begin = time.perf_counter()
    body()
    calls = max(1, min(1000, int(0.005 / (time.perf_counter() - begin))))
    samples = []
    for _ in range(SAMPLES):
        begin = time.perf_counter()
        for _ in range(calls):
            body()
        samples.append((time.perf_counter() - begin) / calls)
    return median(samples)


def measure(library: ctypes.CDLL, sp: int, rows: int) -> None:
    """Prints a line of the table."""
    lse = torch.rand(sp, rows)
    parts = torch.rand(sp, rows, DIM)
    operator = Operator(library, lse, parts)
    ours = seconds(operator)
    theirs = seconds(lambda: merge(lse, parts))
    torch.testing.assert_close(operator.out, merge(lse, parts)[0], rtol=1e-5, atol=1e-5)
    print(f"| {sp} | {rows} | {ours * 1e6:.1f} | {theirs * 1e6:.1f} | {theirs / ours:.2f}x |")


def main() -> None:
    """The whole table."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    library = ctypes.CDLL(str(Path("build/libhstu.so")))
    library.hstuLastError.restype = ctypes.c_char_p
    print("| sp | rows | stacked us | torch us | stacked is |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    with torch.inference_mode():
        for sp in (2, 4, 8, 16, 32, 64):
            for candidates in (1, 16, 128, 512):
                measure(library, sp, HEADS * candidates)


if __name__ == "__main__":
    main()
