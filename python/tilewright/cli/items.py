# SPDX-License-Identifier: Apache-2.0
"""What a command line names: workloads, and networks, which are as many kernels."""

import difflib
from typing import NamedTuple

from .. import _core, autotune
from ..compiler.build_config import BuildConfig
from ..autotune.network import CACHES, Network, is_network, kernels, load_network

# Tuned when nothing is named, besides the default workloads.
DEFAULT_NETWORK = "convnet"


class Item(NamedTuple):
    """What becomes one task. `calls`: how often its kernel runs, over all networks that have it. `caches`: see make_task."""

    label: str
    text: str
    shape: str
    program: object
    calls: int = 1
    caches: str = "hot"


class Items(NamedTuple):
    """items: each different program once. networks: those that were named. words: what names all of them again."""

    items: list
    networks: list
    words: list


def items_of(texts, target):
    """Items: of the texts of a command line, or the default set."""
    found, networks, words = {}, [], []

    def add(item):
        known = found.get(item.program.workload)
        if known:  # as networks run it, where one has it
            caches = known.caches if item.caches == "hot" else item.caches
            item = known._replace(calls=known.calls + item.calls, caches=caches)
        found[item.program.workload] = item

    for text in texts or [DEFAULT_NETWORK, *autotune.default_workloads()]:
        name, _, kernel = text.rpartition("/") if isinstance(text, str) else ("", "", "")
        if isinstance(text, str) and is_network(text):
            if text not in words:
                networks.append(load_network(text))
                words.append(text)
                for item in _kernels(networks[-1], target):
                    add(item)
            continue
        if is_network(name):
            add(_kernel(name, kernel, target))
            words.append(text)
            continue
        if isinstance(text, str):
            _refuse_misspelt(text)
        workload = autotune.parse_workload(text) if isinstance(text, str) else text
        if workload.program.workload not in found:
            words.append(workload.label)
        add(Item(workload.label, workload.text, workload.shape, workload.program))
    return Items(list(found.values()), networks, words)


def _refuse_misspelt(text):
    """Names the network that a text may have meant. Workloads have a colon, and parse_workload names their nearest."""
    from ..testing import zoo

    network = text.partition("/")[0]
    layers = {name.partition(":")[2] for name, *_ in autotune.named_workloads()}
    near = difflib.get_close_matches(network, zoo.NETWORKS, 1)
    if ":" not in text and text not in layers and near:
        _core.raise_error(
            "unknown-workload", f"there is no network '{network}'; the nearest is '{near[0]}'", ", ".join(zoo.NETWORKS))


def _kernels(network: Network, target):
    """list of Item: a network's kernels, called NETWORK/KERNEL."""
    found = kernels(network.graph, network.params, target, network.shape, network.dtype, BuildConfig.current().opt_level)
    return [Item(f"{network.name}/{k.name}", f"{network.name}/{k.name}", "", k.program, k.calls, CACHES) for k in found]


def _kernel(network, name, target):
    """Item: one kernel of a network, as a run of its own."""
    known = {item.label: item for item in _kernels(load_network(network), target)}
    if f"{network}/{name}" not in known:
        near = difflib.get_close_matches(f"{network}/{name}", known, 1)
        hint = f"; the nearest is '{near[0]}'" if near else ""
        _core.raise_error("unknown-workload", f"'{network}' has no kernel '{name}'{hint}", ", ".join(known))
    return known[f"{network}/{name}"]._replace(calls=1)
