// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost/statement_features.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autotune/cost/register_tile.h"

namespace tw::autotune {
namespace {

constexpr size_t kLoops = 4;        // around the straight code, innermost first, with own columns
constexpr size_t kWorkingSets = 7;  // depths, innermost first, whose bytes have a column each
constexpr double kUsableCache = 0.75;

// Collects values, or their names. One code for both keeps them in step.
class Columns {
 public:
  explicit Columns(std::vector<double>* values) : values_(values) {}
  explicit Columns(std::vector<std::string>* names) : names_(names) {}
  void add(const std::string& name, double value) {
    if (names_)
      names_->push_back(name);
    else
      values_->push_back(value);
  }
  void ratio(const std::string& name, double x, double of = 1) { add(name, log_ratio(x, of)); }

 private:
  std::vector<double>* values_ = nullptr;
  std::vector<std::string>* names_ = nullptr;
};

void add_costs(Columns& columns, const StatementCost& c, const MachineModel& m, double cycles) {
  const double all = std::max(cycles * c.speedup, 1e-9);
  columns.add("cost.total", c.total * c.speedup / all);
  columns.add("cost.arithmetic", c.arithmetic / all);
  columns.add("cost.loads", c.loads / all);
  columns.add("cost.spills", c.spills / all);
  columns.add("cost.overhead", c.overhead / all);
  columns.add("cost.l1", c.traffic[0] / m.bytes_per_cycle[0] / all);
  columns.add("cost.l2", c.traffic[1] / m.bytes_per_cycle[1] / all);
  columns.add("cost.l3", c.traffic[2] / m.bytes_per_cycle[2] / all);
  columns.add("cost.pages", c.pages / all);
  columns.add("cost.walks", c.walks / all);
}

void add_operations(Columns& columns, const NestStatement& s) {
  const OperationCounts& c = s.operations;
  columns.add("each.fused", c.fused);
  columns.add("each.floating", c.floating());
  columns.add("each.slow", c.divide + c.math);
  columns.add("each.select", c.select);
  columns.add("each.condition", c.condition);
  columns.add("each.integer", c.integer);
  columns.add("each.convert", c.convert);
  columns.add("is_init", s.is_init);
  columns.add("nontemporal", s.nontemporal);
  columns.add("prefetched", s.prefetched);
  columns.add("intrinsic", !s.intrin.empty());
}

// The straight code, and the loops around it.
void add_loops(Columns& columns, const NestStatement& s, const RegisterTile& tile,
               const StatementCost& cost, const MachineModel& m) {
  double data = 1, reduced = 1, all_reduced = 1, unrolled = 1, parallel = 1;
  for (size_t l = 0; l < s.loops.size(); ++l) {
    const NestLoop& loop = s.loops[l];
    const double e = double(loop.extent);
    if (l >= tile.code && loop.kind != ForKind::Vectorized) (loop.reduces ? reduced : data) *= e;
    if (loop.reduces) all_reduced *= e;
    if (loop.kind == ForKind::Unrolled) unrolled *= e;
    if (loop.kind == ForKind::Parallel) parallel *= e;
  }
  const double bits = tile.lanes * s.dtype.element().bits;
  columns.ratio("iterations", s.iterations());
  columns.ratio("code.lanes", bits, m.vector_bits);
  columns.add("code.lanes_used", tile.efficiency);
  columns.ratio("code.data", data);
  columns.ratio("code.reduced", reduced);
  columns.ratio("code.instances", data * reduced);
  columns.ratio("code.registers", cost.accumulators, m.vector_registers);
  columns.ratio("code.unrolled", unrolled);
  columns.ratio("loops.reduced", all_reduced);
  columns.ratio("loops.parallel", parallel, m.threads);
  columns.ratio("loops.speedup", cost.speedup, m.threads);
  columns.add("loops.count", double(std::ranges::count_if(
                                 s.loops, [](const NestLoop& l) { return l.extent > 1; })));
  size_t depth = tile.code;
  for (size_t k = 0; k < kLoops; ++k) {
    while (depth > 0 && s.loops[depth - 1].extent == 1) --depth;
    const NestLoop loop = depth > 0 ? s.loops[--depth] : NestLoop{};
    columns.ratio("loop" + std::to_string(k) + ".extent", double(loop.extent));
    columns.add("loop" + std::to_string(k) + ".reduces", loop.reduces);
  }
}

// Bytes that the statement touches while the loops from `depth` inwards run.
double working_set(const NestStatement& s, size_t depth) {
  double lines = 0;
  for (const Access& a : s.accesses) lines += a.lines[depth];
  return lines * kLineBytes;
}

void add_working_sets(Columns& columns, const NestStatement& s, const MachineModel& m) {
  size_t depth = s.loops.size();
  for (size_t k = 0; k < kWorkingSets; ++k) {
    while (depth > 0 && s.loops[depth - 1].extent == 1) --depth;
    columns.ratio("set" + std::to_string(k), working_set(s, depth), m.cache_bytes[0]);
    if (depth > 0) --depth;
  }
  static const char* kNames[] = {"l1", "l2", "l3"};
  for (size_t level = 0; level < 3; ++level) {
    size_t fits = 0;
    const double usable = kUsableCache * m.cache_bytes[level];
    while (fits < s.loops.size() && working_set(s, fits) > usable) ++fits;
    const std::string name = kNames[level];
    const double bytes = working_set(s, fits), runs = extents_outside(s, fits);
    columns.ratio(name + ".filled", bytes, m.cache_bytes[level]);
    columns.ratio(name + ".runs", runs);
    columns.ratio(name + ".intensity", s.iterations() / runs * s.operations.floating(),
                  std::max(bytes, 1.0));
  }
  columns.ratio("bytes", working_set(s, 0), m.cache_bytes[1]);
}

// Runs that lie a multiple of a page apart compete for the same few lines of a cache.
double aliased(const Access& a, size_t depth) {
  double count = 1;
  for (const Box::Step& step : a.boxes[depth].steps) {
    if (std::fmod(step.bytes, kPageBytes) == 0) count *= step.count;
  }
  return count;
}

// How far the address moves when a loop steps: not at all, within a line, within a page, further.
struct Moves {
  double still = 0, line = 0, page = 0, far = 0;
  void count(double bytes) {
    bytes = std::fabs(bytes);
    (bytes == 0 ? still : bytes < kLineBytes ? line : bytes < kPageBytes ? page : far) += 1;
  }
  void add_to(Columns& columns, const std::string& name) const {
    columns.add(name + ".still", still);
    columns.add(name + ".line", line);
    columns.add(name + ".page", page);
    columns.add(name + ".far", far);
  }
};

void add_reads(Columns& columns, const NestStatement& s, const RegisterTile& tile,
               const MachineModel& m) {
  double reads = 0, local = 0, gathered = 0, wide = 0, aliases = 1, distance = 0, reuse = 1;
  double lines = 0, bytes = 0, pages = 0, shortest_run = 0, most = 0;
  Moves inner, outer;
  const size_t loops = s.loops.size();
  for (const Access& a : s.accesses) {
    if (a.is_store) continue;
    reads += 1;
    local += a.is_local;
    if (loops > 0 && s.loops.back().kind == ForKind::Vectorized) {
      const int64_t stride = std::abs(a.strides.back());
      if (stride == 1) wide += 1;
      if (stride > 1) gathered += 1;
    }
    for (size_t l = tile.code; l < loops; ++l) {
      if (s.loops[l].kind == ForKind::Vectorized || s.loops[l].extent == 1) continue;
      inner.count(double(a.strides[l] * a.element_bytes));
    }
    if (tile.code > 0) outer.count(double(a.strides[tile.code - 1] * a.element_bytes));
    aliases = std::max(aliases, aliased(a, tile.code > 0 ? tile.code - 1 : 0));
    lines += a.lines[0] * kLineBytes;
    bytes += a.elements[0] * a.element_bytes;
    pages += a.pages[tile.code > 0 ? tile.code - 1 : 0];
    const double run = a.elements[0] / std::max(1.0, a.rows[0]) * a.element_bytes;
    if (shortest_run == 0 || run < shortest_run) shortest_run = run;
    most = std::max(most, a.elements[0] * a.element_bytes);
    for (size_t l = loops; l-- > 0;) {
      if (a.strides[l] != 0 || s.loops[l].extent == 1) continue;
      reuse = std::max(reuse, double(s.loops[l].extent));
      distance = std::max(distance, working_set(s, l + 1));
      break;
    }
  }
  columns.add("reads.count", reads);
  columns.add("reads.local", local);
  columns.add("reads.wide", wide);
  columns.add("reads.gathered", gathered);
  inner.add_to(columns, "reads.inner");
  outer.add_to(columns, "reads.outer");
  columns.ratio("reads.aliased", aliases);
  columns.ratio("reads.lines", lines, std::max(bytes, 1.0));
  columns.ratio("reads.pages", pages, m.page_entries);
  columns.ratio("reads.run", shortest_run, kLineBytes);
  columns.ratio("reads.most", most, m.cache_bytes[1]);
  columns.ratio("reads.reuse", reuse);
  columns.ratio("reads.distance", distance, m.cache_bytes[0]);
}

void add_store(Columns& columns, const NestStatement& s, const RegisterTile& tile,
               const MachineModel& m) {
  static const Access kNone{
      .elements = {0}, .lines = {0}, .rows = {0}, .pages = {0}, .boxes = {Box{}}};
  const Access& a = s.accesses.empty() ? kNone : s.accesses[0];
  const size_t depth = s.accesses.empty() ? 0 : tile.code;
  const double stride = a.strides.empty() ? 0 : std::fabs(double(a.strides.back()));
  columns.add("store.stride", std::min(stride, 2.0));
  columns.add("store.local", a.is_local);
  columns.ratio("store.allocated", a.allocated_elements * a.element_bytes, m.cache_bytes[0]);
  columns.ratio("store.places",
                a.realize_depth <= s.loops.size() ? extents_outside(s, a.realize_depth) : 1);
  columns.ratio("store.run", a.elements[depth] / std::max(1.0, a.rows[depth]) * a.element_bytes,
                kLineBytes);
  columns.ratio("store.pages", a.pages[depth], m.store_page_entries);
  columns.ratio("store.aliased", aliased(a, depth));
  columns.ratio("store.revisits", s.iterations(), std::max(1.0, a.elements[0]));
}

void fill(Columns& columns, const NestStatement& s, const StatementCost& cost,
          const MachineModel& machine, double cycles) {
  const RegisterTile tile = s.accesses.empty() ? RegisterTile{} : register_tile(s, machine);
  add_costs(columns, cost, machine, cycles);
  add_operations(columns, s);
  add_loops(columns, s, tile, cost, machine);
  add_working_sets(columns, s, machine);
  add_reads(columns, s, tile, machine);
  add_store(columns, s, tile, machine);
}

}  // namespace

double log_ratio(double x, double of) {
  return std::max(std::log2(std::max(x, 1e-30) / of), -10.0);
}

const std::vector<std::string>& statement_feature_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    Columns columns(&result);
    fill(columns, NestStatement{}, StatementCost{}, MachineModel{}, 1);
    return result;
  }();
  return names;
}

std::vector<double> statement_features(const NestStatement& s, const StatementCost& cost,
                                       const MachineModel& machine, double cycles) {
  std::vector<double> result;
  result.reserve(statement_feature_names().size());
  Columns columns(&result);
  fill(columns, s, cost, machine, cycles);
  return result;
}

}  // namespace tw::autotune
