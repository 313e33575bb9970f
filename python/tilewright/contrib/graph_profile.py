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
    def mean(self):
        """Seconds of a run."""
        return _statistics.fmean(self.seconds)


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
    def mean(self):
        """Seconds of a run: those of the kernels and the overhead."""
        return _statistics.fmean(self.seconds)

    @property
    def overhead(self):
        """Seconds of a run outside kernels, those of taking the times included."""
        return self.mean - sum(k.mean for k in self.kernels)

    def __str__(self):
        return self.table()

    def table(self, width=None):
        """The kernels as text, the slowest first: means, shares, shortest times, and bytes read and written a second.

        width: columns; None for those of the terminal, or 80 where there is none.
        """
        from io import StringIO

        from rich.console import Console
        from rich.table import Table

        from ..cli.output import line_width, time_text

        table = Table(box=None, pad_edge=False, show_footer=True)
        table.add_column("kernel", footer=f"run ({len(self.seconds)} times)", overflow="fold")
        table.add_column("function", overflow="fold")
        for name, footer in (
                ("time", time_text(self.mean)), ("share", "100 %"), ("shortest", time_text(min(self.seconds))), ("GB/s", "")):
            table.add_column(name, footer=footer, justify="right", no_wrap=True)

        def share(seconds):
            return f"{100 * seconds / self.mean if self.mean > 0 else 0:.1f} %"

        for k in sorted(self.kernels, key=lambda k: -k.mean):
            rate = f"{(k.bytes_in + k.bytes_out) / k.mean / 1e9:.1f}" if k.mean > 0 else "-"
            table.add_row(k.name, k.function, time_text(k.mean), share(k.mean), time_text(min(k.seconds)), rate)
        table.add_row("between kernels", "", time_text(self.overhead), share(self.overhead), "", "")
        text = StringIO()
        width = width or line_width(_sys.stdout) or 80
        Console(file=text, width=width, color_system=None, markup=False, emoji=False).print(table)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())

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
        times = [k.mean for k in self.kernels]
        unit, factor = ("ms", 1e3) if max(times, default=0) >= 1e-3 else ("us", 1e6)
        rows = range(len(times))
        axes.barh(rows, [t * factor for t in times], color="#4477aa")
        axes.scatter([min(k.seconds) * factor for k in self.kernels], rows, marker="|", color="#222222", label="shortest")
        axes.margins(y=0.01)
        axes.legend(frameon=False, loc="lower right")
        axes.set_yticks(rows, [k.name if len(k.name) <= 48 else k.name[:47] + "…" for k in self.kernels], fontsize=8)
        axes.invert_yaxis()
        axes.set_xlabel(f"mean time of {len(self.seconds)} runs, {unit}")
        axes.set_title(f"{time_text(self.mean)} a run, {len(self.kernels)} kernels")
        axes.spines[["top", "right"]].set_visible(False)
        return figure

    def save_svg(self, path):
        """Writes `figure` as SVG."""
        self.figure().savefig(path, format="svg")

    def save_png(self, path):
        """Writes `figure` as PNG."""
        self.figure().savefig(path, format="png", dpi=150)
