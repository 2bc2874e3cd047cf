#!/usr/bin/env python3
"""Draws a terminal's output as an SVG: `COMMAND | scripts/terminal_svg.py "COMMAND" > FILE`."""

import html
import sys

LINE, CHARACTER, MARGIN = 20, 8.4, 18


def main() -> None:
    lines = [f"$ {part}" if i == 0 else part for i, part in enumerate(sys.argv[1].split("\n"))]
    commands = len(lines)
    lines += sys.stdin.read().rstrip("\n").split("\n")
    width = int(max(map(len, lines)) * CHARACTER + 2 * MARGIN)
    height = len(lines) * LINE + 2 * MARGIN
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img">'
    )
    print(f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>')
    print('<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">')
    for i, line in enumerate(lines):
        color = "#7ee787" if i < commands else "#e6edf3"
        y = MARGIN + LINE * i + 14
        print(
            f'<text x="{MARGIN}" y="{y}" fill="{color}" xml:space="preserve"'
            f' textLength="{len(line) * CHARACTER:.1f}">{html.escape(line)}</text>'
        )
    print("</g></svg>")


if __name__ == "__main__":
    main()
