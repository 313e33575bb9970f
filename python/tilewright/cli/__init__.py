# SPDX-License-Identifier: Apache-2.0
"""The `autotune` command.

Exit status: 0 when every workload has a verified schedule; 1 when one has none, or something of ours broke; 2 for bad
input; 130 after Ctrl-C, 143 after SIGTERM. No input gives a traceback, unless TILEWRIGHT_DEBUG=1 asks for it; a warning is a line
on standard error.
"""

import os
import signal
import sys
import warnings

__all__ = ["main", "program"]


def program():
    """What a shell starts: `main`, where Ctrl-C is an exit status at any moment and never a traceback."""
    signal.signal(signal.SIGINT, lambda number, _: os._exit(128 + number))
    for stream in (sys.stdout, sys.stderr):  # a name may hold what the terminal cannot show
        stream.reconfigure(errors="backslashreplace")
    status = main()
    # What was asked for is done. The interpreter takes its handlers down as it ends, and would die of a late signal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(status)


def main(argv=None):
    """Runs the command; returns its exit status."""
    from .. import _core

    named = _core.name_callers(False)
    try:
        from .command import run

        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: print(f"autotune: {_one_line(message)}", file=sys.stderr)
            return run(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `autotune --list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:  # noqa: BLE001  the last line of defence
        return _report(error)
    finally:
        _core.name_callers(named)


def _report(error):
    if os.environ.get("TILEWRIGHT_DEBUG", "") not in ("", "0"):
        raise error
    from ..error import UserError

    if isinstance(error, UserError):
        print(f"autotune: {_one_line(error)} [{error.code}]", file=sys.stderr)
        return 2
    kind = type(error).__name__
    print(f"autotune: {kind}: {_one_line(error)}; details in {_write_details()}", file=sys.stderr)
    return 1


def _one_line(error):
    return " ".join(str(error).split())


def _write_details():
    import tempfile
    import traceback

    try:
        with tempfile.NamedTemporaryFile("w", prefix="tilewright-", suffix=".txt", delete=False) as file:
            traceback.print_exc(file=file)
            return file.name
    except OSError:
        return "nothing, as no file could be written (TILEWRIGHT_DEBUG=1 prints them)"
