// SPDX-License-Identifier: Apache-2.0
#include "autotune/prior.h"

#include <algorithm>
#include <cmath>

#include "runtime/machine.h"

namespace tw::autotune {
namespace {

constexpr double kClock = 2.5e9;
constexpr double kArithmeticPerCycle = 2;   // vector operations issued a cycle
constexpr double kLoadsPerCycle = 2;
constexpr double kChain = 8;                // independent accumulators that hide an fma's latency
constexpr double kDivideCycles = 8, kMathCycles = 20;
constexpr double kGatherCycles = 1.5;       // an element of a strided vector access
constexpr double kLoopCycles = 2;
constexpr double kForkCycles = 5000;
constexpr double kLineBytes = 64;
constexpr double kUsableCache = 0.75;       // of a cache's size, before conflicts

// The innermost loops whose bodies stand side by side in one piece of straight code.
struct RegisterTile {
  size_t depth;          // the first of those loops
  double instances = 1;  // copies of the statement, counting one a vector
  double lanes = 1;      // elements an instruction works on
  double efficiency = 1; // of lanes used, when the extent is no multiple
};

RegisterTile register_tile(const NestStatement& s, const MachineModel& machine) {
  RegisterTile tile{.depth = s.loops.size()};
  const double width = double(machine.vector_bits) / std::max<int>(8, s.dtype.bits);
  double unrolled = 1;
  while (tile.depth > 0) {
    const NestLoop& loop = s.loops[tile.depth - 1];
    const double extent = double(loop.extent);
    if (loop.kind == ForKind::Vectorized) {
      const double vectors = std::ceil(extent / width);
      tile.lanes = std::min(width, extent);
      tile.efficiency = extent / (vectors * width);
      tile.instances *= vectors;
    } else if (loop.kind == ForKind::Unrolled || extent == 1) {
      tile.instances *= extent;
      unrolled *= extent;
    } else if (loop.kind == ForKind::Serial && unrolled * extent <= double(s.auto_unroll_max_step)) {
      tile.instances *= extent;
      unrolled *= extent;
    } else {
      break;
    }
    --tile.depth;
  }
  return tile;
}

double extents_outside(const NestStatement& s, size_t depth) {
  double n = 1;
  for (size_t l = 0; l < depth; ++l) n *= double(s.loops[l].extent);
  return n;
}

// How often the loops just outside the tile run over the same accumulators.
double accumulator_reuse(const NestStatement& s, size_t depth) {
  double n = 1;
  while (depth > 0 && s.loops[depth - 1].reduces) n *= double(s.loops[--depth].extent);
  return n;
}

double arithmetic_slots(const OperationCounts& c) {
  return c.add + c.multiply - c.fused + c.compare + c.select + c.convert +
         kArithmeticPerCycle * (c.divide * kDivideCycles + c.math * kMathCycles);
}

// Load instructions for one tile of an access.
double tile_loads(const Access& a, const NestStatement& s, const RegisterTile& tile) {
  const double elements = a.elements[tile.depth];
  if (tile.lanes == 1) return elements;
  const int64_t stride = a.strides.back();
  if (stride == 1) return std::max(1.0, elements / (tile.lanes * tile.efficiency));
  if (stride == 0) return elements;  // a broadcast, folded into the operation
  return elements * kGatherCycles * kLoadsPerCycle +
         (a.is_store ? elements : 0) * double(s.loops.empty() ? 0 : 1);
}

void add_traffic(const NestStatement& s, const MachineModel& machine, StatementCost& cost) {
  for (int level = 0; level < 3; ++level) {
    // The outermost depth whose whole working set stays in this cache: what is inside is fetched
    // once for each run of it.
    size_t depth = s.loops.size();
    for (size_t d = 0; d <= s.loops.size(); ++d) {
      double bytes = 0;
      for (const Access& a : s.accesses) bytes += a.lines[d] * kLineBytes;
      if (bytes <= kUsableCache * machine.cache_bytes[level]) {
        depth = d;
        break;
      }
    }
    const double runs = extents_outside(s, depth);
    for (const Access& a : s.accesses) {
      const double whole = a.allocated_elements * a.element_bytes;
      // A small buffer that the next level holds anyway costs only its first use.
      if (a.is_local && whole <= kUsableCache * machine.cache_bytes[level]) continue;
      cost.traffic[level] += a.lines[depth] * kLineBytes * runs;
    }
  }
}

}  // namespace

MachineModel machine_model(const Target& target, int threads) {
  MachineModel m{.vector_bits = target.vector_bits,
                 .vector_registers = target.vector_registers,
                 .threads = threads};
  const Machine& here = host();
  if (here.l1_bytes > 0) m.cache_bytes[0] = double(here.l1_bytes);
  if (here.l2_bytes > 0) m.cache_bytes[1] = double(here.l2_bytes);
  // Of a shared cache count a fair share, but never less than twice the private one.
  if (here.l3_bytes > 0) {
    m.cache_bytes[2] = std::max(2 * m.cache_bytes[1], double(here.l3_bytes) / 16);
  }
  return m;
}

StatementCost statement_cost(const NestStatement& s, const MachineModel& machine) {
  StatementCost cost;
  const RegisterTile tile = register_tile(s, machine);
  const double tiles = extents_outside(s, tile.depth);
  const bool reduces = std::any_of(s.loops.begin(), s.loops.end(),
                                   [](const NestLoop& l) { return l.reduces; });

  const Access& store = s.accesses[0];
  const double vectors = tile.lanes * tile.efficiency;
  cost.accumulators = std::max(1.0, std::ceil(store.elements[tile.depth] / vectors));
  const double chain = reduces ? std::max(1.0, kChain / cost.accumulators) : 1;
  cost.arithmetic =
      tiles * tile.instances * arithmetic_slots(s.operations) / kArithmeticPerCycle * chain;

  double loads = 0;
  for (const Access& a : s.accesses) {
    if (!a.is_store) loads += tile_loads(a, s, tile);
  }
  const double store_slots = tile_loads(store, s, tile) * (reduces ? 2 : 1);
  const double reuse = reduces ? accumulator_reuse(s, tile.depth) : 1;
  cost.loads = tiles * (loads / kLoadsPerCycle + store_slots / reuse);

  const double excess = cost.accumulators + 2 - machine.vector_registers;
  if (reduces && excess > 0) cost.spills = tiles * 2 * excess;
  cost.overhead = tiles * kLoopCycles;
  add_traffic(s, machine, cost);

  const double core = std::max(cost.arithmetic, cost.loads) + 0.2 * std::min(cost.arithmetic, cost.loads) +
                      cost.spills + cost.overhead;
  double longest = core, sum = core;
  for (int level = 0; level < 3; ++level) {
    const double cycles = cost.traffic[level] / machine.bytes_per_cycle[level];
    longest = std::max(longest, cycles);
    sum += cycles;
  }
  cost.total = longest + 0.25 * (sum - longest);  // levels overlap, though not wholly

  for (const NestLoop& l : s.loops) {
    if (l.kind != ForKind::Parallel) continue;
    const double extent = double(l.extent), threads = machine.threads;
    cost.speedup = extent / std::ceil(extent / threads);
    break;
  }
  cost.total = cost.total / cost.speedup + (cost.speedup > 1 ? kForkCycles : 0);
  return cost;
}

double nest_seconds(const std::vector<NestStatement>& nest, const MachineModel& machine) {
  double cycles = 0;
  for (const NestStatement& s : nest) cycles += statement_cost(s, machine).total;
  return cycles / kClock;
}

}  // namespace tw::autotune
