# SPDX-License-Identifier: Apache-2.0
"""What figures were taken on."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any


def describe() -> dict[str, Any]:
    info = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    flags = next(line.split(":", 1)[1].split() for line in info if line.startswith("flags"))
    wanted = ["avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16"]
    return {
        "processor": names[0],
        "processors": len(os.sched_getaffinity(0)),
        "instructions": [flag for flag in wanted if flag in flags],
        "system": platform.platform(),
    }


def text() -> str:
    found = describe()
    instructions = ", ".join(found["instructions"])
    return f"{found['processor']}, {found['processors']} processors ({instructions})"
