# SPDX-License-Identifier: Apache-2.0
"""An engine in a process of its own, so that none meets another's threads or memory.

Reads commands, a JSON object a line, and answers each with one:
{"case", "variant": null}   loads a case; of several variants the one whose second run is faster
                            -> {"variant", "seconds": {variant: of that run}, "load_seconds"}
{"run": case}               -> {"seconds"}
{"unload": case}            -> {}
{"logits": case, "to"}      writes the logits of the case's last run, an .npz file -> {}
{"settings": true}          -> the runner's settings
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np

from hstu_bench.peers.runners import RUNNERS, Run, Runner, Setup
from hstu_bench.workload import CASES, SMALL, Case

KNOWN = CASES | {SMALL.name: SMALL}


def seconds_of(run: Run) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


class Worker:
    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._runs: dict[str, Run] = {}
        self._logits: dict[str, list[Any]] = {}

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        if "case" in command:
            return self._load(KNOWN[command["case"]], command.get("variant"))
        if "run" in command:
            begin = time.perf_counter()
            self._logits[command["run"]] = self._runs[command["run"]]()
            return {"seconds": time.perf_counter() - begin}
        if "unload" in command:
            del self._runs[command["unload"]]
            return {}
        if "logits" in command:
            np.savez(command["to"], *self._logits[command["logits"]])
            return {}
        return self._runner.settings()

    def _load(self, case: Case, variant: str | None) -> dict[str, Any]:
        if variant is not None:
            self._runs[case.name] = self._runner.load(case, variant)
            return self._loaded(variant, {})
        best, seconds = "", {}
        variants = self._runner.variants(case)
        for name in variants:
            run = self._runner.load(case, name)
            run()
            if len(variants) > 1:
                seconds[name] = seconds_of(run)
            if not best or seconds[name] < seconds[best]:
                best, self._runs[case.name] = name, run
        return self._loaded(best, seconds)

    def _loaded(self, variant: str, seconds: dict[str, float]) -> dict[str, Any]:
        load_seconds = self._runner.load_seconds
        return {"variant": variant, "seconds": seconds, "load_seconds": load_seconds}


def main() -> None:
    # What the libraries print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker(RUNNERS[sys.argv[1]](Setup.parse(sys.argv[2])))
    for line in sys.stdin:
        answers.write(json.dumps(worker.answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
