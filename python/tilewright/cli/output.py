# SPDX-License-Identifier: Apache-2.0
"""How numbers, tables and JSON are written."""

import json
import math
import os
import sys
import textwrap

from .. import _core


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


def line_width(stream):
    """Columns that lines may take: COLUMNS, or those of the terminal; None, no limit, where nobody looks at a screen."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    if not stream.isatty():
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def table_lines(names, rows, width):
    """The lines of a table: texts under the names of their columns, the first of which says what a row is about.

    That text is never broken while it fits into `width` (None: no limit): where it leaves no room for the others they stand
    on the line below. Where even the others do not fit into a line, each is written with the name of its column.
    """
    width = width or math.inf
    widths = [max(map(len, column)) for column in zip(names, *rows)]
    for gap in (2, 1):
        others = sum(widths[1:]) + gap * (len(widths) - 1)
        if widths[0] + others <= width:
            break
    first = min(widths[0], width - others)
    if first < len(names[0]):
        return _paragraphs(names, rows, width)

    def row(texts):
        figures = "".join(f"{text:>{columns + gap}}" for text, columns in zip(texts[1:], widths[1:]))
        if len(texts[0]) <= first:
            return [f"{texts[0]:{first}}{figures}"]
        return [*_wrapped(texts[0], width), " " * first + figures]

    lines = [*row(names), "─" * (first + others), *(line for texts in rows for line in row(texts))]
    return [line.rstrip() for line in lines]


def _wrapped(text, width):
    return [text] if len(text) <= width else textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _paragraphs(names, rows, width):
    lines = []
    for first, *others in rows:
        parts = [f"{name} {text}".strip() for name, text in zip(names[1:], others)]
        # A figure stays beside its name.
        parts = [part.replace(" ", "\0") if len(part) <= width - 3 else part for part in parts]
        lines += _wrapped(first, width)
        lines += textwrap.wrap(", ".join(parts), max(width, 12), initial_indent="  ", subsequent_indent="  ",
                               break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def print_table(stream, names, rows):
    """Writes what `table_lines` makes for the width of the stream."""
    stream.writelines(f"{line}\n" for line in table_lines(names, rows, line_width(stream)))


def peak_of(program, peak):
    """FLOP/s that arithmetic in a program's type can reach, of `peak` in float32: a register holds half as many float64."""
    return peak / 2 if any(tensor.dtype == "float64" for tensor in program.outputs) else peak


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
