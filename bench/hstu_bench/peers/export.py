# SPDX-License-Identifier: Apache-2.0
"""Makes AOTInductor packages and ONNX files of the model, those that are missing.

python -m hstu_bench.peers.export SETUP
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch.export import Dim, ExportedProgram

from hstu_bench.peers.runners import DYNAMIC, STATIC, Setup, shapes_of
from hstu_bench.peers.torch_model import Ranking, inputs, load_ranking
from hstu_bench.workload import CASES, CONFIG, Case


def export(model: Ranking, case: Case, variant: str) -> ExportedProgram:
    if variant == STATIC:
        return torch.export.export(model, inputs(case.sequences))
    history = Dim("history", min=2, max=CONFIG["max_history_tokens"])
    width = Dim("width", min=2, max=CONFIG["max_num_candidates"])
    return torch.export.export(
        model,
        inputs(case.sequences),
        dynamic_shapes={
            "items": {1: history},
            "num_items": {},
            "candidates": {1: width},
            "num_candidates": {},
        },
    )


def make_packages(setup: Setup) -> None:
    model = load_ranking(setup.folder / "model", setup.dtype)
    for case in CASES.values():
        for variant in shapes_of(case):
            package = setup.package(case, variant)
            if package.exists() or not (case.single or case.padded):
                continue
            print(f"AOTInductor: {package.name}", flush=True)
            program = export(model, case, variant)
            torch._inductor.aoti_compile_and_package(program, package_path=str(package))


def make_onnx(setup: Setup) -> None:
    model = load_ranking(setup.folder / "model", "f32")
    for case in CASES.values():
        path: Path = setup.onnx(case)
        if path.exists() or not (case.single or case.padded):
            continue
        print(f"ONNX: {path.name}", flush=True)
        program = export(model, case, STATIC if case.padded else DYNAMIC)
        torch.onnx.export(program, (), str(path), dynamo=True, verbose=False)


def main() -> None:
    setup = Setup.parse(sys.argv[1])
    torch.set_num_threads(setup.threads)
    with torch.no_grad():
        make_onnx(setup)
        make_packages(setup)


if __name__ == "__main__":
    main()
