# SPDX-License-Identifier: Apache-2.0
"""Which parts of a network another code generator computes: measured, kept in the log, and shown."""

from .. import _core
from .networks import Timed, best_of, take_turns
from .output import print_table, time_text


def require_vendor(vendor, networks, replay):
    """Refuses what cannot be done before anything is tuned: no such code generator, no library, no network."""
    _core.codegen_version(vendor)
    if replay:
        _core.raise_error("bad-argument", "--vendor with --replay", "--vendor in a run that tunes; --trials=1 is the least")
    if not networks:
        _core.raise_error("bad-argument", "--vendor without a network", "a network beside it: autotune resnet18 --vendor=" + vendor)


def choose_parts(network, vendor, target, threads, log):
    """What is reported of a network's choices, as JSON: a row each, and the network without them and with them."""
    from .. import byoc

    before = _core.num_threads()
    _core.set_num_threads(threads)
    try:
        given = {"shape": network.shape, "dtype": network.dtype, "params": network.params}
        with target, best_of(log, threads):
            choices = byoc.choices(network.graph, vendor, **given)
            graph = byoc.partition(network.graph, vendor, choose="measured", **given)
        ours, chosen = Timed(network, target, threads, log), Timed(network._replace(graph=graph), target, threads, log)
        take_turns(ours, chosen)
    finally:
        _core.set_num_threads(before)
    return {"network": network.name, "vendor": vendor, "ours_seconds": ours.seconds, "seconds": chosen.seconds,
            "regions": [_row(choice) for choice in choices]}


def _row(choice):
    return {"region": choice.name, "depth": choice.depth, "composites": choice.composites,
            "ours_seconds": choice.seconds.get("ours"), "vendor_seconds": choice.seconds.get("vendor"),
            "parts_seconds": choice.seconds.get("parts"), "ratio": choice.ratio, "parts_ratio": choice.parts_ratio,
            "chosen": choice.chosen, "message": choice.message}


def print_choices(result, stream):
    """A table: the network, and its parts where these were chosen one by one."""
    from ..vendor_choice import ratio_text

    vendor = result["vendor"]

    def chosen(row):
        return row["message"] or {"vendor": vendor}.get(row["chosen"], row["chosen"])

    print_table(stream, (f"{result['network']}, {vendor}", "ours", vendor, "ratio", "chosen"), [
        ("  " * row["depth"] + row["region"], time_text(row["ours_seconds"]), time_text(row["vendor_seconds"]),
         ratio_text(row["ratio"]) if row["ratio"] else "", chosen(row)) for row in result["regions"]]
        + [("the network, ours alone and as chosen", time_text(result["ours_seconds"]), time_text(result["seconds"]), "", "")])
