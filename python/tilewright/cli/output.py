# SPDX-License-Identifier: Apache-2.0
"""How numbers, tables and JSON are written."""

import json
import math
import sys
import textwrap

from .. import _core

NARROW = 72  # columns that a table needs to show its numbers and something of the names


def duration(seconds):
    """1:23, or 1:02:03."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def time_text(seconds):
    """Three digits and a unit; "-" for none."""
    if seconds is None:
        return "-"
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{_digits(seconds * factor)} {unit}"
    return f"{_digits(seconds * 1e9)} ns"


def _digits(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def rate(gflops):
    return "-" if gflops is None else f"{gflops:.1f} GFLOP/s"


def number(value, text="{:.1f}"):
    return "-" if value is None else text.format(value)


def print_table(stream, names, rows):
    """Rows of texts under the names of their columns; the first column says what a row is about.

    A terminal that is too narrow for a table gets a paragraph a row.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    # Rows stay whole where nobody looks at a screen.
    console = Console(file=stream, width=None if stream.isatty() else 120, highlight=False)
    if console.width < NARROW:
        for first, *others in rows:
            parts = ", ".join(f"{name} {text}".replace(" ", "\0") for name, text in zip(names[1:], others))
            lines = textwrap.wrap(parts, max(console.width - 2, 10), break_long_words=False)
            stream.write("\n  ".join([first, *lines]).replace("\0", " ") + "\n")
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for k, name in enumerate(names):
        table.add_column(name, justify="left" if k == 0 else "right", overflow="fold", no_wrap=k > 0)
    for row in rows:
        table.add_row(*row)
    with console.capture() as capture:
        console.print(table)
    stream.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))


def rates(operations, seconds, peak):
    """(GFLOP/s, % of peak), None where there is no time."""
    if not seconds or math.isinf(seconds):
        return None, None
    flops = operations / seconds
    return flops / 1e9, 100 * flops / peak if peak > 0 else None


def write_json(value, path):
    text = json.dumps(value, indent=2) + "\n"
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    write_file(path, "w", text)


def write_file(path, mode, text):
    try:
        with open(path, mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        _core.raise_error("bad-argument", f"cannot write '{path}': {error.strerror}", "--json of a file that can be written")
