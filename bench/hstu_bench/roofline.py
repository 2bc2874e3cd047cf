# SPDX-License-Identifier: Apache-2.0
"""Draws every operator under the peaks that the same run measured: multiply-adds in registers,
reads from memory and from the last cache."""

from __future__ import annotations

import argparse
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hstu_bench import machine, plot, publish

MARKS = "os^vD<>ph*XPd8"
LEAST_GFLOPS = 0.5
LEAST_SAMPLES = 5


@dataclass(frozen=True)
class Roofs:
    """gigaflops a second, and gigabytes a second."""

    fma: float
    memory: float
    cache: float


@dataclass(frozen=True)
class Point:
    name: str
    intensity: float  # flops a byte
    gbytes: float  # a second
    reaches: str  # the fraction of what limits it

    @property
    def gflops(self) -> float:
        return self.intensity * self.gbytes


def measure(program: Path, out: Path) -> dict[str, dict[str, Any]]:
    """Runs all benchmarks -> counters by name."""
    command = [str(program), f"--benchmark_out={out}", "--benchmark_out_format=json"]
    subprocess.run(command, check=True)
    runs = json.loads(out.read_text())["benchmarks"]
    return {run["name"].split("/iterations")[0].removeprefix("BM_"): run for run in runs}


def roofs_of(runs: dict[str, dict[str, Any]]) -> Roofs:
    bursts = [runs["PeakFma"]["gflops_max"]]
    bursts += [run["peak_gflops"] for run in runs.values() if "peak_gflops" in run]
    reads = runs["PeakReadMemory"]["gbytes"], runs["PeakReadLastCache"]["gbytes"]
    return Roofs(max(bursts), *reads)


def points_of(runs: dict[str, dict[str, Any]], roofs: Roofs) -> list[Point]:
    points = []
    for name, run in runs.items():
        kind = next((k for k in ("of_peak", "of_read") if k in run), None)
        if kind is None:
            continue
        # On a machine that is never quiet, what is left is the time that the processors gave.
        quiet = run["samples"] >= LEAST_SAMPLES
        fraction = run[kind] if quiet else run[f"{kind}_cpu"]
        limit = "FMA" if kind == "of_peak" else "reads"
        text = f"{fraction:.0%} of {limit}{'' if quiet else '*'}"
        intensity = run["intensity"]
        if kind == "of_peak":
            gbytes = fraction * roofs.fma / intensity
        else:
            gbytes = fraction * run["peak_gbytes"]
        points.append(Point(name, intensity, gbytes, text))
    return points


def table(points: list[Point], runs: dict[str, dict[str, Any]], roofs: Roofs) -> str:
    lines = [
        f"{roofs.fma:.0f} GFLOP/s; reads: {roofs.memory:.1f} GB/s from memory, "
        f"{roofs.cache:.1f} GB/s from the last cache",
        "",
        "| operator | time, us | flops a byte | GFLOP/s | GB/s | reaches |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for point in points:
        lines.append(
            f"| {point.name} | {runs[point.name]['real_time'] / 1e3:.1f} | {point.intensity:.1f} "
            f"| {point.gflops:.1f} | {point.gbytes:.1f} | {point.reaches} |"
        )
    if any(point.reaches.endswith("*") for point in points):
        lines += ["", "\\* in processor time: the machine was not quiet enough for wall time"]
    return "\n".join(lines)


def draw(points: list[Point], roofs: Roofs, path: Path) -> None:
    drawn = [p for p in points if p.gflops > 0]
    low = min(0.2, *(p.intensity / 1.5 for p in drawn))
    high = max(p.intensity for p in drawn) * 2
    with plot.figure(path, 9.0, 4.6) as figure:
        axes = figure.subplots()
        for name, gbytes, style in (
            (f"reads from memory, {roofs.memory:.0f} GB/s", roofs.memory, "--"),
            (f"reads from the last cache, {roofs.cache:.0f} GB/s", roofs.cache, ":"),
        ):
            ridge = roofs.fma / gbytes
            axes.plot([low, ridge], [low * gbytes, roofs.fma], style, color="#555555", label=name)
        axes.axhline(roofs.fma, color="#555555", label=f"multiply-adds, {roofs.fma:.0f} GFLOP/s")
        for i, p in enumerate(drawn):
            colour = plot.COLOURS[i % len(plot.COLOURS)]
            label = f"{p.name}: {p.reaches}"
            axes.plot(p.intensity, p.gflops, MARKS[i % len(MARKS)], color=colour, label=label, ms=7)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xlim(low, high)
        axes.set_ylim(LEAST_GFLOPS, roofs.fma * 1.5)
        axes.xaxis.set_major_formatter(plot.plain)
        axes.yaxis.set_major_formatter(plot.plain)
        axes.set_xlabel("arithmetic intensity, flops a byte (each byte once)")
        axes.set_ylabel("GFLOP/s")
        axes.set_title("Operators, f32, all threads")
        figure.legend(fontsize=7.5, loc="outside right upper")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run.sh roofline", description=__doc__)
    parser.add_argument("--program", type=Path, default=Path("build-bench/operators_bench"))
    parser.add_argument("--json", type=Path, default=Path("build/roofline.json"))
    parser.add_argument("--svg", type=Path, default=Path("build/roofline.svg"))
    parser.add_argument("--publish", action="store_true", help="put the figures into docs/")
    args = parser.parse_args()
    runs = measure(args.program, args.json)
    roofs = roofs_of(runs)
    points = points_of(runs, roofs)
    draw(points, roofs, args.svg)
    text = f"{machine.text()}: {table(points, runs, roofs)}"
    print(f"\n{text}\n\n{args.json}, {args.svg}")
    if args.publish:
        draw(points, roofs, publish.picture("roofline"))
        publish.replace("roofline", "Each operator under the roofs of the same run", text)


if __name__ == "__main__":
    main()
