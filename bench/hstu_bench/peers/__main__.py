# SPDX-License-Identifier: Apache-2.0
"""Compares hstu with its peers on the same weights and inputs, in turns.

Every engine has a process of its own, and two threads. In each round all run the case one after
another, in an order that moves on by one: each as often as fits TURN, of which the median counts,
so that none pays for caches that another one has filled. Logits must agree.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from hstu_bench import machine, publish, workload
from hstu_bench.peers import footprint
from hstu_bench.peers.client import Process, Worker
from hstu_bench.peers.report import COMPILED, OURS, CaseResult, Report
from hstu_bench.peers.runners import DYNAMIC, RUNNERS, Setup
from hstu_bench.workload import CASES, Case

PAUSE = 0.3  # seconds in which the threads of who ran before stop spinning and go to sleep
TURN = 0.4  # seconds
TOLERANCE = {"f32": 1e-4, "bf16": 5e-2}
SOURCES = ("bench/requirements.txt", "bench/hstu_bench", "python/hstu_train/model.py")


def artifacts_folder() -> Path:
    """Another one whenever what it is made from has changed."""
    digest = hashlib.sha256()
    for source in SOURCES:
        path = Path(source)
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file.name in ("requirements.txt", "model.py", "torch_model.py", "workload.py"):
                digest.update(file.read_bytes())
    return Path("build/peers") / digest.hexdigest()[:12]


def prepare(args: argparse.Namespace) -> Setup:
    folder = artifacts_folder().resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "workers.log").unlink(missing_ok=True)
    if not (folder / "model").exists():
        workload.make_model(args.hstu, folder)
    setup = Setup(folder, args.library.resolve(), args.threads, args.dtype)
    workload.compile_model(args.hstu, folder / "model", setup.artifacts(), args.dtype)
    command = [sys.executable, "-m", "hstu_bench.peers.export", setup.text()]
    with (folder / "export.log").open("w") as log:
        subprocess.run(command, check=True, stderr=log)
    return setup


def load_all(case: Case, workers: dict[str, Worker]) -> dict[str, str]:
    """Warms up -> the variant that each engine runs."""
    return {name: w.command(case=case.name)["variant"] for name, w in workers.items()}


def turn(case: Case, worker: Worker) -> float:
    time.sleep(PAUSE)
    seconds: list[float] = []
    while sum(seconds) < TURN:
        seconds.append(worker.command(run=case.name)["seconds"])
    return median(seconds)


def turns(case: Case, workers: dict[str, Worker], rounds: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in workers}
    names = list(workers)
    for first in range(rounds):
        for name in names[first % len(names) :] + names[: first % len(names)]:
            seconds[name].append(turn(case, workers[name]))
    return seconds


def one_after_another(case: Case, workers: dict[str, Worker], rounds: int) -> CaseResult:
    """As turns(), but nobody keeps memory while others run: padded batches take gigabytes."""
    result = CaseResult(seconds={name: [] for name in workers})
    for _ in range(rounds):
        for name, worker in workers.items():
            result.variants[name] = worker.command(case=case.name)["variant"]
            result.seconds[name].append(turn(case, worker))
            worker.command(unload=case.name)
    return result


def disagreements(case: Case, workers: dict[str, Worker], folder: Path) -> dict[str, float]:
    logits = {}
    for name, worker in workers.items():
        path = folder / "logits.npz"
        worker.command(logits=case.name, to=str(path))
        with np.load(path) as arrays:
            logits[name] = np.concatenate([arrays[key] for key in arrays])
    ours = logits.pop(OURS)
    largest = np.abs(ours).max()
    return {name: float(np.abs(theirs - ours).max() / largest) for name, theirs in logits.items()}


def compare(case: Case, workers: dict[str, Worker], rounds: int, setup: Setup) -> CaseResult:
    if case.padded:
        result = one_after_another(case, workers, rounds)
    else:
        variants = load_all(case, workers)
        result = CaseResult(turns(case, workers, rounds), variants)
        for worker in workers.values():
            worker.command(unload=case.name)
    result.disagreement = disagreements(case, workers, setup.folder)
    return result


def footprints(args: argparse.Namespace, setup: Setup, report: Report) -> None:
    for name in report.settings:
        print(f"memory and start: {name}", flush=True)
        long = report.cases.get(footprint.LONG.name, CaseResult())
        variant = long.variants.get(name, DYNAMIC)
        load_seconds = footprint.load_seconds(name, setup)
        start: Callable[[], Process]
        if name in (OURS, COMPILED):
            start = partial(footprint.hstu_process, args.hstu, setup, name == COMPILED)
            found = footprint.measure(start, footprint.run_binary, variant, load_seconds)
        else:
            start = partial(Worker, name, setup)
            found = footprint.measure(start, footprint.run_worker, variant, load_seconds)
        report.footprints[name] = found


def run(args: argparse.Namespace) -> Report:
    setup = prepare(args)
    report = Report(machine.describe(), args.dtype, args.threads)
    workers = {name: Worker(name, setup) for name in RUNNERS}
    report.settings = {name: w.command(settings=True) for name, w in workers.items()}
    for case in (CASES[name] for name in args.only or CASES):
        begin = time.monotonic()
        rounds = max(1, round(case.rounds * args.effort))
        print(f"{case.name}, {rounds} rounds", end="", flush=True)
        report.cases[case.name] = compare(case, workers, rounds, setup)
        print(f": {time.monotonic() - begin:.0f} s", flush=True)
    for worker in workers.values():
        worker.close()
    footprints(args, setup, report)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run.sh peers", description=__doc__)
    parser.add_argument("--hstu", type=Path, default=Path("build/hstu"))
    parser.add_argument("--library", type=Path, default=Path("build/libhstu.so"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--only", action="append", choices=[*CASES], help="a case; may be repeated")
    parser.add_argument("--effort", type=float, default=1.0, help="factor of the rounds")
    parser.add_argument("--json", type=Path, default=Path("build/peers.json"))
    parser.add_argument("--svg", type=Path, default=Path("build/peers.svg"))
    parser.add_argument("--publish", action="store_true", help="put the figures into docs/")
    args = parser.parse_args()
    report = run(args)
    args.json.write_text(json.dumps(report.json(), indent=1) + "\n")
    report.draw(args.svg)
    print(f"\n{report.table()}\n{args.json}, {args.svg}")
    if args.publish:
        name = f"peers-{args.dtype}"
        report.draw(publish.picture(name))
        caption = f"Milliseconds and memory of {', '.join(report.settings)}"
        publish.replace(name, caption, f"{machine.text()}\n\n{report.table()}")
    worst = max(d for case in report.cases.values() for d in case.disagreement.values())
    if worst > TOLERANCE[args.dtype]:
        sys.exit(f"logits differ by {worst:.1e} of the largest, over {TOLERANCE[args.dtype]}")


if __name__ == "__main__":
    main()
