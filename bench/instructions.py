#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of small fixed workloads, and compares them with those recorded.

    bench/instructions.py            # exit 1 where a count has grown by over 5 %
    bench/instructions.py --update   # record what is counted now

A machine's speed drifts, its instructions don't: on one thread they depend on the code and its
compiler alone. Only Engine::Rank counts, not loading. Needs valgrind and a Release build. Valgrind
knows no AVX-512, so this guards the code that is common to all, AVX2 and scalar.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "bench" / "instructions.json"
GOLDEN = ROOT / "tests" / "golden"
LIMIT = 0.05
CONFIG = {
    "architecture": "hstu_ranking",
    "hidden_size": 128,
    "num_layers": 2,
    "num_attention_heads": 2,
    "kv_channels": 64,
    "layernorm_epsilon": 1e-5,
    "attention": "silu",
    "scaling_seqlen": 512,
    "max_history_tokens": 1024,
    "max_num_candidates": 64,
    "num_position_buckets": 1024,
    "item_feature": "video_id",
    "action_feature": None,
    "contextual_features": [],
    "embedding_tables": [{"name": "videos", "num_embeddings": 1000, "features": ["video_id"]}],
    "prediction_head_arch": [64, 8],
    "prediction_head_bias": True,
}


@dataclass(frozen=True)
class Workload:
    """model and requests: names of a golden case, or of what make_model makes."""

    name: str
    model: Path
    requests: Path
    options: tuple[str, ...]


def make_model(hstu: Path, folder: Path) -> Workload:
    """A history of 512 tokens with 32 candidates, and a batch of short ones."""
    config, requests = folder / "config.json", folder / "requests.jsonl"
    config.write_text(json.dumps(CONFIG))
    model = folder / "model"
    subprocess.run([hstu, "init", "--config", config, "--out", model], check=True)
    lines = [
        {
            "history": {"items": [i * 7 % 1000 for i in range(length)]},
            "candidates": [i * 11 % 1000 for i in range(candidates)],
        }
        for length, candidates in [(480, 32), (40, 1), (64, 64), (3, 5), (100, 16)]
    ]
    requests.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Workload("wide", model, requests, ("--isa", "avx2"))


def golden(case: str, isa: str, *options: str) -> Workload:
    folder = GOLDEN / case
    name = " ".join([case, isa, *options])
    return Workload(name, folder / "model", folder / "requests.jsonl", ("--isa", isa, *options))


def workloads(hstu: Path, folder: Path) -> list[Workload]:
    return [
        make_model(hstu, folder),
        golden("odd_softmax", "avx2"),
        golden("stream", "avx2", "--kv-cache"),
        golden("plain", "scalar"),
    ]


def count(hstu: Path, workload: Workload, out: Path) -> int:
    """Leaves what callgrind wrote in `out`."""
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
    command += ["--toggle-collect=hstu::Engine::Rank*", str(hstu), "rank", "--threads", "1"]
    command += ["--model", str(workload.model), "--requests", str(workload.requests)]
    command += workload.options
    # Status 3 tells of requests that are answered by an error, which golden cases have.
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}: status {run.returncode}\n{run.stderr}")
    summary = re.search(r"^summary: (\d+)", out.read_text(), re.MULTILINE)
    if summary is None or int(summary[1]) == 0:
        sys.exit(f"{out}: nothing was counted; is Engine::Rank still called so?")
    return int(summary[1])


def compiler(build: Path) -> str:
    """Such as "GNU 12.2.0"."""
    for file in build.glob("CMakeFiles/*/CMakeCXXCompiler.cmake"):
        values = dict(re.findall(r'set\((CMAKE_CXX_COMPILER_\w+) "([^"]*)"\)', file.read_text()))
        return f"{values['CMAKE_CXX_COMPILER_ID']} {values['CMAKE_CXX_COMPILER_VERSION']}"
    sys.exit(f"{build} is no build folder: run cmake --preset release")


def line(name: str, now: int, before: int | None, out: Path) -> tuple[str, bool]:
    """What to say of a workload, and whether it has grown too much."""
    text = f"{name:<32} {now:>12,}"
    if before is None:
        return f"{text}  not recorded", False
    change = now / before - 1
    text += f"  recorded {before:>12,}  {change:+7.2%}"
    if change > LIMIT:
        return f"{text}  TOO MANY; callgrind_annotate {out} tells where", True
    return text + ("  fewer: record it" if change < -LIMIT else ""), False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="folder of the build")
    parser.add_argument("--update", action="store_true", help="record what is counted now")
    args = parser.parse_args()
    hstu = args.build / "hstu"
    recorded: dict[str, dict[str, int]] = json.loads(RECORDED.read_text())
    name_of_compiler = compiler(args.build)
    before = recorded.get(name_of_compiler, {})
    folder = args.build / "instructions"
    folder.mkdir(exist_ok=True)
    now: dict[str, int] = {}
    grown = 0
    with tempfile.TemporaryDirectory() as temporary:
        for workload in workloads(hstu, Path(temporary)):
            out = folder / f"{workload.name.replace(' ', '')}.callgrind"
            now[workload.name] = count(hstu, workload, out)
            text, bad = line(workload.name, now[workload.name], before.get(workload.name), out)
            print(text, flush=True)
            grown += bad
    if args.update:
        recorded[name_of_compiler] = now
        RECORDED.write_text(json.dumps(recorded, indent=2) + "\n")
    elif not before:
        print(f"nothing is recorded of {name_of_compiler}: bench/instructions.py --update does it")
    elif grown:
        sys.exit(
            f"{grown} workloads take over {LIMIT:.0%} more instructions than recorded. If that is "
            "meant, bench/instructions.py --update records them, and the commit says why."
        )


if __name__ == "__main__":
    main()
