# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/streams: hierarchical models and streams far past max_history_tokens.

    python tests/make_streams.py REFERENCE tests/golden/streams

REFERENCE is the folder of the float64 reference of the arithmetic (hstu_reference.py and
make_golden.py). For each model and page size: `stream_{page}.jsonl`, appends of random lengths
answered in order with the KV cache on, and `whole_{page}.jsonl`, whole histories over the limit
answered with --truncate. A line is a request with the answer's `logits` and `evicted_tokens`.
"""

import json
import sys
from pathlib import Path

import numpy as np

SIZES = dict(hidden=16, heads=2, dim=8, tasks=2, num_position_buckets=256, scaling_seqlen=64)
STEPS = 36


def stage(window: int | None = None, stride: int | None = None) -> dict:
    pooled = dict(aggregation_window=window, aggregation_stride=stride) if window else {}
    return dict(num_layers=1, **pooled)


MODELS = {
    # The window is longer than the stride, so outputs wait for two windows at once.
    "overlap": dict(max_history_tokens=160, stages=[stage(), stage(8, 4)]),
    "three": dict(max_history_tokens=300, stages=[stage(), stage(4, 4), stage(3, 2)]),
    # Strides that divide no page; the largest units of eviction are longer than the limit.
    "odd_strides": dict(
        max_history_tokens=200, max_attn_len=21, attention="softmax",
        stages=[stage(), stage(5, 3), stage(2, 2)],
    ),
    "every_token": dict(max_history_tokens=100, stages=[stage(), stage(7, 1)]),
}  # fmt: skip


def line(request: dict, logits: np.ndarray, evicted: int) -> str:
    answer = dict(logits=np.round(logits, 8).tolist(), evicted_tokens=evicted)
    return json.dumps(request | answer, separators=(",", ":")) + "\n"


def append_lengths(rng: np.random.Generator, limit: int) -> list[int]:
    """Items per step: mostly few, at times none, or nearly all that the limit allows."""
    few = rng.integers(0, 14, STEPS)
    many = rng.integers(15, limit // 2 + 1, STEPS)
    return [int(n) for n in np.where(rng.random(STEPS) < 0.2, many, few)]


def write_stream(file: Path, session, make, rng: np.random.Generator, limit: int) -> None:
    have = 0
    with file.open("w") as out:
        for items in append_lengths(rng, limit):
            request = make(items, int(rng.integers(1, 4)), have)
            history = request["history"]
            logits = session.rank({}, history["items"], history["actions"], request["candidates"])
            out.write(line(request, logits, session.stages[0].first))
            have += items


def write_whole(file: Path, new_session, make, limit: int) -> None:
    with file.open("w") as out:
        for over in (2, 34, 150):
            items = (limit + over) // 2
            session = new_session()
            unit = session.eviction_unit()
            skip = -(-(2 * items - limit) // unit) * unit
            if skip > 2 * items:  # the reference skips whole units only
                continue
            request = make(items, 2, None)
            history = request["history"]
            logits = session.rank(
                {}, history["items"], history["actions"], request["candidates"], skip=skip
            )
            out.write(line(request, logits, skip))


def main() -> None:
    reference, out = sys.argv[1:]
    sys.path.insert(0, reference)
    from hstu_reference import Model, Session
    from make_golden import make_model, make_request

    rng = np.random.default_rng(7)
    for name, extra in MODELS.items():
        folder = Path(out) / name
        layers = sum(s["num_layers"] for s in extra["stages"])
        tables = [(f, 40, [f]) for f in ("video_id", "action_weights")]
        make_model(
            rng, folder / "model", layers=layers, tables=tables, contextual=[], **(SIZES | extra)
        )
        model = Model.load(folder / "model")
        limit = model.config["max_history_tokens"]

        def make(items: int, candidates: int, start: int | None, config=model.config) -> dict:
            return make_request(rng, config, "u", items, candidates, start)

        for page in (32, 64, 128):
            write_stream(folder / f"stream_{page}.jsonl", Session(model, page), make, rng, limit)
            write_whole(
                folder / f"whole_{page}.jsonl",
                lambda page=page, model=model: Session(model, page),
                make,
                limit,
            )


if __name__ == "__main__":
    main()
