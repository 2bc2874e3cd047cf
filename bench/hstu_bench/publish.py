# SPDX-License-Identifier: Apache-2.0
"""Puts what was measured into docs/performance.md: a picture and a table, between two comments
`<!-- measured: NAME -->` and `<!-- /measured -->`."""

from __future__ import annotations

import re
from pathlib import Path

IMAGES = Path("docs/images")
PAGE = Path("docs/performance.md")


def picture(name: str) -> Path:
    return IMAGES / f"{name}.svg"


def replace(name: str, caption: str, table: str) -> None:
    """With picture(name), which the caller has drawn."""
    begin, end = f"<!-- measured: {name} -->\n", "<!-- /measured -->"
    text = f"![{caption}](images/{picture(name).name})\n\n{table.strip()}\n"
    old = PAGE.read_text()
    new, count = re.subn(
        re.escape(begin) + ".*?" + re.escape(end),
        lambda _: f"{begin}{text}{end}",
        old,
        flags=re.DOTALL,
    )
    if count != 1:
        raise ValueError(f"{PAGE} has {count} places for {name!r}, it must have one")
    PAGE.write_text(new)
