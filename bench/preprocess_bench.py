# SPDX-License-Identifier: Apache-2.0
"""Times `hstu preprocess` beside the pandas restatement, and measures its memory on a large log.

    python bench/preprocess_bench.py --hstu build/hstu                 # a million rows, both
    python bench/preprocess_bench.py --hstu build/hstu --large-gb 5    # memory on a generated log

Both run as processes of their own on the same generated log; the best of --repeat counts, and the
files must be equal byte for byte. Needs pandas; the large log and its outputs are deleted again.
"""

from __future__ import annotations

import argparse
import filecmp
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

FILES = ["processed_seqs.csv", "processed_seqs_inference.csv", "processed_batches.csv"]
EVENTS = {
    "is_click": 0.4,
    "is_like": 0.02,
    "is_follow": 0.01,
    "is_comment": 0.01,
    "is_forward": 0.01,
    "is_hate": 0.01,
    "long_view": 0.3,
}
COLUMNS = ["user_id", "video_id", "date", "hourmin", "time_ms", *EVENTS, "play_time_ms"]
COLUMNS += ["duration_ms", "profile_stay_time", "comment_stay_time", "is_profile_enter"]
COLUMNS += ["is_rand", "tab"]
FIRST_MS = 1649347200000  # 2022-04-08 in Beijing, as KuaiRand counts days
DAY_MS = 86_400_000


def rows_text(rng: np.random.Generator, rows: int, users: int) -> str:
    """Rows of a log in KuaiRand's columns, in no order."""
    since = rng.integers(0, 14 * DAY_MS, rows)
    zeros = np.zeros(rows, dtype=np.int64)
    columns = [
        rng.integers(0, users, rows),
        rng.integers(0, 10_000_000, rows),
        20220408 + since // DAY_MS,
        since % DAY_MS // 3_600_000 * 100,
        FIRST_MS + since,
        *((rng.random(rows) < rate).astype(np.int64) for rate in EVENTS.values()),
        rng.integers(0, 100_000, rows),
        rng.integers(5_000, 200_000, rows),
        zeros,
        zeros,
        (rng.random(rows) < 0.02).astype(np.int64),
        zeros,
        zeros,
    ]
    lines = zip(*(column.tolist() for column in columns), strict=True)
    return "".join(",".join(map(str, line)) + "\n" for line in lines)


def write_log(path: Path, rows: int, users: int, least_bytes: int = 0) -> int:
    """Writes a log of `rows` rows, repeated until it has least_bytes -> rows written."""
    rng = np.random.default_rng(1)
    parts = [rows_text(rng, min(100_000, rows - i), users) for i in range(0, rows, 100_000)]
    body = "".join(parts).encode()
    written = 0
    with path.open("wb") as file:
        file.write((",".join(COLUMNS) + "\n").encode())
        while written == 0 or file.tell() < least_bytes:
            file.write(body)
            written += rows
    return written


def seconds_of(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def command(program: list[str], log: Path, out: Path) -> list[str]:
    out.mkdir(exist_ok=True)
    return [*program, "--dataset", "kuairand", "--log", str(log), "--out-dir", str(out)]


def race(args: argparse.Namespace, folder: Path) -> bool:
    """Prints both times and their ratio -> whether the files are equal."""
    log = folder / "log.csv"
    write_log(log, args.rows, args.users)
    pandas = [sys.executable, str(Path(__file__).with_name("preprocess_pandas.py"))]
    ours = command([args.hstu, "preprocess"], log, folder / "ours")
    theirs = command(pandas, log, folder / "pandas")
    # Taken in turns, so that what else the machine does meets both.
    times = [(seconds_of(ours), seconds_of(theirs)) for _ in range(args.repeat)]
    best_ours, best_theirs = (min(column) for column in zip(*times, strict=True))
    _, unequal, missing = filecmp.cmpfiles(folder / "ours", folder / "pandas", FILES, shallow=False)
    print(f"{args.rows} rows, {log.stat().st_size / 1e6:.0f} MB, best of {args.repeat}:")
    print(f"  hstu preprocess {best_ours:8.3f} s")
    print(f"  pandas          {best_theirs:8.3f} s, {best_theirs / best_ours:.1f} times as long")
    print("  files are equal" if not unequal + missing else f"  FILES DIFFER: {unequal + missing}")
    return not unequal + missing


def measure_memory(args: argparse.Namespace, folder: Path) -> bool:
    """Prints the peak of resident memory -> whether it is below 2 GiB."""
    log = folder / "large.csv"
    rows = write_log(log, 1_000_000, args.users, int(args.large_gb * 1e9))
    seconds = seconds_of(command([args.hstu, "preprocess"], log, folder / "large"))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(f"{rows} rows, {log.stat().st_size / 1e9:.2f} GB in {seconds:.1f} s:")
    print(f"  peak of resident memory {peak / 2**30:.2f} GiB")
    return peak < 2 * 2**30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hstu", default="build/hstu", help="the binary")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=1_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--large-gb", type=float, help="instead: memory on a log of this size")
    parser.add_argument("--folder", type=Path, help="where the files go; the system's by default")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        run = race if args.large_gb is None else measure_memory
        sys.exit(0 if run(args, Path(folder)) else 1)


if __name__ == "__main__":
    main()
