#!/usr/bin/env python3
"""Draws the result of sweep.py as SVG: prefill by prompt length, decode by number of streams.

  sweep_plot.py sweep.json sweep.svg

Points are medians, lines through them, bars from the least to the largest value. Standard library only.
"""

import json
import math
import sys
from xml.sax.saxutils import escape

WIDTH, HEIGHT, PANEL, TOP, BOTTOM = 920, 390, 440, 80, 330
AGGREGATE, PER_STREAM, INK, GRID = "#1f5fa8", "#c2571a", "#333333", "#dddddd"


def nice_top(value):
    """The least of 1, 2, 2.5, 5, 10 times a power of ten that is not below the value."""
    power = 10 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value * 0.999)


def text(x, y, words, anchor="middle", size=12, colour=INK, extra=""):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}" {extra}>'
        f"{escape(str(words))}</text>"
    )


def line(x1, y1, x2, y2, colour, width=1.0):
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" ' f'stroke-width="{width}"/>'
    )


def panel(left, title, unit_x, labels, series):
    """`series`: (name, colour, [{median, min, max}, ..]) over the labels."""
    right = left + PANEL - 90
    out = [text(left, TOP - 32, title, "start", 14, extra='font-weight="bold"')]
    if not labels:
        return out + [text(left, TOP + 20, "not measured", "start")]
    top_value = nice_top(max(entry["max"] for _, _, entries in series for entry in entries))

    def x(i):
        return left + 30 + i * (right - left - 60) / max(1, len(labels) - 1) if len(labels) > 1 else (left + right) / 2

    def y(value):
        return BOTTOM - value / top_value * (BOTTOM - TOP)

    for step in range(5):
        value = top_value * step / 4
        out += [line(left, y(value), right, y(value), GRID), text(left - 6, y(value) + 4, f"{value:g}", "end")]
    for i, label in enumerate(labels):
        out.append(text(x(i), BOTTOM + 18, label))
    out.append(text((left + right) / 2, BOTTOM + 38, unit_x))
    for number, (name, colour, entries) in enumerate(series):
        points = " ".join(f"{x(i):.1f},{y(e['median']):.1f}" for i, e in enumerate(entries))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        for i, entry in enumerate(entries):
            out += [
                line(x(i), y(entry["min"]), x(i), y(entry["max"]), colour, 1.2),
                f'<circle cx="{x(i):.1f}" cy="{y(entry["median"]):.1f}" r="3.5" fill="{colour}"/>',
                # The second line's figures stand below it, so that equal points stay legible.
                text(
                    x(i),
                    y(entry["max"]) - 8 if number == 0 else y(entry["min"]) + 16,
                    f"{entry['median']:.4g}",
                    size=11,
                    colour=colour,
                ),
            ]
        out.append(text(right, TOP - 32 + 15 * number, name, "end", 12, colour))
    return out


def draw(result):
    prefill = {n: e for n, e in result["prefill"].items() if "median" in e}
    streams = {name[1:]: e for name, e in result["decode"].items() if name[1:].isdigit()}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        text(16, 18, f"{result['card']}: {result['config']}", "start", 13),
        *panel(70, "Prefill, tok/s", "prompt tokens", list(prefill), [("", AGGREGATE, list(prefill.values()))]),
        *panel(
            70 + PANEL,
            "Decode, tok/s",
            "simultaneous streams",
            list(streams),
            [
                ("aggregate", AGGREGATE, [e["aggregate"] for e in streams.values()]),
                ("per stream", PER_STREAM, [e["per_stream_mean"] for e in streams.values()]),
            ],
        ),
        text(16, HEIGHT - 8, f"{result['started']}, {result['status']}", "start", 10),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def write_plot(result, path):
    with open(path, "w") as f:
        f.write(draw(result))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1]) as source:
        write_plot(json.load(source), sys.argv[2])
