// SPDX-License-Identifier: Apache-2.0
#include "autotune/prior.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "autotune/intrin_rate.h"
#include "runtime/machine.h"

namespace tw::autotune {
namespace {

constexpr double kClock = 2.5e9;
constexpr double kArithmeticPerCycle = 2;  // vector operations issued a cycle
constexpr double kLoadsPerCycle = 2;
constexpr double kChain = 8;  // independent accumulators that hide an fma's latency
constexpr double kDivideCycles = 8, kMathCycles = 20;
constexpr double kHandOverCycles = 40;  // from the last store into a buffer to its first use
constexpr double kShuffleCycles = 1.5;  // a vector of strided elements, for each vector loaded
constexpr int64_t kShuffledStride = 4;  // greater ones are gathered
constexpr double kGatherCycles = 1.5;   // an element of a strided vector access
constexpr int kGroupBytes = 4;          // of narrow terms, in a lane
constexpr double kBfloatDotSlots = 4;   // of two products at once; four of bytes take one
constexpr double kLoopCycles = 2;
constexpr double kConditionCycles = 1;  // a comparison of indices: most are of loops outside
constexpr double kForkCycles = 5000;
constexpr double kShuffledShare = 1;  // of a tile's accumulators, when registers run out
constexpr double kLineBytes = 64, kPageBytes = 4096;
constexpr double kPageCycles = 7;      // a translation found in the second-level buffer
constexpr double kUsableCache = 0.75;  // of a cache's size, before conflicts
constexpr int kMemory = 2;             // the level whose misses go to memory

// The innermost loops whose bodies stand side by side in one piece of straight code.
struct RegisterTile {
  size_t depth;           // the first of those loops
  double instances = 1;   // copies of the statement, counting one a vector
  double lanes = 1;       // elements an instruction works on
  double efficiency = 1;  // of lanes used, when the extent is no multiple
};

RegisterTile register_tile(const NestStatement& s, const MachineModel& machine) {
  RegisterTile tile{.depth = s.loops.size()};
  // Lanes of narrower elements are as many as those of 32 bits: see space/builder.h.
  const double width = double(machine.vector_bits) / std::max<int>(32, s.dtype.bits);
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
    } else if (loop.kind == ForKind::Serial &&
               unrolled * extent <= double(s.auto_unroll_max_step)) {
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

// Columns of a tile that are loaded at once, as rows, and transposed (lower/transpose_loads.cc); 0
// where lanes that lie apart are gathered.
double transposed_columns(const Access& a, const NestStatement& s) {
  if (a.is_store || s.loops.size() < 2) return 0;
  const size_t next = s.loops.size() - 2;
  const NestLoop& loop = s.loops[next];
  return loop.kind == ForKind::Unrolled && a.strides[next] == 1 && loop.extent >= 4
             ? double(loop.extent)
             : 0;
}

// Lanes a small stride apart whose gaps the loop next to them fills: lower/interleave_stores.cc.
bool is_interleaved(const Access& a, const NestStatement& s) {
  if (!a.is_store || s.loops.size() < 2) return false;
  const size_t next = s.loops.size() - 2;
  return s.loops[next].kind == ForKind::Unrolled && a.strides[next] == 1 &&
         s.loops[next].extent == a.strides.back() && a.strides.back() <= kShuffledStride;
}

// Load instructions for one tile of an access.
double tile_loads(const Access& a, const NestStatement& s, const RegisterTile& tile) {
  const double elements = a.elements[tile.depth];
  if (tile.lanes == 1) return elements;
  const int64_t stride = a.strides.back();
  if (stride == 1) return std::max(1.0, elements / (tile.lanes * tile.efficiency));
  if (stride == 0) return elements;  // a broadcast, folded into the operation
  if (!a.is_store && stride > 0 && stride <= kShuffledStride) {
    return elements / (tile.lanes * tile.efficiency) * double(stride) * kShuffleCycles;
  }
  if (is_interleaved(a, s)) {
    const double vectors = elements / (tile.lanes * tile.efficiency);
    return vectors * (1 + kLoadsPerCycle * std::log2(double(stride)));
  }
  if (const double columns = transposed_columns(a, s); columns > 0) {
    const double vectors = elements / (tile.lanes * tile.efficiency);
    return vectors * (tile.lanes / columns + kLoadsPerCycle * std::log2(columns));
  }
  return elements * kGatherCycles * kLoadsPerCycle +
         (a.is_store ? elements : 0) * double(s.loops.empty() ? 0 : 1);
}

// Vectors of operands that one reduction step of the tile works on.
double operand_vectors(const NestStatement& s, const RegisterTile& tile) {
  if (tile.lanes == 1) return 1;
  size_t data = s.loops.size();  // where the loops over data within the tile start
  while (data > tile.depth && !s.loops[data - 1].reduces) --data;
  double most = 1;
  for (const Access& a : s.accesses) {
    if (a.is_store || a.strides.back() == 0) continue;
    most = std::max(most, std::ceil(a.elements[data] / (tile.lanes * tile.efficiency)));
  }
  return most;
}

// Rows whose distance is a multiple of a large power of two fall on few sets of a cache: how many
// of them it can hold at once.
double rows_that_fit(double row_bytes, double cache_bytes, double ways) {
  const auto way = static_cast<int64_t>(cache_bytes / ways);
  const auto stride = static_cast<int64_t>(row_bytes);
  if (way <= 0 || stride <= 0) return 1e18;
  return ways * double(way) / double(std::gcd(way, stride));
}

bool fits(const NestStatement& s, size_t depth, double cache_bytes, double ways) {
  double bytes = 0;
  for (const Access& a : s.accesses) {
    bytes += a.lines[depth] * kLineBytes;
    if (a.rows[depth] > rows_that_fit(a.row_bytes, cache_bytes, ways)) return false;
  }
  return bytes <= kUsableCache * cache_bytes;
}

// Loops that two statements have in common.
size_t common_loops(const NestStatement& a, const NestStatement& b) {
  size_t n = 0;
  while (n < a.loops.size() && n < b.loops.size() && a.loops[n].id == b.loops[n].id) ++n;
  return n;
}

// What statements [begin, end) touch while the loops from `depth` inwards run, each tensor once.
double bytes_touched(const std::vector<NestStatement>& nest, size_t begin, size_t end,
                     size_t depth) {
  std::vector<std::pair<const Producer*, double>> lines;  // in order of appearance
  for (size_t k = begin; k < end; ++k) {
    for (const Access& a : nest[k].accesses) {
      if (a.is_store && nest[k].nontemporal) continue;
      const double n = a.lines[std::min(depth, nest[k].loops.size())];
      const auto known = std::ranges::find(lines, a.producer, &decltype(lines)::value_type::first);
      if (known == lines.end()) {
        lines.emplace_back(a.producer, n);
      } else {
        known->second = std::max(known->second, n);
      }
    }
  }
  double bytes = 0;
  for (const auto& [producer, n] : lines) bytes += n * kLineBytes;
  return bytes;
}

// The outermost depth at which `holds` is true: what is inside is fetched once for each run of it.
template <class Predicate>
size_t resident_depth(const NestStatement& s, Predicate holds) {
  size_t depth = 0;
  while (depth < s.loops.size() && !holds(depth)) ++depth;
  return depth;
}

double pages_touched(const Access& a, size_t depth) {
  const double bytes = a.elements[depth] * a.element_bytes;
  if (a.row_bytes >= kPageBytes)
    return a.rows[depth] * std::max(1.0, bytes / a.rows[depth] / kPageBytes);
  // Shorter rows share pages, as far as they lie next to each other.
  return std::max(
      1.0,
      std::min(a.rows[depth] * a.row_bytes, a.allocated_elements * a.element_bytes) / kPageBytes);
}

// A line that is stored into is read first, unless it goes around the caches.
double lines_moved(const Access& a, const NestStatement& s, size_t depth, int level) {
  if (!a.is_store || a.is_local) return a.lines[depth];
  if (s.nontemporal) return level == kMemory ? a.lines[depth] : 0;
  return level == kMemory ? 2 * a.lines[depth] : a.lines[depth];
}

void add_traffic(const NestStatement& s, const MachineModel& machine, const Warm& warm,
                 StatementCost& cost) {
  for (int level = 0; level < 3; ++level) {
    const double bytes = machine.cache_bytes[level];
    const size_t depth =
        resident_depth(s, [&](size_t d) { return fits(s, d, bytes, machine.ways[level]); });
    const double runs = extents_outside(s, depth);
    for (size_t k = 0; k < s.accesses.size(); ++k) {
      const Access& a = s.accesses[k];
      // A small buffer that stays in this cache anyway costs only its first use.
      const double whole = a.allocated_elements * a.element_bytes;
      if (a.is_local && whole <= kUsableCache * bytes) continue;
      const bool passes_by = a.is_store && s.nontemporal;
      if (warm[k][static_cast<size_t>(level)] && !passes_by) continue;
      cost.traffic[level] += lines_moved(a, s, depth, level) * kLineBytes * runs;
    }
  }
  const size_t depth = resident_depth(s, [&](size_t d) {
    double pages = 0;
    for (const Access& a : s.accesses) pages += pages_touched(a, d);
    return pages <= machine.page_entries;
  });
  for (const Access& a : s.accesses) {
    cost.pages += pages_touched(a, depth) * extents_outside(s, depth);
  }
}

// Terms of a group: the products that one instruction adds, 1 where there is none for the loops as
// they are. Then the loop over the terms stands around the lanes, and each operand has a group side
// by side, in every lane or the same for all. Groups of bytes may lack terms.
int64_t terms_at_once(const NestStatement& s, const MachineModel& machine) {
  if (s.loops.size() < 2 || s.accesses.size() != 3 || s.dtype.bits != 32) return 1;
  const size_t term = s.loops.size() - 2, lane = term + 1;
  const NestLoop& loop = s.loops[term];
  if (!loop.reduces || loop.kind != ForKind::Serial || s.loops[lane].kind != ForKind::Vectorized) {
    return 1;
  }
  const bool bytes = machine.int8_dot && loop.extent <= kGroupBytes && s.dtype.is_int();
  const bool halves = machine.bf16_dot && loop.extent == kGroupBytes / 2 && s.dtype.is_float();
  if (!bytes && !halves) return 1;
  const int64_t element_bytes = bytes ? 1 : 2;
  for (size_t a = 1; a < 3; ++a) {
    const Access& access = s.accesses[a];
    const int64_t stride = access.strides[lane];
    if (access.element_bytes != element_bytes || access.strides[term] != 1) return 1;
    if (halves && access.element != bfloat_type(16)) return 1;
    if (stride != 0 && stride * element_bytes != kGroupBytes) return 1;
  }
  return loop.extent;
}

// Of two signed bytes one has to lose its sign.
bool has_offsets(const NestStatement& s, const MachineModel& machine) {
  return s.dtype.is_int() && terms_at_once(s, machine) > 1 &&
         std::all_of(s.accesses.begin() + 1, s.accesses.end(),
                     [](const Access& a) { return a.element.is_int(); });
}

// The statement as the processor runs it: where it adds groups of terms at once, operands are words
// that hold a group, and there is no loop over the terms.
NestStatement in_words(const NestStatement& s, const MachineModel& machine) {
  const int64_t terms = terms_at_once(s, machine);
  if (terms == 1) return s;
  NestStatement words = s;
  const auto term = static_cast<std::ptrdiff_t>(s.loops.size()) - 2;
  words.loops.erase(words.loops.begin() + term);
  for (Access& a : words.accesses) {
    for (auto* by_depth : {&a.elements, &a.lines, &a.rows}) {
      by_depth->erase(by_depth->begin() + term + 1);
    }
    a.strides.erase(a.strides.begin() + term);
    if (a.is_store) continue;
    const int64_t group = kGroupBytes / a.element_bytes;
    a.strides.back() /= group;
    a.element_bytes = kGroupBytes;
    a.allocated_elements /= double(group);
    for (double& n : a.elements) n = std::max(1.0, n / double(terms));
  }
  const double slots = s.dtype.is_float() ? kBfloatDotSlots : 1;
  words.operations = {.add = slots, .condition = s.operations.condition};
  return words;
}

// What one core does of the statement's loops, memory aside. `statement` is `s` before its operands
// were taken as words.
void add_loops(const NestStatement& statement, const NestStatement& s, const MachineModel& machine,
               StatementCost& cost) {
  const RegisterTile tile = register_tile(s, machine);
  const double tiles = extents_outside(s, tile.depth);
  const bool reduces =
      std::any_of(s.loops.begin(), s.loops.end(), [](const NestLoop& l) { return l.reduces; });

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

  // Beside the accumulators, code holds the operand vectors of one reduction step, and where they
  // are several the element that is multiplied with each of them.
  const double operands = operand_vectors(s, tile);
  double needed = cost.accumulators + operands + (operands > 1 ? 1 : 0);
  if (has_offsets(statement, machine)) {
    // lower/unsign_dot_products.cc: a sum more a column, and rows whose sign bits are flipped.
    needed += operands + 1;
    cost.arithmetic += tiles * (operands + cost.accumulators / operands) / kArithmeticPerCycle;
  }
  const double excess = needed - machine.vector_registers;
  // A file that overflows is shuffled as a whole: allocation moves accumulators to and fro.
  if (reduces && excess > 0)
    cost.spills = tiles * (2 * excess + kShuffledShare * cost.accumulators);
  // Several reduction steps in one piece of code share operands, which then stay live between
  // steps; what finds no register goes through the stack.
  const double live = cost.accumulators + loads - machine.vector_registers;
  if (reduces && tile.instances > cost.accumulators && live > 0) {
    cost.spills += tiles * std::min(loads, live);
  }
  cost.overhead = tiles * (kLoopCycles + s.operations.condition * kConditionCycles);
  // A buffer filled within loops: whoever reads it waits for the stores, since vectors that
  // straddle several of them are not forwarded.
  if (!store.is_local && store.realize_depth > 0) {
    cost.overhead += extents_outside(s, store.realize_depth) * kHandOverCycles;
  }
}

// The same of a statement that an intrinsic stands for.
void add_intrin(const NestStatement& s, const IntrinRate& rate, StatementCost& cost) {
  double together = 1, sums = 1;  // in one piece of code; of these, those that do not wait
  for (size_t l = 0; l < s.intrin_depth; ++l) {
    if (s.loops[l].kind != ForKind::Unrolled) continue;
    together *= double(s.loops[l].extent);
    if (!s.loops[l].reduces) sums *= double(s.loops[l].extent);
  }
  const double tiles = extents_outside(s, s.intrin_depth);
  cost.accumulators = sums;
  cost.arithmetic = tiles * std::max(rate.arithmetic, rate.latency / sums);
  cost.loads = tiles * rate.moves;
  cost.overhead = tiles / together * kLoopCycles;
}

}  // namespace

MachineModel machine_model(const Target& target, int threads) {
  MachineModel m{.vector_bits = target.vector_bits,
                 .vector_registers = target.vector_registers,
                 .threads = threads,
                 .int8_dot = target.has_int8_dot,
                 .bf16_dot = target.has_bf16_dot};
  const Machine& here = host();
  if (here.l1_bytes > 0) m.cache_bytes[0] = double(here.l1_bytes);
  if (here.l2_bytes > 0) m.cache_bytes[1] = double(here.l2_bytes);
  // Of a shared cache count a fair share, but never less than twice the private one.
  if (here.l3_bytes > 0) {
    m.cache_bytes[2] = std::max(2 * m.cache_bytes[1], double(here.l3_bytes) / 16);
  }
  return m;
}

std::vector<Warm> warm_accesses(const std::vector<NestStatement>& nest,
                                const MachineModel& machine) {
  std::vector<Warm> warm(nest.size());
  const auto mark = [&](size_t statement, size_t access, double bytes) {
    for (size_t level = 0; level < 3; ++level) {
      warm[statement][access][level] |= bytes <= kUsableCache * machine.cache_bytes[level];
    }
  };
  const double all = bytes_touched(nest, 0, nest.size(), 0);
  for (size_t j = 0; j < nest.size(); ++j) {
    warm[j].resize(nest[j].accesses.size());
    for (size_t k = 0; k < nest[j].accesses.size(); ++k) {
      const Access& a = nest[j].accesses[k];
      mark(j, k, all);  // from one call to the next
      if (const size_t depth = a.realize_depth; depth > 0) {
        size_t begin = j, end = j + 1;
        while (begin > 0 && common_loops(nest[begin - 1], nest[j]) >= depth) --begin;
        while (end < nest.size() && common_loops(nest[end], nest[j]) >= depth) ++end;
        mark(j, k, bytes_touched(nest, begin, end, depth));
      }
      for (size_t i = j; i-- > 0;) {
        const bool touches = std::ranges::any_of(
            nest[i].accesses, [&](const Access& other) { return other.producer == a.producer; });
        if (!touches) continue;
        mark(j, k, bytes_touched(nest, i, j + 1, common_loops(nest[i], nest[j])));
        break;
      }
    }
  }
  return warm;
}

StatementCost statement_cost(const NestStatement& statement, const MachineModel& machine,
                             const Warm& warm) {
  StatementCost cost;
  const NestStatement s = in_words(statement, machine);
  if (const IntrinRate* rate = intrin_rate(s.intrin, s.is_init)) {
    add_intrin(s, *rate, cost);
  } else {
    add_loops(statement, s, machine, cost);
  }
  add_traffic(s, machine, warm, cost);

  const double core = std::max(cost.arithmetic, cost.loads) +
                      0.2 * std::min(cost.arithmetic, cost.loads) + cost.spills + cost.overhead;
  double longest = core, sum = core;
  for (int level = 0; level < 3; ++level) {
    const double cycles = cost.traffic[level] / machine.bytes_per_cycle[level];
    longest = std::max(longest, cycles);
    sum += cycles;
  }
  sum += cost.pages * kPageCycles;
  longest = std::max(longest, cost.pages * kPageCycles);
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
  const std::vector<Warm> warm = warm_accesses(nest, machine);
  for (size_t k = 0; k < nest.size(); ++k) {
    cycles += statement_cost(nest[k], machine, warm[k]).total;
  }
  return cycles / kClock;
}

}  // namespace tw::autotune
