# SPDX-License-Identifier: Apache-2.0
"""What a comparison found: JSON, a table in Markdown, a plot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from hstu_bench import plot
from hstu_bench.peers.footprint import Footprint

OURS, COMPILED, EAGER = "hstu", "hstu, compiled", "torch eager"


def others(names: Iterable[str]) -> list[str]:
    """Whom hstu is compared with, but for torch eager."""
    return [name for name in names if name not in (OURS, COMPILED, EAGER)]


@dataclass
class CaseResult:
    """Of one case; keys are engines' names."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    variants: dict[str, str] = field(default_factory=dict)
    # Largest difference of a logit from hstu's, over the largest logit.
    disagreement: dict[str, float] = field(default_factory=dict)

    def median(self, name: str) -> float:
        return median(self.seconds[name])

    def against_eager(self) -> float:
        return self.median(EAGER) / self.median(OURS)

    def against_best(self) -> float:
        return min(self.median(name) for name in others(self.seconds)) / self.median(OURS)


@dataclass
class Report:
    machine: dict[str, Any]
    dtype: str
    threads: int
    settings: dict[str, dict[str, str]] = field(default_factory=dict)
    cases: dict[str, CaseResult] = field(default_factory=dict)
    footprints: dict[str, Footprint] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        return {
            "machine": self.machine,
            "dtype": self.dtype,
            "threads": self.threads,
            "settings": self.settings,
            "cases": {
                name: {
                    "median_seconds": {n: case.median(n) for n in case.seconds},
                    "against_eager": case.against_eager(),
                    "against_best_of_others": case.against_best(),
                    "seconds": case.seconds,
                    "variants": case.variants,
                    "disagreement": case.disagreement,
                }
                for name, case in self.cases.items()
            },
            "footprints": {
                name: {
                    "peak_resident_bytes": print_.memory.resident,
                    "peak_anonymous_bytes": print_.memory.anonymous,
                    "start_to_first_logits_seconds": print_.start_seconds,
                    "load_seconds": print_.load_seconds,
                }
                for name, print_ in self.footprints.items()
            },
        }

    def table(self) -> str:
        names = list(self.settings)
        against = ["against eager", "against the best of the others"]
        lines = [
            _row(["ms, median", *names, *against]),
            _row(["---", *["---:"] * (len(names) + 2)]),
        ]
        for name, case in self.cases.items():
            cells = [f"{case.median(n) * 1e3:.1f}" for n in names]
            lines.append(
                _row([name, *cells, f"{case.against_eager():.2f}x", f"{case.against_best():.2f}x"])
            )
        return "\n".join(lines + self._footprint_rows(names)) + "\n" + self._agreement()

    def _footprint_rows(self, names: list[str]) -> list[str]:
        prints = [self.footprints[n] for n in names]
        resident = [p.memory.resident / 1e6 for p in prints]
        anonymous = [p.memory.anonymous / 1e6 for p in prints]
        start = [p.start_seconds * 1e3 for p in prints]
        load = [p.load_seconds * 1e3 for p in prints]
        rows = [
            ("peak memory at 4096 tokens, MB", resident, ".0f"),
            ("of it in no file, MB", anonymous, ".0f"),
            ("start to first logits, ms", start, ".0f"),
            ("of it loading the model, ms", load, ".1f"),
        ]
        eager = names.index(EAGER)
        return [
            _row(
                [
                    title,
                    *(f"{value:{form}}" for value in values),
                    f"{values[eager] / values[0]:.1f}x",
                    f"{min(values[names.index(n)] for n in others(names)) / values[0]:.1f}x",
                ]
            )
            for title, values, form in rows
        ]

    def _agreement(self) -> str:
        worst = max(d for case in self.cases.values() for d in case.disagreement.values())
        lines = ["", f"Logits differ from hstu's by at most {worst:.1e} of the largest.", ""]
        for name, values in self.settings.items():
            lines.append(f"- {name}: " + ", ".join(f"{k} {v}" for k, v in values.items()))
        return "\n".join(lines) + "\n"

    def draw(self, path: Path) -> None:
        with plot.figure(path, 9.0, 4.6) as figure:
            latency, memory = figure.subplots(1, 2, width_ratios=[4, 1])
            self._draw_latency(latency)
            self._draw_memory(memory)
            figure.legend(*latency.get_legend_handles_labels(), loc="outside upper center", ncols=6)

    def _draw_latency(self, axes: Any) -> None:
        names = list(self.settings)
        width = 0.8 / len(names)
        for i, name in enumerate(names):
            places = [c + (i - (len(names) - 1) / 2) * width for c in range(len(self.cases))]
            heights = [case.median(name) * 1e3 for case in self.cases.values()]
            bars = axes.bar(places, heights, width, label=name, color=plot.COLOURS[i])
            labels = [f"{height:.0f}" for height in heights]
            axes.bar_label(bars, labels, fontsize=6.5, rotation=90, padding=3)
        axes.set_yscale("log")
        axes.margins(y=0.15)
        axes.set_ylabel("milliseconds, less is better")
        axes.set_xticks(range(len(self.cases)), [n.replace(", ", ",\n") for n in self.cases])
        axes.grid(visible=False, axis="x")
        axes.yaxis.set_major_formatter(plot.plain)
        axes.set_title(f"One step, {self.dtype}, {self.threads} threads")

    def _draw_memory(self, axes: Any) -> None:
        names = list(self.settings)
        heights = [self.footprints[n].memory.resident / 1e6 for n in names]
        bars = axes.bar(names, heights, color=plot.COLOURS[: len(names)])
        axes.bar_label(bars, [f"{h:.0f}" for h in heights], fontsize=6.5, padding=3)
        axes.grid(visible=False, axis="x")
        axes.set_xticks([])
        axes.set_ylabel("peak resident memory, MB")
        axes.margins(y=0.1)
        axes.set_title("4096 tokens")


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
