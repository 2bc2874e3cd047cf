# SPDX-License-Identifier: Apache-2.0
"""How cost grows with a sequence's length and with the batch, on one thread and on all."""

from __future__ import annotations

import argparse
import itertools
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hstu_bench import machine, plot, publish, workload
from hstu_bench.library import Batch, Model
from hstu_bench.workload import CONFIG, Sequence

LENGTHS = (128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
CANDIDATES = 64
BATCH_SEQUENCE = Sequence(256, 16)
# Each point is repeated until it has run this long, but within these bounds.
SECONDS, LEAST, MOST = 1.5, 3, 25


@dataclass
class Point:
    """size: tokens of one sequence, or sequences of BATCH_SEQUENCE; seconds by threads."""

    size: int
    gflop: float
    seconds: dict[int, float]


def useful_flops(sequence: Sequence) -> float:
    """Of visible pairs, without the rows that the last layer skips."""
    hidden = CONFIG["hidden_size"]
    width = CONFIG["num_attention_heads"] * CONFIG["kv_channels"]
    own = sequence.candidates * (sequence.history + 1)
    pairs = sequence.history * (sequence.history + 1) / 2 + own
    full = 2 * sequence.tokens * 5 * width * hidden + 4 * width * pairs
    keys_and_values = 2 * sequence.history * 2 * width * hidden
    last = keys_and_values + 2 * sequence.candidates * 5 * width * hidden + 4 * width * own
    sizes = [hidden, *CONFIG["prediction_head_arch"]]
    head = 2 * sequence.candidates * sum(a * b for a, b in itertools.pairwise(sizes))
    return float((CONFIG["num_layers"] - 1) * full + last + head)


def seconds_of(model: Model, batch: Batch) -> float:
    begin = time.perf_counter()
    model.rank(batch)
    return time.perf_counter() - begin


def measure(size: int, sequences: tuple[Sequence, ...], models: dict[int, Model]) -> Point:
    """In turns, so that what else the machine does meets all alike."""
    batches = {threads: model.batch(sequences) for threads, model in models.items()}
    warm = sum(seconds_of(models[threads], batches[threads]) for threads in models)
    rounds = min(MOST, max(LEAST, int(SECONDS / warm)))
    seconds: dict[int, list[float]] = {threads: [] for threads in models}
    for _ in range(rounds):
        for threads, model in models.items():
            seconds[threads].append(seconds_of(model, batches[threads]))
    gflop = sum(useful_flops(s) for s in sequences) / 1e9
    return Point(size, gflop, {threads: median(values) for threads, values in seconds.items()})


def table(title: str, points: list[Point]) -> str:
    one, most = min(points[0].seconds), max(points[0].seconds)
    lines = [
        f"| {title} | ms, {one} thread | GFLOP/s | ms, {most} threads | GFLOP/s | faster by |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for p in points:
        cells = [f"{p.size}"]
        for seconds in (p.seconds[one], p.seconds[most]):
            cells += [f"{seconds * 1e3:.1f}", f"{p.gflop / seconds:.1f}"]
        cells.append(f"{p.seconds[one] / p.seconds[most]:.2f}x")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw_cost(axes: Any, points: list[Point], label: str) -> None:
    for i, threads in enumerate(points[0].seconds):
        sizes = [p.size for p in points]
        milliseconds = [p.seconds[threads] * 1e3 for p in points]
        name = f"{threads} thread{'s' if threads > 1 else ''}"
        axes.plot(sizes, milliseconds, "o-", color=plot.COLOURS[i], label=name, ms=4)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(plot.plain)
    axes.yaxis.set_major_formatter(plot.plain)
    axes.set_xlabel(label)
    axes.set_ylabel("milliseconds")
    axes.legend()


def draw_rate(axes: Any, points: list[Point], label: str) -> None:
    """A cliff is easier to see where growth is divided out."""
    for i, threads in enumerate(points[0].seconds):
        rates = [p.gflop / p.seconds[threads] for p in points]
        axes.plot([p.size for p in points], rates, "o-", color=plot.COLOURS[i], ms=4)
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(plot.plain)
    axes.set_xlabel(label)
    axes.set_ylabel("useful GFLOP/s")


def draw(lengths: list[Point], batches: list[Point], path: Path) -> None:
    by_batch = f"sequences of {BATCH_SEQUENCE.tokens} tokens in a batch"
    with plot.figure(path, 9.0, 6.0) as figure:
        axes = figure.subplots(2, 2)
        draw_cost(axes[0][0], lengths, "tokens of one sequence")
        draw_cost(axes[0][1], batches, by_batch)
        draw_rate(axes[1][0], lengths, "tokens of one sequence")
        draw_rate(axes[1][1], batches, by_batch)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run.sh scaling", description=__doc__)
    parser.add_argument("--hstu", type=Path, default=Path("build/hstu"))
    parser.add_argument("--library", type=Path, default=Path("build/libhstu.so"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, default=Path("build/scaling.json"))
    parser.add_argument("--svg", type=Path, default=Path("build/scaling.svg"))
    parser.add_argument("--publish", action="store_true", help="put the figures into docs/")
    args = parser.parse_args()
    folder = Path("build/scaling")
    folder.mkdir(exist_ok=True)
    model = folder / "model"
    if not model.exists():
        workload.make_model(args.hstu, folder)
    models = {n: Model(args.library.resolve(), model, n) for n in sorted({1, args.threads})}
    lengths = [measure(n, (Sequence(n, CANDIDATES),), models) for n in LENGTHS]
    batches = [measure(n, (BATCH_SEQUENCE,) * n, models) for n in BATCHES]
    draw(lengths, batches, args.svg)
    found = {"lengths": [asdict(p) for p in lengths], "batches": [asdict(p) for p in batches]}
    args.json.write_text(json.dumps({"machine": machine.describe(), **found}, indent=1) + "\n")
    text = f"{table('tokens', lengths)}\n\n{table('sequences', batches)}"
    print(f"{text}\n\n{args.json}, {args.svg}")
    if args.publish:
        draw(lengths, batches, publish.picture("scaling"))
        publish.replace("scaling", "Cost by length and by batch", f"{machine.text()}\n\n{text}")


if __name__ == "__main__":
    main()
