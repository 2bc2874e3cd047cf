# SPDX-License-Identifier: Apache-2.0
"""Draws docs/images/hierarchical.svg: the stages of a model, and what an eviction drops.

    python3 scripts/hierarchical_svg.py > docs/images/hierarchical.svg

Two stages, window 4 and stride 2, pages of 8 tokens (as small as a picture needs), 25 tokens.
"""

WINDOW, STRIDE, PAGE, TOKENS, EVICTED = 4, 2, 8, 25, 8
CELL, LEFT = 26, 130
COMPLETE = (TOKENS - WINDOW) // STRIDE + 1
FIRST_POOLED = -(-EVICTED // STRIDE)


def cell(x: float, y: int, label: str, kind: str) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{CELL - 3}" height="20" rx="3" class="{kind}"/>'
        f'<text x="{x + (CELL - 3) / 2}" y="{y + 14}" class="cell">{label}</text>'
    )


def text(x: int, y: int, words: str, kind: str = "text") -> str:
    return f'<text x="{x}" y="{y}" class="{kind}">{words}</text>'


def stage_x(position: int) -> float:
    """A window stands over its last input: it exists from then on."""
    return LEFT + (position * STRIDE + WINDOW - 1) * CELL


def draw(y: int, title: str, evicted: int) -> list[str]:
    first_pooled = -(-evicted // STRIDE)
    waiting = COMPLETE * STRIDE
    out = [text(10, y - 14, title, "title"), text(10, y + 90, "stage 0"), text(10, y + 20, "stage 1")]
    for i in range(COMPLETE):
        kind = "gone" if i < first_pooled else "pooled"
        out.append(cell(stage_x(i), y + 6, str(i), kind))
        if kind == "pooled":
            begin, end = LEFT + i * STRIDE * CELL, stage_x(i) + CELL - 3
            level = y + 36 + i % 2 * 16
            out.append(f'<path d="M{begin} {level + 8} v-5 H{end} v5 M{end - 11} {level + 3} V{y + 28}"/>')
    for i in range(TOKENS):
        kind = "gone" if i < evicted else "waiting" if i >= waiting else "token"
        out.append(cell(LEFT + i * CELL, y + 76, str(i), kind))
    for page in range(-(-TOKENS // PAGE)):
        x = LEFT + page * PAGE * CELL
        out.append(f'<path class="page" d="M{x - 1.5} {y + 70} v34"/>')
    for i in range(first_pooled // PAGE, -(-COMPLETE // PAGE)):
        if i * PAGE >= first_pooled:
            out.append(f'<path class="page" d="M{stage_x(i * PAGE) - 1.5} {y} v32"/>')
    return out


def main() -> None:
    width, height = LEFT + (TOKENS + 1) * CELL, 360
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
        "<style>text{font:12px sans-serif;fill:#222}.cell{font-size:10px;text-anchor:middle}"
        ".title{font-weight:bold}.token{fill:#cfe3f7}.pooled{fill:#c9ebd2}.waiting{fill:#ffe3a3}"
        ".gone{fill:#fff;stroke:#bbb;stroke-dasharray:3 2}path{fill:none;stroke:#789}"
        ".page{stroke:#c33;stroke-width:1.5}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *draw(
            40,
            "Window 4, stride 2: token j of stage 1 is the mean of the outputs 2j to 2j + 3 of stage 0",
            0,
        ),
        text(10, 166, f"Outputs {COMPLETE * STRIDE} to {TOKENS - 1} wait for the rest of their window."),
        *draw(220, f"After an eviction of {EVICTED} tokens, one page of stage 0", EVICTED),
        text(
            10,
            346,
            f"In stage 1 the windows go that begin before token {EVICTED}: its first page keeps an "
            f"offset of {FIRST_POOLED}. Red lines: pages of {PAGE} begin.",
        ),
        "</svg>",
    ]
    print("\n".join(parts))


if __name__ == "__main__":
    main()
