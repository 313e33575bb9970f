# SPDX-License-Identifier: Apache-2.0
"""What a command line names: workloads, and networks, which are as many kernels."""

from typing import NamedTuple

from .. import autotune
from ..autotune.network import Network, is_network, kernels, load_network

# Tuned when nothing is named, besides the default workloads.
DEFAULT_NETWORK = "convnet"


class Item(NamedTuple):
    """What becomes one task. `calls`: how often its kernel runs, over all networks that have it."""

    label: str
    text: str
    shape: str
    program: object
    calls: int = 1


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
        found[item.program.workload] = known._replace(calls=known.calls + item.calls) if known else item

    for text in texts or [DEFAULT_NETWORK, *autotune.default_workloads()]:
        if isinstance(text, str) and is_network(text):
            network = load_network(text)
            if any(n.name == text for n in networks):
                continue
            networks.append(network)
            words.append(text)
            for kernel in _kernels(network, target):
                label = f"{text}/{kernel.name}"
                add(Item(label, label, "", kernel.program, kernel.calls))
            continue
        workload = autotune.parse_workload(text) if isinstance(text, str) else text
        if workload.program.workload not in found:
            words.append(workload.label)
        add(Item(workload.label, workload.text, workload.shape, workload.program))
    return Items(list(found.values()), networks, words)


def _kernels(network: Network, target):
    return kernels(network.graph, network.params, target, network.shape, network.dtype)
