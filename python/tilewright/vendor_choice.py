# SPDX-License-Identifier: Apache-2.0
"""Which parts of a network another code generator computes, decided by timing it against our kernels.

Each of the largest regions is cut into pieces where one value alone crosses. A few consecutive pieces are a part, a few of
those are one again, until one is the region; the regions, with what lies between them, are the network. From the pieces
upwards, each part is raced: all by our kernels, all by the code generator, and, where its own parts chose differently, as they
chose. So layouts that change at a border and threads that change hands cost what they will cost, and no network is slower than
the better of all ours and all theirs, as far as timing tells.

A round of races visits all parts of one height in the order of the network, so that each finds its constants as in a
network, evicted by what the others read; its inputs are written just before, as they are there.
"""

import contextlib
import logging
import os
import random
import statistics
import time
from typing import NamedTuple

from . import _core, nd
from .graph import Graph

_log = logging.getLogger(__name__)

# Parts that are one part on the next height.
ARITY = 4
# That the races of one height may take.
RACE_SECONDS = 4.0
# Fewer times bound no median at 95 % confidence.
LEAST_ROUNDS = 6
# Choices that were made in this process without a log, by key and kernels.
_made = {}


class Choice(NamedTuple):
    """How one part of a network is computed.

    Attributes
    ----------
    name: str
        The first of its composites and the last.
    composites: list of str
        The nodes that MergeComposite made.
    depth: int
        0 of the network, 1 of its parts, and so on.
    seconds: dict of str to float
        Medians of "ours", "vendor" and, where its own parts chose differently, "parts".
    ratio: (float, float, float) or None
        The vendor's time in parts of ours: median, and its bounds at 95 % confidence. None where it was not timed.
    parts_ratio: (float, float, float) or None
        That of "parts".
    chosen: str
        One of these ways. The vendor, where the upper bound of its ratio is below 1; the parts, where that is so of their
        ratio to the better of the others.
    message: str
        Why the vendor took no part.
    """

    name: str
    composites: list
    depth: int
    seconds: dict
    ratio: object
    parts_ratio: object
    chosen: str
    message: str

    def text(self, compiler):
        """str: "measured: onednn takes 0.87 (0.85 … 0.89) of our time, chosen: onednn", and of which part that is."""
        if self.ratio is None:
            return f"measured: {compiler} took no part in '{self.name}': {self.message}"
        chosen = {"ours": "our kernels", "vendor": compiler}.get(self.chosen, self.chosen)
        return f"measured: {compiler} takes {ratio_text(self.ratio)} of our time for '{self.name}', chosen: {chosen}"


def ratio_text(ratio):
    """str: "0.87 (0.85 … 0.89)"."""
    return "{:.2f} ({:.2f} … {:.2f})".format(*ratio)


class _Part:
    """Composites that are chosen together; `parts`: those that it is made of; `nodes`: what is timed, more than they where
    there are operators that no pattern took."""

    def __init__(self, ids, parts=(), nodes=None):
        self.ids, self.parts, self.nodes = ids, parts, nodes or ids
        self.key = self.kernels = self.choice = None

    def unsettled(self):
        """This part and all that it is made of, upwards, without those that are settled."""
        return [] if self.is_settled else [p for part in self.parts for p in part.unsettled()] + [self]

    @property
    def kept(self):
        """The composites that the vendor computes."""
        return {"ours": [], "vendor": self.ids, "parts": self.kept_by_parts()}[self.choice.chosen]

    def kept_by_parts(self):
        return [i for part in self.parts if part.choice for i in part.kept]

    @property
    def is_settled(self):
        """Whether all choices that decide about it are known."""
        return self.choice is not None and (self.choice.chosen != "parts" or all(p.is_settled for p in self.parts))


def _tree(pieces):
    parts = [_Part(ids) for ids in pieces]
    while len(parts) > 1:
        groups = [parts[k:k + ARITY] for k in range(0, len(parts), ARITY)]
        parts = [g[0] if len(g) == 1 else _Part([i for part in g for i in part.ids], g) for g in groups]
    return parts[0]


def _network(merged):
    """The part that is all of it. None where no pattern took anything."""
    regions = [_tree(pieces) for pieces in _core.graph_pieces(merged._native)]
    operators = [k for k, node in enumerate(merged.index.nodes) if node["op"] != "null"]
    if len(regions) == 1 and len(regions[0].ids) == len(operators):
        return regions[0]
    return _Part([i for region in regions for i in region.ids], regions, operators) if regions else None


class _Way:
    """One way to compute a part, built."""

    def __init__(self, graph, params, compiler, keeps):
        from . import byoc
        from .compiler.build_module import build_kernels
        from .contrib import graph_runtime

        if keeps:
            graph._set_json_attr("compiler", compiler)
            graph = byoc.partition_graph(graph.apply(["AnnotateTarget", "MergeCompilerRegions"]))
        shape, dtype = _types_of_inputs(graph)
        params = {name: params[name] for name in shape if name in params}
        shape = {name: s for name, s in shape.items() if name not in params}
        built, module, left, _ = build_kernels(graph, shape, dtype, params)
        called = [node["attrs"].get("func_name", "") for node in built.index.nodes if node["op"] == "tvm_op"]
        self.is_refused = keeps and not any(name.startswith(f"{compiler}_") for name in called)
        self._executor = graph_runtime.create(built, module, params=left)
        self._inputs = {name: _random_values(self._executor.get_input(name)) for name in shape if name in built.index.input_names}

    def run(self):
        for name, values in self._inputs.items():
            self._executor.set_input(name, values)
        start = time.perf_counter()
        self._executor.run()
        return time.perf_counter() - start


def _types_of_inputs(graph):
    from .compiler import graph_util

    names = graph.index.input_names
    shapes, types = graph_util.infer_shape(graph)[0], graph_util.infer_dtype(graph)[0]
    return (dict(zip(names, map(tuple, shapes), strict=True)), {n: t or "float32" for n, t in zip(names, types, strict=True)})


def _random_values(array):
    import numpy

    values = array.numpy()
    return nd.array(numpy.random.default_rng(0).uniform(-1, 1, values.shape).astype(values.dtype))


class Chooser:
    """The choices of one network, made or looked up.

    Parameters
    ----------
    graph: Graph
        With shapes and types.
    compiler: str
    params: dict of str to NDArray
    log: str, optional
        The tuning log that has choices, and keeps new ones; by default that of `autotune.apply_best`, else none. Without
        `apply_best`, our kernels are built from it too.
    """

    def __init__(self, graph, compiler, params=None, log=None):
        from .autotune import apply_best

        self._best = apply_best._innermost()
        self.log = os.fspath(log) if log is not None else self._best.log.path if self._best else None
        self._compiler, self._params = compiler, dict(params or {})
        self._version = _core.codegen_version(compiler)
        merged = graph.apply("MergeComposite")
        merged = _with_types(merged, self._params)
        self._merged = merged
        self._names = [node["name"] for node in merged.index.nodes]
        self._network = _network(merged)
        self._reader = None

    # ---- what is known

    def look_up(self):
        """Takes choices from the log, as far as they decide. Returns whether all are there."""
        with self._building():
            return self._network is None or self._look_up([self._network])

    def _look_up(self, parts):
        for part in parts:
            self._find(part)
            if part.choice is None or part.choice.chosen == "parts":
                self._look_up(part.parts)
        return all(part.is_settled for part in parts)

    def _find(self, part):
        if part.choice is not None:
            return
        self._describe(part)
        if self.log is None:
            part.choice = _made.get(self._made_key(part))
            return
        if self._reader is None and os.path.exists(self.log):
            from .autotune.log import log_file

            self._reader = log_file(self.log, False)
        if self._reader is not None:
            part.choice, damaged = _core.find_vendor_choice(self._reader, part.key, part.kernels)
            for line in damaged:
                _log.warning("%s", line)

    def _made_key(self, part):
        return (*self._facts(part.key.program), tuple(sorted(part.kernels.items())))

    def _facts(self, program):
        from .target import _resolve

        threads = self._best.threads if self._best is not None and self._best.threads else _core.num_threads()
        return program, self._compiler, self._version, str(_resolve(None)), threads

    def _describe(self, part):
        """Sets the key of a part, and which of our kernels would compute it."""
        if part.key is not None:
            return
        whole = Graph(_core.graph_of_part(self._merged._native, part.nodes, set(part.ids))).apply(["InferShape", "InferType"])
        part.key = _core.VendorKey(*self._facts(_core.graph_part_hash(whole._native, set(self._params))))
        part.kernels = self._kernels_of(part)

    def _kernels_of(self, part):
        """dict of str to int: the workloads of our kernels, and the records that say their schedules; 0: the prior."""
        from .autotune import apply_best
        from .autotune.network import CACHES
        from .compiler.build_module import prepare

        graph = self._graph_of(part, [])
        shape, dtype = _types_of_inputs(graph)
        params = {name: self._params[name] for name in shape if name in self._params}
        partitioned, params, _ = prepare(graph, {n: s for n, s in shape.items() if n not in params}, dtype, params)
        best, found = apply_best._innermost(), {}
        _, _, _, target, threads = self._facts("")
        for _, _, program in _core.graph_kernels_to_be(partitioned._native, set(params)):
            record = best.log.best(program.workload, target, threads, CACHES) if best else None
            found[program.workload] = record.id if record else 0
        return found

    def _graph_of(self, part, kept):
        return Graph(_core.graph_of_part(self._merged._native, part.nodes, set(kept)))

    @contextlib.contextmanager
    def _building(self):
        """Our kernels are those of the active log, or of this one."""
        from .autotune import apply_best

        if self._best is None and self.log is not None and os.path.exists(self.log):
            with apply_best(self.log):
                yield
        else:
            yield

    # ---- what is measured

    def measure(self):
        """Makes the choices that are missing, each in the log as soon as it is made."""
        if self.look_up():
            return
        writer = None
        if self.log is not None:
            from .autotune.log import log_file

            writer = log_file(self.log, True)  # another writer is refused before anything is timed
            self._reader = None  # of an older log it was a copy
        with self._building():
            heights = {}
            for part in self._network.unsettled():
                heights.setdefault(_height(part), []).append(part)
            for _, level in sorted(heights.items()):
                self._measure_level(level, writer)

    def _measure_level(self, level, writer):
        races = {}
        for part in level:
            self._find(part)
            if part.choice is None and self._made_key(part) not in races:
                races[self._made_key(part)] = self._race_of(part)
        run_races(list(races.values()), lambda race: self._keep(race, writer))
        for part in level:
            self._find(part)

    def _race_of(self, part):
        ways = {"ours": self._built(part, []), "vendor": self._built(part, part.ids)}
        mixed = part.kept_by_parts()
        if 0 < len(mixed) < len(part.ids):
            ways["parts"] = self._built(part, mixed)
        message = ""
        if ways["vendor"].is_refused:
            message = "its build was refused"
            ways = {"ours": ways["ours"]}
        return PartRace(part, ways, message)

    def _built(self, part, kept):
        return _Way(self._graph_of(part, kept), self._params, self._compiler, bool(kept))

    def _keep(self, race, writer):
        part = race.part
        choice = _core.VendorChoice(part.key, self._name(part), part.kernels, race.seconds, race.message)
        if writer is not None:
            _core.append_vendor_choice(writer, choice)
        else:
            _made[self._made_key(part)] = choice
        part.choice = choice

    def _name(self, part):
        first, last = self._names[part.ids[0]], self._names[part.ids[-1]]
        return first if first == last else f"{first} … {last}"

    # ---- what comes of it

    def kept(self):
        """list of int: the composites that the code generator computes, as numbers of nodes."""
        return self._network.kept if self._network else []

    def partitioned(self):
        """The graph with marks around what the code generator computes."""
        kept = set(self.kept())
        graph = Graph(_core.keep_composites(self._merged._native, kept))
        if not kept:
            return graph  # in which AnnotateTarget would look for instances itself
        graph._set_json_attr("compiler", self._compiler)
        return graph.apply(["AnnotateTarget", "MergeCompilerRegions"])

    def choices(self):
        """list of Choice: those that decide, each in front of those of its parts. Unknown ones are left out."""
        found = []

        def add(part, depth):
            c = part.choice
            if c is None:
                return
            found.append(Choice(
                self._name(part), [self._names[i] for i in part.ids], depth,
                {way: statistics.median(times) for way, times in c.seconds.items() if times},
                c.ratio("vendor", "ours"), c.ratio("parts", "ours"), c.chosen, c.message))
            if c.chosen == "parts":
                for inner in part.parts:
                    add(inner, depth + 1)

        if self._network:
            add(self._network, 0)
        return found

    def explanations(self):
        """dict of str to str: of each node of a composite the choice that decided about it, for people."""
        by_composite = {}
        for choice in self.choices():
            for name in choice.composites:
                by_composite[name] = f"; {choice.text(self._compiler)}"
        return {
            node["name"]: by_composite.get(name, "; not measured")
            for name, body in self._merged.functions().items() for node in body.index.nodes if node["op"] != "null"}


def _with_types(graph, params):
    graph._set_json_attr("param_name_list", list(params), "list_str")
    return graph.apply(["InferShape", "InferType"])


def _height(part):
    return 1 + max(map(_height, part.parts)) if part.parts else 0


class PartRace:
    """The ways of one part, raced.

    Parameters
    ----------
    part: object
        Whatever the caller knows it by.
    ways: dict of str to object
        By name, with a method `run` that gives seconds.
    message: str
        Why others take no part.

    Attributes
    ----------
    seconds: dict of str to list of float
        Of each way, one of each round that it was in.
    """

    def __init__(self, part, ways, message=""):
        self.part, self.message = part, message
        self._ways = list(ways.values())
        self._race = _core.Race(len(ways))
        self.seconds = {name: [] for name in ways}
        self._times = list(self.seconds.values())

    @property
    def _rounds(self):
        return max(map(len, self._times))

    @property
    def is_over(self):
        return len(self._ways) < 2 or (not self._race.running and self._rounds >= LEAST_ROUNDS)

    def run_once(self, shuffle):
        """Runs each way that is still in the race once, in any order, and times it. When it is over one runs all the same,
        for what it does to caches."""
        if self.is_over:
            self._ways[0].run()
            return
        running = self._race.running
        order = list(range(len(self._ways))) if self._rounds < LEAST_ROUNDS else list(running)
        shuffle(order)
        for k in order:
            self._times[k].append(self._ways[k].run())
        if running:
            self._race.add([self._times[k][-1] for k in running])

    def warm_up(self):
        """Wakes threads, and has memory there."""
        for way in self._ways:
            way.run()


def run_races(races, keep, seconds=RACE_SECONDS, clock=time.monotonic):
    """Runs races side by side, until all are over or the time is spent; `keep` is told of each that is over, at once."""
    shuffle = random.Random(0).shuffle
    for race in races:
        race.warm_up()
    waiting, start = list(races), clock()
    while waiting:
        spent = clock() - start >= seconds
        for race in [r for r in waiting if r.is_over or spent]:
            keep(race)
            waiting.remove(race)
        if waiting:
            for race in races:
                race.run_once(shuffle)
