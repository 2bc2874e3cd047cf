# SPDX-License-Identifier: Apache-2.0
"""Processes that are measured: workers, and the binary."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from hstu_bench.peers.runners import Setup


class Process:
    """A child that answers a line with a line. What it says on stderr goes to `log`."""

    def __init__(self, command: list[str], log: Path) -> None:
        with log.open("a") as stderr:
            self._child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True
            )
        self._log = log
        self.status = Path(f"/proc/{self._child.pid}/status")

    def ask(self, line: str) -> str:
        stdin, stdout = _pipe(self._child.stdin), _pipe(self._child.stdout)
        stdin.write(line)
        stdin.flush()
        answer = stdout.readline()
        if not answer:
            raise RuntimeError(f"a measured process ended; {self._log} has its last words")
        return answer

    def close(self) -> None:
        _pipe(self._child.stdin).close()
        self._child.wait()


class Worker(Process):
    """worker.py, whose commands and answers are JSON."""

    def __init__(self, name: str, setup: Setup) -> None:
        command = [sys.executable, "-m", "hstu_bench.peers.worker", name, setup.text()]
        super().__init__(command, setup.folder / "workers.log")

    def command(self, **command: Any) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.ask(json.dumps(command) + "\n"))
        return answer


@dataclass
class Memory:
    """Peaks in bytes: all that is resident, and what belongs to no file."""

    resident: int = 0
    anonymous: int = 0


class MemoryWatch:
    """Watches a process; the kernel keeps only the first of both peaks."""

    PERIOD = 0.002

    def __init__(self, process: Process) -> None:
        self._status = process.status
        self._memory = Memory()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self._memory

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._ended.is_set():
            self._look()
            time.sleep(self.PERIOD)

    def _look(self) -> None:
        values = dict(line.split(":", 1) for line in self._status.read_text().splitlines())
        self._memory.resident = _bytes(values["VmHWM"])
        self._memory.anonymous = max(self._memory.anonymous, _bytes(values["RssAnon"]))


def _bytes(text: str) -> int:
    return int(text.split()[0]) * 1024


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
