# SPDX-License-Identifier: Apache-2.0
"""What is shown while tuning: a live display on a terminal, plain lines elsewhere."""

import collections
import os
import threading
import time

from .output import duration, peak_of, rate

NARROW = 72  # columns that the table needs to show its numbers and something of the names
ROWS = 8  # tasks shown at once


def make_progress(stream, workloads, tasks, peak, arguments):
    rewritable = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return (_Live if rewritable else _Lines)(stream, workloads, tasks, peak, arguments)


class _Progress:
    def __init__(self, stream, workloads, tasks, peak, arguments):
        self.stream = stream
        self.workloads = workloads
        self.tasks = tasks
        self.peak = peak
        self.time_limit = arguments.time_limit
        self.trials = arguments.trials
        self.trial = 0
        self.first_trial = None  # that this run made
        self.task = 0
        self.recent = []  # tasks, the last one last
        self.summaries = {}
        self.current = {}  # GFLOP/s of the last trial of each task, or the class of its failure
        self.start = time.monotonic()
        self.lock = threading.Lock()

    def event(self, event):
        """Called by the tuner, on its thread."""
        with self.lock:
            self.task, self.trial = event.task, event.trial
            self.trials = event.trials
            self.summaries[event.task] = event.summary
            if event.task in self.recent:
                self.recent.remove(event.task)
            self.recent.append(event.task)
            if event.record is not None:
                if self.first_trial is None:
                    self.first_trial = event.trial
                    self.start_of_trials = time.monotonic()
                r = event.record
                self.current[event.task] = self.gflops(event.task, r.median) if r.ok else r.error
        self.show(event)

    def gflops(self, task, seconds):
        return self.tasks[task].operations / seconds / 1e9 if seconds else None

    def best(self, task):
        summary = self.summaries.get(task)
        return self.gflops(task, summary.best_seconds) if summary and summary.best_seconds else None

    def percent(self, task, gflops):
        peak = peak_of(self.workloads[task].program, self.peak)
        return "" if gflops is None or peak <= 0 else f"{gflops * 1e11 / peak:.0f} %"

    def failures(self):
        total = collections.Counter()
        for summary in self.summaries.values():
            total.update(summary.failures)
        return total

    def eta(self):
        """Seconds that are left, as far as can be told; None before the second trial."""
        if self.first_trial is None or self.trial <= self.first_trial:
            return None
        now = time.monotonic()
        left = (now - self.start_of_trials) / (self.trial - self.first_trial) * (self.trials - self.trial)
        if self.time_limit > 0:
            left = min(left, max(0.0, self.start + self.time_limit - now))
        return left

    def title(self, task):
        workload = self.workloads[task]
        return f"{workload.label} ({workload.shape})" if workload.shape else workload.label

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def show(self, event):
        pass

    def note(self, text):
        pass


class _Lines(_Progress):
    """A line a trial."""

    def __enter__(self):
        for k in range(len(self.tasks)):
            self.write(f"task {k + 1}/{len(self.tasks)}: {self.title(k)}")
        return self

    def show(self, event):
        if event.record is None:
            return
        label = self.workloads[event.task].label
        head = f"[{event.trial:{len(str(event.trials))}}/{event.trials}] {label}"
        best = self.best(event.task)
        tail = f"best {rate(best)} ({self.percent(event.task, best)} of peak)" if best is not None else "none verified yet"
        if event.record.ok:
            self.write(f"{head}: {rate(self.current[event.task])}, {tail}")
        else:
            message = " ".join(event.record.message.split())[:120]
            self.write(f"{head}: {event.record.error}{': ' if message else ''}{message}, {tail}")

    def note(self, text):
        self.write(text)

    def write(self, line):
        try:
            print(line, file=self.stream, flush=True)
        except OSError:
            pass  # the reader went away; the log and the exit status still tell all


class _Live(_Progress):
    """A table that changes in place."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        from rich.console import Console
        from rich.live import Live

        self.notes = []
        self.console = Console(file=self.stream)
        self.live = Live(get_renderable=self.render, console=self.console, refresh_per_second=5, transient=True)

    def __enter__(self):
        self.live.start()
        return self

    def __exit__(self, *_):
        self.live.stop()

    def note(self, text):
        self.notes = [text]

    def render(self):
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        with self.lock:
            shown = sorted(self.recent[-ROWS:]) or [0]
            table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, expand=True)
            table.add_column("workload", no_wrap=True, overflow="ellipsis", ratio=1)
            names = ("best GF/s", "% peak", "now GF/s", "trials", "failed")
            if self.console.width < NARROW:
                names = names[:1]
            for name in names:
                table.add_column(name, justify="right", no_wrap=True)
            for k in shown:
                summary, now, best = self.summaries.get(k), self.current.get(k), self.best(k)
                cells = (
                    "" if best is None else f"{best:.1f}", self.percent(k, best).removesuffix(" %"),
                    "" if now is None else Text("failed", style="red") if isinstance(now, str) else f"{now:.1f}",
                    str(summary.trials if summary else 0), str(sum(summary.failures.values()) if summary else 0))
                label = Text(self.workloads[k].label, style="bold" if k == self.task else "")
                table.add_row(label, *cells[:len(names)])
            hidden = len(self.tasks) - len(shown)
            eta = self.eta()
            status = Table.grid(padding=(0, 1), expand=True)
            status.add_column(no_wrap=True)
            status.add_column(ratio=1)
            status.add_column(no_wrap=True)
            status.add_row(
                f"trial {self.trial}/{self.trials}", ProgressBar(total=max(1, self.trials), completed=self.trial),
                f"{duration(time.monotonic() - self.start)}, ETA {'-' if eta is None else duration(eta)}")
            failures = ", ".join(f"{name} {n}" for name, n in sorted(self.failures().items()))
            lines = [Text(self.title(self.task), overflow="ellipsis", no_wrap=True), table]
            if hidden > 0:
                lines.append(Text(f" and {hidden} more", style="dim"))
            lines += [status, Text(f"failures: {failures or 'none'}", overflow="ellipsis", no_wrap=True)]
            lines += [Text(note, style="yellow") for note in self.notes]
            return Group(*lines)
