// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost/prior.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>
#include <utility>

#include "autotune/cost/intrin_rate.h"
#include "autotune/cost/register_tile.h"
#include "autotune/space/tiles.h"

namespace tw::autotune {
namespace {

constexpr int kMemory = 2;  // the level whose misses go to memory

// Of operations on so many lanes of 32 bits.
double arithmetic_slots(const OperationCounts& c, double lanes, const MachineModel& machine) {
  double slots = c.add + c.multiply - c.fused + c.compare + c.select + c.convert;
  double divide = c.divide, called = c.math;
  if (machine.fma) {
    slots += c.expanded_operations;
    divide += c.expanded_divide;
    called -= c.expanded;
  }
  if (lanes <= machine.vector_bits / 32.0 / 2) divide *= machine.half_divide_share;
  return slots + machine.arithmetic_per_cycle *
                     (divide * machine.divide_cycles + called * machine.math_cycles);
}

// Runs whose distance is a multiple of a large power of two fall on few sets of a cache.
bool crowds(const Box& box, double cache_bytes, double ways) {
  const auto way = static_cast<int64_t>(cache_bytes / ways);
  double taken = std::max(box.run, kLineBytes);
  for (const Box::Step& s : box.steps) {
    const auto apart = double(std::gcd(way, static_cast<int64_t>(s.bytes)));
    if (s.bytes >= kLineBytes && s.count * std::max(taken, apart) > cache_bytes) return true;
    taken *= s.count;
  }
  return false;
}

// The loop whose iterations threads share, and how many of them the busiest has.
struct Shares {
  size_t loop = 0;  // that of s.loops; their number where there is none
  double iterations = 1, speedup = 1;
  Shares(const NestStatement& s, const MachineModel& machine) {
    while (loop < s.loops.size() && s.loops[loop].kind != ForKind::Parallel) ++loop;
    if (loop == s.loops.size()) return;
    const double extent = double(s.loops[loop].extent);
    iterations = std::ceil(extent / machine.threads);
    speedup = extent / iterations;
  }
};

// Of what is touched, by depth, what the busiest thread touches. What every iteration needs, each
// of them fetches for itself.
double of_one_thread(const std::vector<double>& touched, size_t depth, const Shares& shares) {
  if (depth > shares.loop || shares.speedup == 1) return touched[depth];
  return std::min(touched[depth], touched[shares.loop + 1] * shares.iterations *
                                      (touched[depth] / touched[shares.loop]));
}

bool fits(const NestStatement& s, size_t depth, const MachineModel& machine, int level,
          const Shares& shares) {
  const double cache_bytes = machine.cache_bytes[level];
  double bytes = 0;
  for (const Access& a : s.accesses) {
    bytes += of_one_thread(a.lines, depth, shares) * kLineBytes;
    if (crowds(a.boxes[depth], cache_bytes, machine.ways[level])) return false;
  }
  return bytes <= machine.usable_cache * cache_bytes;
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

// A line that is stored into is read first, unless it goes around the caches.
double times_moved(const Access& a, const NestStatement& s, int level) {
  if (!a.is_store || a.is_local) return 1;
  if (s.nontemporal) return level == kMemory ? 1 : 0;
  return level == kMemory ? 2 : 1;
}

void add_traffic(const NestStatement& s, const MachineModel& machine, const Warm& warm,
                 StatementCost& cost) {
  const Shares shares(s, machine);
  for (int level = 0; level < 3; ++level) {
    const double bytes = machine.cache_bytes[level];
    const size_t depth =
        resident_depth(s, [&](size_t d) { return fits(s, d, machine, level, shares); });
    for (size_t k = 0; k < s.accesses.size(); ++k) {
      const Access& a = s.accesses[k];
      // A small buffer that stays in this cache anyway costs only its first use.
      const double whole = a.allocated_elements * a.element_bytes;
      if (a.is_local && whole <= machine.usable_cache * bytes) continue;
      const bool passes_by = a.is_store && s.nontemporal;
      if (warm[k][static_cast<size_t>(level)] && !passes_by) continue;
      const size_t fetched = std::min(depth, loaded_once(a, s));
      const double threads = fetched > shares.loop ? 1 : shares.speedup;
      const double runs = extents_outside(s, fetched) * threads;
      const double lines = of_one_thread(a.lines, fetched, shares) * runs;
      cost.traffic[level] += times_moved(a, s, level) * lines * kLineBytes;
    }
  }
  // Of the accesses that are chosen, those whose translations a buffer of so many has not.
  const auto translated = [&s](double entries, auto chosen) {
    const auto pages_at = [&](size_t d) {
      double pages = 0;
      for (const Access& a : s.accesses) pages += chosen(a) ? a.pages[d] : 0;
      return pages;
    };
    const size_t depth = resident_depth(s, [&](size_t d) { return pages_at(d) <= entries; });
    if (depth == 0) return 0.0;  // all are remembered
    double pages = 0;
    for (const Access& a : s.accesses) {
      if (!chosen(a)) continue;
      // An iteration of the loop around finds the pages of the one before.
      pages += std::min(a.pages[depth] * extents_outside(s, depth),
                        a.pages[depth - 1] * extents_outside(s, depth - 1));
    }
    return pages;
  };
  const auto all = [](const Access&) { return true; };
  const auto stores = [](const Access& a) { return a.is_store; };
  const auto loads = [](const Access& a) { return !a.is_store; };
  cost.pages =
      translated(machine.page_entries, loads) + translated(machine.store_page_entries, stores);
  cost.walks = translated(machine.far_page_entries, all);
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
  const bool bytes = machine.int8_dot && loop.extent <= kWordBytes && s.dtype.is_int();
  const bool halves = machine.bf16_dot && loop.extent == kWordBytes / 2 && s.dtype.is_float();
  if (!bytes && !halves) return 1;
  const int64_t element_bytes = bytes ? 1 : 2;
  for (size_t a = 1; a < 3; ++a) {
    const Access& access = s.accesses[a];
    const int64_t stride = access.strides[lane];
    if (access.element_bytes != element_bytes || access.strides[term] != 1) return 1;
    if (halves && access.element != bfloat_type(16)) return 1;
    if (stride != 0 && stride * element_bytes != kWordBytes) return 1;
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
    for (auto* by_depth : {&a.elements, &a.lines, &a.rows, &a.pages}) {
      by_depth->erase(by_depth->begin() + term + 1);
    }
    a.boxes.erase(a.boxes.begin() + term + 1);
    a.strides.erase(a.strides.begin() + term);
    if (a.is_store) continue;
    const int64_t group = kWordBytes / a.element_bytes;
    a.strides.back() /= group;
    a.element_bytes = kWordBytes;
    a.allocated_elements /= double(group);
    for (double& n : a.elements) n = std::max(1.0, n / double(terms));
  }
  const double slots = s.dtype.is_float() ? machine.bfloat_dot_slots : 1;
  words.operations = {.add = slots, .condition = s.operations.condition};
  words.groups = {{.loops = words.all_loops(), .counts = words.operations}};
  return words;
}

// Sums that are worked on at once: those of the tile, or all that are added to within the window
// from which a processor takes what waits for nothing.
double independent_sums(const NestStatement& s, double accumulators, double window) {
  double steps = 1, sums = 1;  // of the loops inside: sums, and how often each is added to
  for (const NestLoop& l : s.loops | std::views::reverse) {
    if (l.kind == ForKind::Vectorized) continue;
    const double fit = window / (2 * steps * sums), extent = double(l.extent);
    if (!l.reduces) sums *= std::clamp(fit, 1.0, extent);
    if (extent > fit) break;
    if (l.reduces) steps *= extent;
  }
  return std::max(accumulators, sums);
}

// How often operations run whose values change with these loops. Compilers compute once what
// straight code needs several times, and before loops around it what these do not change. An
// operation of all lanes counts as one.
double executions(LoopSet loops, const NestStatement& s, const RegisterTile& tile) {
  double n = 1;
  bool moves = true;  // out of the loop that is looked at
  for (size_t l = s.loops.size(); l-- > 0;) {
    const NestLoop& loop = s.loops[l];
    const bool changes = (loops & loop_bit(l)) != 0;
    if (l < tile.code) moves &= !changes;
    if (l < tile.code ? moves : !changes) continue;
    const bool lanes = l >= tile.depth && loop.kind == ForKind::Vectorized;
    n *= lanes ? std::ceil(double(loop.extent) / tile.lanes) : double(loop.extent);
  }
  return n;
}

// Whether the values differ from lane to lane, where the innermost loop is lanes.
bool changes_by_lane(const OperationGroup& g, const NestStatement& s) {
  return !s.loops.empty() && (g.loops & loop_bit(s.loops.size() - 1)) != 0;
}

// Cycles of the statement's operations, where `chain` times as many pass until a sum can be added
// to.
double arithmetic_cycles(const NestStatement& s, const RegisterTile& tile,
                         const MachineModel& machine, double chain) {
  const LoopSet all = s.all_loops();
  double slots = 0;
  for (const OperationGroup& g : s.groups) {
    slots += executions(g.loops, s, tile) * (g.loops == all ? chain : 1) *
             arithmetic_slots(g.counts, changes_by_lane(g, s) ? tile.lanes : 1, machine);
  }
  return slots / machine.arithmetic_per_cycle;
}

// How often code branches around what is read for all lanes at once. Of lanes that are on or off
// each, loads are masked.
double branches(const NestStatement& s, const RegisterTile& tile) {
  if (tile.lanes == 1) return 0;
  double n = 0;
  for (const OperationGroup& g : s.groups) {
    if (g.counts.guarded == 0 || changes_by_lane(g, s)) continue;
    n += executions(g.loops, s, tile) * g.counts.guarded;
  }
  return n;
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
  const double chain =
      reduces
          ? std::max(1.0, machine.chain / independent_sums(s, cost.accumulators, machine.window))
          : 1;
  cost.arithmetic = arithmetic_cycles(s, tile, machine, chain);

  const Operands operands = read_operands(s, tile, machine);
  // Sums stay in registers as long as the straight code around them has enough of these.
  const bool keeps = reduces && registers(store, s, tile, tile.code) <= machine.vector_registers;
  const size_t kept = keeps ? tile.code : tile.depth;
  const double store_slots =
      load_slots(store, s, tile, machine, store.elements[kept]) * (reduces ? 2 : 1);
  const double reuse = reduces ? accumulator_reuse(s, kept) : 1;
  cost.loads = extents_outside(s, tile.code) * operands.loads / machine.loads_per_cycle +
               extents_outside(s, kept) * store_slots / reuse;

  double needed = cost.accumulators + live_operands(s, tile);
  if (has_offsets(statement, machine)) {
    // lower/unsign_dot_products.cc: a sum more a column, and rows whose sign bits are flipped.
    const double columns = operand_vectors(s, tile);
    needed += columns + 1;
    cost.arithmetic +=
        tiles * (columns + cost.accumulators / columns) / machine.arithmetic_per_cycle;
  }
  const double excess = needed - machine.vector_registers;
  // A file that overflows is shuffled as a whole: allocation moves accumulators to and fro.
  if (reduces && excess > 0)
    cost.spills =
        tiles * (machine.spill_cycles * excess + machine.shuffled_share * cost.accumulators);
  cost.spills += extents_outside(s, tile.code) * operands.spills;
  cost.overhead = extents_outside(s, tile.code) *
                      (machine.loop_cycles + s.operations.condition * machine.condition_cycles) +
                  branches(s, tile) * machine.condition_cycles;
  // A buffer filled within loops: whoever reads it waits for the stores, since vectors that
  // straddle several of them are not forwarded.
  if (!store.is_local && store.realize_depth > 0) {
    cost.overhead += extents_outside(s, store.realize_depth) * machine.hand_over_cycles;
  }
}

// The same of a statement that an intrinsic stands for.
void add_intrin(const NestStatement& s, const IntrinRate& rate, const MachineModel& machine,
                StatementCost& cost) {
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
  cost.overhead = tiles / together * machine.loop_cycles;
}

}  // namespace

std::vector<Warm> warm_accesses(const std::vector<NestStatement>& nest,
                                const MachineModel& machine) {
  std::vector<Warm> warm(nest.size());
  const auto mark = [&](size_t statement, size_t access, double bytes) {
    for (size_t level = 0; level < 3; ++level) {
      warm[statement][access][level] |= bytes <= machine.usable_cache * machine.cache_bytes[level];
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
    add_intrin(s, *rate, machine, cost);
  } else {
    add_loops(statement, s, machine, cost);
  }
  add_traffic(s, machine, warm, cost);

  cost.loads += s.prefetches / machine.loads_per_cycle;

  const double core = std::max(cost.arithmetic, cost.loads) +
                      machine.port_overlap * std::min(cost.arithmetic, cost.loads) + cost.spills +
                      cost.overhead;
  double longest = core, sum = core;
  for (int level = 0; level < 3; ++level) {
    const double cycles = cost.traffic[level] / machine.bytes_per_cycle[level];
    longest = std::max(longest, cycles);
    sum += cycles;
  }
  const double translations = cost.pages * machine.page_cycles + cost.walks * machine.walk_cycles;
  sum += translations;
  longest = std::max(longest, translations);
  cost.total =
      longest + machine.level_overlap * (sum - longest);  // levels overlap, though not wholly
  // What is in no cache is waited for: prefetchers run a few lines ahead and end with a page.
  for (const Access& a : s.accesses) {
    if (!a.is_cold) continue;
    cost.cold += a.lines[0] * kLineBytes * (a.is_fetched ? machine.fetched_share : 1);
  }
  cost.total += cost.cold / machine.bytes_per_cycle[kMemory];

  cost.speedup = Shares(s, machine).speedup;
  cost.total /= cost.speedup;
  return cost;
}

NestCost nest_cost(const std::vector<NestStatement>& nest, const MachineModel& machine) {
  NestCost cost;
  double forks = 0;
  const std::vector<Warm> warm = warm_accesses(nest, machine);
  int forked = -1;  // the loop whose iterations the threads have already
  for (size_t k = 0; k < nest.size(); ++k) {
    const StatementCost& own =
        cost.statements.emplace_back(statement_cost(nest[k], machine, warm[k]));
    cost.cycles += own.total;
    if (own.speedup == 1) continue;
    const int loop = nest[k].loops[Shares(nest[k], machine).loop].id;
    if (loop != forked) ++forks;
    forked = loop;
  }
  cost.seconds = (cost.cycles + forks * machine.fork_cycles) / machine.clock;
  return cost;
}

double nest_seconds(const std::vector<NestStatement>& nest, const MachineModel& machine) {
  return nest_cost(nest, machine).seconds;
}

}  // namespace tw::autotune
