"""The benchmark program of choices between our kernels and another code generator's, in Python as networks.py.

vendor.py STEP --folder=… --json=part.json, with a STEP of

  networks   --network=resnet18: all ours, all the vendor's, and as measured, on each of --threads, in one process
  partition  how long a graph of many nodes takes to partition
"""

from __future__ import annotations

import time
from types import SimpleNamespace

import networks
from vendor_tables import WAYS

VENDOR = "onednn"
# Of a residual block: seven that compute, and ten parameters.
NODES_OF_BLOCK = 17


class Contestant(networks.Ours):
    """The network, with the parts that `choose` says by the vendor."""

    def __init__(self, network, threads, choose, log):
        from tilewright import Target, byoc, compiler

        with compiler.build_config(opt_level=3), Target("llvm"), networks.records(log):
            parted = byoc.partition(network.symbol, VENDOR, network.shape, network.dtype, network.params, choose=choose, log=log)
        super().__init__(SimpleNamespace(**{**vars(network), "symbol": parted}), threads, log)


def contest(options) -> dict:
    import tilewright as tw
    from tilewright import byoc

    network = networks.network_of(options)
    contestants, measurements, choices, wrong = {}, [], {}, []
    for threads in options.threads:
        tw.set_num_threads(threads)
        start = time.monotonic()
        with tw.compiler.build_config(opt_level=3), tw.Target("llvm"), networks.records(options.log):
            found = byoc.choices(network.symbol, VENDOR, network.shape, network.dtype, network.params, log=options.log)
        seconds = time.monotonic() - start
        regions = [{"name": c.name, "depth": c.depth, "chosen": c.chosen, "seconds": c.seconds, "ratio": c.ratio} for c in found]
        choices[f"{network.name}/{threads}"] = {"seconds": seconds, "regions": regions}
        for way, choose in WAYS.items():
            contestant = Contestant(network, threads, choose, options.log)
            contestant.run()
            contestants[way, threads] = contestant
            expected, output = contestants["ours", threads].output(), contestant.output()
            apart = float(abs(output - expected).max() / abs(expected).max())
            if not apart <= networks.TOLERANCE:  # true for NaN too
                wrong.append({"name": f"{network.name}/{way}/{threads}", "difference": f"{apart:g}"})
                del contestants[way, threads]
    for (way, threads), samples in networks.time_interleaved(contestants, options.repetitions, options.seconds).items():
        measurements.append(networks.measurement(network.name, way, "run", threads, samples))
    return {"measurements": measurements, "facts": networks.facts() | {"choices": choices, "wrong": wrong}}


def partition(options) -> dict:
    """Residual blocks, as in networks, until there are so many nodes."""
    import tilewright as tw
    from tilewright import byoc
    from tilewright import symbol as sym

    net, k = sym.Variable("data"), 0
    while k * NODES_OF_BLOCK < options.nodes:
        block = net
        for part in ("a", "b"):
            block = sym.conv2d(block, channels=16, kernel_size=(3, 3), padding=(1, 1), use_bias=False, name=f"conv{k}{part}")
            block = sym.batch_norm(block, name=f"norm{k}{part}")
            block = sym.relu(block, name=f"relu{k}{part}")
        net = sym.elemwise_add(net, block, name=f"sum{k}")
        k += 1
    nodes = len(tw.graph.create(net).index.nodes)
    shape = {"data": (1, 16, 28, 28)}
    samples = []
    for _ in range(options.repetitions):
        start = time.perf_counter()
        byoc.partition(net, VENDOR, shape)
        samples.append(time.perf_counter() - start)
    measured = {"name": "partition", "unit": "s", "better": "lower", "samples": samples, "labels": {"nodes": nodes}}
    return {"measurements": [measured], "facts": {}}


STEPS = {"networks": contest, "partition": partition}


def main() -> None:
    networks.run_step(STEPS, {"--network": {}, "--folder": {}, "--nodes": {"type": int, "default": 2000}})


if __name__ == "__main__":
    main()
