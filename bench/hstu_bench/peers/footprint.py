# SPDX-License-Identifier: Apache-2.0
"""Memory and start of an engine in a fresh process: a worker, or hstu's binary."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from hstu_bench.peers.client import Memory, MemoryWatch, Process, Worker
from hstu_bench.peers.runners import DYNAMIC, Setup
from hstu_bench.workload import CASES, SMALL, Case, request_line

LONG = CASES["4096 tokens"]
STARTS = 3


@dataclass
class Footprint:
    memory: Memory  # after two runs of LONG
    start_seconds: float  # from the process's start to the logits of SMALL, median
    load_seconds: float  # of the model, once the engine is imported, median


def hstu_process(hstu: Path, setup: Setup, artifacts: bool) -> Process:
    model = str(setup.folder / "model")
    command = [str(hstu), "rank", "--model", model, "--requests", "-"]
    command += ["--threads", str(setup.threads), "--dtype", setup.dtype]
    if artifacts:
        command += ["--artifacts", str(setup.artifacts())]
    return Process(command, setup.folder / "workers.log")


def run_binary(process: Process, case: Case, _variant: str) -> None:
    for sequence in case.sequences:
        answer = process.ask(request_line(sequence))
        if '"logits"' not in answer:
            raise RuntimeError(f"hstu rank: {answer}")


def run_worker(process: Process, case: Case, variant: str) -> None:
    assert isinstance(process, Worker)
    process.command(case=case.name, variant=variant)
    process.command(run=case.name)


def measure(
    start: Callable[[], Process],
    run: Callable[[Process, Case, str], None],
    long_variant: str,
    load_seconds: float,
) -> Footprint:
    seconds = []
    for _ in range(STARTS + 1):
        begin = time.perf_counter()
        process = start()
        run(process, SMALL, DYNAMIC)
        seconds.append(time.perf_counter() - begin)
        process.close()
    process = start()
    with MemoryWatch(process) as memory:
        run(process, LONG, long_variant)
        run(process, LONG, long_variant)
    process.close()
    # The first brought files to the cache.
    return Footprint(memory, median(seconds[1:]), load_seconds)


def load_seconds(name: str, setup: Setup) -> float:
    seconds: list[float] = []
    for _ in range(STARTS):
        worker = Worker(name, setup)
        seconds.append(worker.command(case=SMALL.name, variant=DYNAMIC)["load_seconds"])
        worker.close()
    return median(seconds)
