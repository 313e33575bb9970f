# SPDX-License-Identifier: Apache-2.0
"""Where the time of a network goes: as a table, a picture, and a trace."""

import statistics as _statistics
import sys as _sys
from typing import NamedTuple as _NamedTuple

__all__ = ["Kernel", "Profile"]


class Kernel(_NamedTuple):
    """One node: seconds of each run, and bytes of the tensors that it reads and writes."""

    name: str
    function: str
    seconds: list
    bytes_in: int
    bytes_out: int

    @property
    def median(self):
        """Seconds of a run."""
        return _statistics.median(self.seconds)


class Profile:
    """The time of each kernel of a network; print it for a table.

    Attributes
    ----------
    kernels: list of Kernel
        In the order in which they run.
    seconds: list of float
        Of whole runs.
    """

    def __init__(self, native):
        self._native = native
        self.kernels = [Kernel(n.name, n.function, n.seconds, n.bytes_in, n.bytes_out) for n in native.nodes]
        self.seconds = native.seconds

    @property
    def median(self):
        """Seconds of a run."""
        return _statistics.median(self.seconds)

    @property
    def overhead(self):
        """Seconds of a run outside kernels, those of taking the times included."""
        inside = [sum(times) for times in zip(*(k.seconds for k in self.kernels))] or [0.0] * len(self.seconds)
        return _statistics.median(run - kernels for run, kernels in zip(self.seconds, inside))

    def __str__(self):
        return self.table()

    def table(self, width=None):
        """The kernels as text, the slowest first: medians, shares, and bytes read and written a second.

        width: columns; None for those of the terminal, or 80 where there is none.
        """
        from io import StringIO

        from rich.console import Console
        from rich.table import Table

        from ..cli.output import line_width, time_text

        table = Table(box=None, pad_edge=False, show_footer=True)
        total = self.median
        table.add_column("kernel", footer=f"run ({len(self.seconds)} times)", overflow="fold")
        table.add_column("function", overflow="fold")
        for name, footer in (("time", time_text(total)), ("share", "100 %"), ("GB/s", "")):
            table.add_column(name, footer=footer, justify="right", no_wrap=True)
        for k in self._slowest_first():
            rate = (k.bytes_in + k.bytes_out) / k.median / 1e9 if k.median > 0 else 0
            table.add_row(k.name, k.function, time_text(k.median), f"{_share(k.median, total):.1f} %", f"{rate:.1f}")
        table.add_row("between kernels", "", time_text(self.overhead), f"{_share(self.overhead, total):.1f} %", "")
        text = StringIO()
        Console(file=text, width=width or line_width(_sys.stdout) or 80, color_system=None).print(table)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())

    def _slowest_first(self):
        return sorted(self.kernels, key=lambda k: -k.median)

    def save_trace(self, path):
        """Writes trace events that ui.perfetto.dev and chrome://tracing open."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._native.trace_json())

    def figure(self):
        """A matplotlib Figure: a bar for each kernel, in the order in which they run, as long as its time."""
        from matplotlib.figure import Figure

        from ..cli.output import time_text

        figure = Figure(figsize=(8, 1.2 + 0.24 * len(self.kernels)), layout="constrained")
        axes = figure.subplots()
        longest = max((k.median for k in self.kernels), default=0)
        unit, factor = ("ms", 1e3) if longest >= 1e-3 else ("us", 1e6)
        quarters = [_quarters(k.seconds) for k in self.kernels]
        low = [(middle - first) * factor for first, middle, _ in quarters]
        high = [(last - middle) * factor for _, middle, last in quarters]
        rows = range(len(quarters))
        axes.barh(rows, [middle * factor for _, middle, _ in quarters], xerr=[low, high], color="#4477aa",
                  error_kw={"elinewidth": 1, "ecolor": "#222222"})
        axes.set_yticks(rows, [k.name if len(k.name) <= 48 else k.name[:47] + "…" for k in self.kernels], fontsize=8)
        axes.invert_yaxis()
        axes.set_xlabel(f"time, {unit} (median; the line is the middle half of {len(self.seconds)} runs)")
        axes.set_title(f"{time_text(self.median)} a run, {len(self.kernels)} kernels")
        axes.spines[["top", "right"]].set_visible(False)
        return figure

    def save_svg(self, path):
        """Writes `figure` as SVG."""
        self.figure().savefig(path, format="svg")

    def save_png(self, path):
        """Writes `figure` as PNG."""
        self.figure().savefig(path, format="png", dpi=150)


def _share(seconds, total):
    return 100 * seconds / total if total > 0 else 0


def _quarters(seconds):
    """The first quartile, the median and the third quartile."""
    return _statistics.quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else [seconds[0]] * 3
