# SPDX-License-Identifier: Apache-2.0
"""A matrix product in seven schedules, from the loop nest as written to the machine's limit.

The schedules that docs/fast_gemm.md explains, and what measures them:

    ./tw python docs/fast_gemm.py                          every step at 1024×1024×1024 on one thread
    ./tw python docs/fast_gemm.py --threads 1,4 --size 128,3072,768 --size 1023,1025,1021
    ./tw python docs/fast_gemm.py --step registers --show asm     the inner loop of one step; --show ir: its loops
"""

import argparse
import os
import re

import numpy as np
import tilewright as tw
from tilewright import te


def product(m, n, k, weights):
    """C = A·B in float32. weights: B is known when the kernel is built."""
    A = te.placeholder((m, k), name="A")
    B = te.placeholder((k, n), name="B", constant=weights)
    r = te.reduce_axis((0, k), name="k")
    return A, B, te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")


class Machine:
    """What the schedules adapt to."""

    def __init__(self, target, threads=1, l2_bytes=2 << 20):
        model = tw.Target(target).model
        self.lanes = model.vector_bits // 32
        self.registers = model.vector_registers
        self.threads = threads
        self.l2_bytes = l2_bytes


def register_tile(m, n, machine):
    """(rows, vectors) of sums that stay in registers, three quarters of them: the shape that computes least beside C."""
    sums = machine.registers * 3 // 4
    # The rest must do for the vectors of B and an element of A.
    possible = [vectors for vectors in (3, 4, 2) if sums + vectors + 1 <= machine.registers]

    def area(vectors):
        rows, columns = sums // vectors, vectors * machine.lanes
        return -(-m // rows) * rows * -(-n // columns) * columns

    vectors = min(possible, key=area)
    return sums // vectors, vectors


# ----------------------------------------------------------------------------------------------------------------------
# The steps. Each takes the tensors and the machine, and gives a schedule.


def naive(A, B, C, machine):
    """The loop nest as written."""
    return te.create_schedule(C.op)


def tiled(A, B, C, machine):
    """Tiles of C, and k outside the rows of a tile, so that B is read along its rows."""
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    io, jo, ii, ji = s[C].tile(i, j, 32, 64)
    s[C].reorder(io, jo, s[C].op.reduce_axis[0], ii, ji)
    return s


def vectorized(A, B, C, machine):
    """The same, the columns of a tile in vectors."""
    s = tiled(A, B, C, machine)
    s[C].vectorize(s[C].leaf_iter_vars[-1])
    return s


def tile_in_registers(s, A, B, C, machine):
    """The output's loops (rows, columns, tile's rows, vectors, lanes) and the stage that sums one tile inside them."""
    m, n = (int(e) for e in C.shape)
    rows, vectors = register_tile(m, n, machine)
    sums = s.cache_write(C, "local")
    i, j = s[C].op.axis
    io, ii = s[C].split(i, rows)
    jo, ji = s[C].split(j, vectors * machine.lanes)
    jv, jl = s[C].split(ji, machine.lanes)
    s[C].unroll(ii)
    s[C].unroll(jv)
    s[C].vectorize(jl)
    return sums, io, jo, (ii, jv, jl)


def sum_in_registers(s, sums, at, C, machine):
    s[sums].compute_at(s[C], at)
    i, j = s[sums].op.axis
    k = s[sums].op.reduce_axis[0]
    v, l = s[sums].split(j, machine.lanes)
    s[sums].reorder(k, i, v, l)
    s[sums].unroll(i)
    s[sums].unroll(v)
    s[sums].vectorize(l)
    return k


def registers(A, B, C, machine):
    """The sums of a tile stay in registers over all of k."""
    s = te.create_schedule(C.op)
    sums, io, jo, inner = tile_in_registers(s, A, B, C, machine)
    s[C].reorder(jo, io, *inner)
    sum_in_registers(s, sums, io, C, machine)
    return s


def pack(s, B, sums, columns):
    """B in panels as wide as a tile, one after the other; padded at the end."""
    panels = s.cache_read(B, "global", [sums])
    s[panels].transform_layout(s[panels].op.axis[1], columns, [1, 0, 2])
    return panels


def packed(A, B, C, machine):
    """B lies in panels as wide as a tile, packed once, when the kernel is built."""
    s = te.create_schedule(C.op)
    sums, io, jo, inner = tile_in_registers(s, A, B, C, machine)
    s[C].reorder(jo, io, *inner)
    sum_in_registers(s, sums, io, C, machine)
    m, n = (int(e) for e in C.shape)
    s[pack(s, B, sums, register_tile(m, n, machine)[1] * machine.lanes)].precompute()
    return s


def ahead(A, B, C, machine):
    """While a panel is multiplied the next one is fetched, and with each tile the rows of the next."""
    return blocked(A, B, C, machine, parallel=False)


def parallel(A, B, C, machine):
    """Blocks of rows and panels of columns are dealt to the threads."""
    return blocked(A, B, C, machine, parallel=True)


def blocked(A, B, C, machine, parallel):
    s = te.create_schedule(C.op)
    sums, io, jo, inner = tile_in_registers(s, A, B, C, machine)
    (m, n), k_extent = (int(e) for e in C.shape), int(A.shape[1])
    rows, vectors = register_tile(m, n, machine)
    tiles, panels = -(-m // rows), -(-n // (vectors * machine.lanes))
    # As many blocks of rows as it takes for a block's part of A to fit half of L2, and for even work.
    fit = min(-(-m * k_extent * 4 // (machine.l2_bytes // 2)), tiles)
    threads = machine.threads if parallel else 1
    blocks = min(range(fit, min(4 * fit, tiles) + 1), key=lambda b: (idle(panels * b, threads) > 0.05, b))
    block, i = s[C].split(io, -(-tiles // blocks))
    panels_first = fit == 1
    order = (jo, block) if panels_first else (block, jo)
    s[C].reorder(*order, i, *inner)
    unit = s[C].fuse(*order)
    if parallel:
        s[C].parallel(unit)
    k = sum_in_registers(s, sums, i, C, machine)
    panel = pack(s, B, sums, vectors * machine.lanes)
    s[panel].precompute()
    s[sums].prefetch_ahead(k, panel, s[C], unit, blocks if panels_first else 1)
    s[sums].prefetch_ahead(k, A, s[C], i)
    return s


def idle(units, threads):
    """The part of all threads' time that is lost while the last of them work."""
    busy = -(-units // threads) * threads
    return (busy - units) / busy


STEPS = {f.__name__: f for f in (naive, tiled, vectorized, registers, packed, ahead, parallel)}
WEIGHTS = ("packed", "ahead", "parallel")  # whose B is known when the kernel is built
PARALLEL = ("parallel",)  # that can use more than one thread


class Kernel:
    """One step for one size, built."""

    def __init__(self, step, m, n, k, threads=1, target="llvm", seed=0, partition=True):
        self.step, self.size, self.threads = step, (m, n, k), threads
        rng = np.random.default_rng(seed)
        self.a, self.b = (rng.uniform(-1, 1, shape).astype("float32") for shape in ((m, k), (k, n)))
        self.c = np.full((m, n), np.nan, "float32")
        weights = step in WEIGHTS
        tensors = product(m, n, k, weights)
        A, B, _ = tensors
        self.schedule = STEPS[step](*tensors, Machine(target, threads))
        self.arguments = [self.a, self.c] if weights else [self.a, self.b, self.c]
        with tw.transform.PassContext(config={"partition_const_loop": partition}):
            self.lowered = tw.lower(self.schedule, list(tensors), simple_mode=True)
            self.module = tw.build(self.schedule, list(tensors), target=target, constants={B: self.b} if weights else None)

    def run(self):
        self.module(*self.arguments)

    def error(self):
        """The largest difference from NumPy, relative to the largest element."""
        expected = self.a @ self.b
        return float(np.abs(self.c - expected).max() / np.abs(expected).max())

    def seconds(self, budget):
        """Of one run, the shortest of some that take about `budget` seconds together, of one where that takes longer."""
        tw.runtime.set_num_threads(self.threads)
        once = self.module.time_evaluator(number=1, repeat=1)(*self.arguments).min
        if once > budget:
            return once
        return self.module.time_evaluator(number=1, repeat=3, min_repeat_ms=1000 * budget / 3)(*self.arguments).min

    def inner_loop(self):
        """The instructions of the innermost loop with the most multiplications."""
        return inner_loop(self.module.get_source("asm"))


def inner_loop(assembly):
    """The lines of the innermost loop that multiplies most."""
    lines = [line.split("#")[0].rstrip() for line in assembly.splitlines()]
    lines = [line for line in lines if line and not re.match(r"\s*\.(?!L\w+:)", line)]
    labels = {line[:-1]: at for at, line in enumerate(lines) if line.endswith(":")}
    best, most = [], 0
    for at, line in enumerate(lines):
        jump = re.match(r"\s+j\w+\s+(\S+)", line)
        begin = labels.get(jump.group(1), at) if jump else at
        body = lines[begin + 1 : at + 1]
        if begin >= at or any(re.match(r"\s+j", inner) for inner in body[:-1]):
            continue
        multiplications = sum("fmadd" in inner or "mulps" in inner or "mulss" in inner for inner in body)
        if multiplications > most:
            best, most = body, multiplications
    return best


def counts(loop):
    """What stands in a loop: multiplications, loads of vectors or elements, stores, and touches of the stack."""
    multiply = [line for line in loop if re.search(r"fmadd|mul[ps]s", line)]
    memory = [line for line in loop if re.search(r"\(%r|\(,", line) and "lea" not in line and "prefetch" not in line]
    stores = [line for line in memory if re.search(r"mov\w*\s+%[xyz]mm\d+, ?[^%]", line)]
    return {
        "fma": len(multiply),
        "loads": len(memory) - len(stores),
        "stores": len(stores),
        "stack": sum("(%rsp" in line for line in loop),
    }


def measure(sizes, threads, steps, budget, rounds=7):
    """Rows (size, step, threads, FLOP/s, part of the peak, counts).

    Steps take turns, and the peak is measured between them, since clocks change with time and work. A step's rate is
    that of its best turn, so that what else runs on the machine counts little.
    """
    rows = []
    for size in sizes:
        for count in threads:
            kernels = [Kernel(step, *size, threads=count) for step in steps if count == 1 or step in PARALLEL]
            for kernel in kernels:
                kernel.run()
                if not kernel.error() < 1e-4:
                    raise SystemExit(f"{kernel.step} {size}: wrong by {kernel.error()}")
            seconds, peaks = dict.fromkeys(kernels, np.inf), []
            for turn in range(rounds):
                for kernel in kernels:
                    if turn == 0 or seconds[kernel] < budget:  # one run of a slow one is enough
                        seconds[kernel] = min(seconds[kernel], kernel.seconds(budget / rounds))
                    peaks.append(tw.autotune.fma_peak(threads=count, seconds=0.01))
            for kernel in kernels:
                rate = 2 * np.prod(size, dtype=float) / seconds[kernel]
                rows.append((size, kernel.step, count, rate, rate / float(np.median(peaks)), counts(kernel.inner_loop())))
    return rows


def print_table(rows):
    print(f"{'':>16} {'':<11} {'':>7} {'':>8} {'':>7} | in the inner loop")
    print(f"{'size':>16} {'step':<11} threads  GFLOP/s of peak | mults loads stores stack")
    for size, step, threads, rate, part, c in rows:
        text = "×".join(map(str, size))
        print(f"{text:>16} {step:<11} {threads:>7} {rate / 1e9:>8.1f} {part:>7.2f} | "
              f"{c['fma']:>5} {c['loads']:>5} {c['stores']:>6} {c['stack']:>5}")


def positive(count):
    """Reads so many whole numbers above 0, with commas between them; None: any number of them."""

    def read(text):
        numbers = tuple(map(int, text.split(",")))
        if min(numbers) < 1 or count not in (None, len(numbers)):
            raise ValueError
        return numbers

    read.__name__ = "numbers"  # what argparse calls it
    return read


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", action="append", type=positive(3), metavar="M,N,K", help="a size; may be given again (1024,1024,1024)")
    parser.add_argument("--threads", type=positive(None), default=(1,), help="numbers of threads: 1,4")
    parser.add_argument("--step", action="append", choices=STEPS, help="a step; may be given again (all)")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each step (0.5)")
    parser.add_argument("--show", choices=("asm", "ir"), help="the inner loop or the loops, and no times")
    options = parser.parse_args()
    sizes = options.size or [(1024, 1024, 1024)]
    steps = options.step or list(STEPS)
    if options.show:
        for size in sizes:
            for step in steps:
                kernel = Kernel(step, *size)
                print(f"{step} {'×'.join(map(str, size))}")
                print("\n".join(kernel.inner_loop()) if options.show == "asm" else kernel.lowered)
        return
    print(f"{os.cpu_count()} CPUs, peak of one {tw.autotune.fma_peak(threads=1) / 1e9:.1f} GFLOP/s")
    print_table(measure(sizes, options.threads, steps, options.seconds))


if __name__ == "__main__":
    main()
