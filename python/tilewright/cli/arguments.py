# SPDX-License-Identifier: Apache-2.0
"""The arguments of the command, and how to type it."""

import argparse
import math
import os
import shlex
import sys

from .. import __version__
from ..autotune import MODELS, POLICIES

EPILOG = """\
examples:
  autotune --trials=64                               the default set
  autotune conv2d_bias_relu:resnet50.3 gemm:bert.ffn named layers, as of --list
  autotune gemm:m=128,n=3072,k=768 --trials=200      free sizes
  autotune resnet18 --trials=200                     all kernels of a network
  autotune network.json --trials=200                 the same of a saved graph
  autotune model.onnx:batch=1 --trials=200           of an ONNX model
  autotune --resume --trials=500                     go on where the log ends
  autotune resnet18 --vendor=onednn                  and what goes to oneDNN
  autotune --replay gemm:bert.ffn                    time the best of the log

Every trial is in the log as soon as it is known, so a run may be stopped at any
moment. Trials of earlier runs count towards --trials with --resume only; the
log keeps them in any case.

exit status: 0 every workload has a verified schedule; 1 one has none; 2 bad
input; 130 after Ctrl-C
"""


def _number(convert, least, what, exclusive=False, most=sys.float_info.max):
    def read(text):
        try:
            value = convert(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most or (exclusive and value == least):
            raise argparse.ArgumentTypeError(f"'{text}' is not {what}")
        return value

    return read


def _text(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not UTF-8") from None
    return text


_MOST = 2**31 - 1
NETWORK_LEVEL = 3  # at which layouts are altered for the target
_count = _number(int, 1, f"a whole number from 1 to {_MOST}", most=_MOST)


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="autotune", description="Searches the fastest schedules of tensor programs on this machine.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    add = parser.add_argument
    add("workloads", metavar="WORKLOAD", nargs="*", type=_text,
        help="kind:name[,size=value,...], kind:size=value,..., or a network; without any, a small set")
    add("--trials", metavar="N", type=_count, default=64, help="candidates to measure over all workloads (64)")
    add("--time-limit", metavar="SECONDS", type=_number(float, 0, "a number of seconds of at least 0"), default=0.0,
        help="stop after this time (0: never)")
    add("--log", metavar="FILE", default="tuning.db", help="where every trial is kept (tuning.db, here)")
    add("--seed", metavar="N", type=_number(int, 0, "a whole number of 64 bits", most=2**64 - 1), default=0,
        help="of search and data (0)")
    add("--resume", action="store_true", help="trials in the log count, and teach the model")
    add("--threads", metavar="N", type=_count, default=None,
        help="that kernels use (those of the machine)")
    add("--timeout", metavar="SECONDS", type=_number(float, 0, "a number of seconds above 0", exclusive=True),
        default=10.0, help="to compile, and to run, one candidate (10)")
    add("--json", metavar="FILE", help="write the result as JSON; - for standard output")
    add("--list", action="store_true", help="show the named workloads, and the kinds with their sizes")
    add("--replay", action="store_true", help="build and time the best schedules of the log, searching nothing")
    add("--target", metavar="TARGET", type=_text, default="llvm", help='such as "llvm -mcpu=znver4" (this machine)')
    add("--model", choices=MODELS, default="xgboost", help="what ranks candidates: %(choices)s (xgboost)")
    add("--policy", choices=POLICIES, default="evolutionary", help="what proposes candidates: %(choices)s (evolutionary)")
    add("--transfer", metavar="HOW", type=_text, default="auto",
        help="what the model knows at first: auto, log, shipped, none, or a model's file (auto)")
    add("--executor", metavar="KIND:ADDRESS", type=_text, default=None,
        help="where candidates are measured: dask:tcp://scheduler:8786, processes:N (this machine's cores in turn)")
    add("--vendor", metavar="CODEGEN", type=_text, default=None,
        help="such as onednn: which parts of the networks it computes faster than our kernels; kept in the log")
    add("--opt-level", metavar="N", type=int, choices=range(4), default=NETWORK_LEVEL,
        help="at which networks are built: their kernels are those of build_config(opt_level=N) (3)")
    add("--workers", metavar="N", type=_count, default=0, help="processes that compile (one per core)")
    add("--version", action="version", version=f"autotune {__version__}")
    # Options and workloads may stand in any order.
    return parser.parse_intermixed_args(argv)


def typed():
    """What the log keeps of the command line."""
    return shlex.join([program_name(), *sys.argv[1:]]).encode(errors="backslashreplace").decode()


def program_name():
    """How this program can be called from here: by name where the PATH finds it, otherwise by path."""
    import shutil

    path = sys.argv[0]
    if os.path.basename(path) not in ("autotune", "autotune.exe"):
        return f"{shlex.quote(os.path.relpath(sys.executable))} -m tilewright.cli"
    found = shutil.which("autotune")
    if found and os.path.realpath(found) == os.path.realpath(path):
        return "autotune"
    relative = os.path.relpath(path)
    return relative if not relative.startswith("../..") else path


def replay_command(named, target, threads, arguments):
    """What to type to build and time the best schedules of the log of these workloads and networks."""
    words = list(named)
    if arguments.target != "llvm":
        words += ["--target", arguments.target]
    if arguments.opt_level != NETWORK_LEVEL:
        words += ["--opt-level", str(arguments.opt_level)]
    return f"{program_name()} --replay {shlex.join(words + ['--threads', str(threads), '--log', arguments.log])}"
