// SPDX-License-Identifier: Apache-2.0
#include "autotune/features.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "autotune/loop_nest.h"
#include "autotune/prior.h"
#include "autotune/replay.h"
#include "runtime/half.h"
#include "schedule/infer_bound.h"
#include "schedule/kernel_part.h"
#include "schedule/normalize.h"
#include "schedule/schedule_ops.h"

namespace tw::autotune {
namespace {

constexpr size_t kAccesses = 5;     // the store and the four largest reads
constexpr size_t kDepths = 5;       // loops, innermost first, that have columns of their own
constexpr size_t kIntensities = 8;  // points of the arithmetic intensity curve

float log_scale(double x) { return float(std::copysign(std::log2(1 + std::fabs(x)), x)); }

// Collects one row; in naming mode, the names instead. One code for both keeps them in step.
class Row {
 public:
  explicit Row(std::vector<uint16_t>* values) : values_(values) {}
  explicit Row(std::vector<std::string>* names) : names_(names) {}
  void group(std::string prefix) { prefix_ = std::move(prefix); }
  void raw(const char* name, double value) {
    if (names_)
      names_->push_back(prefix_ + name);
    else
      values_->push_back(double_to_float16(value));
  }
  void log(const char* name, double value) { raw(name, double(log_scale(value))); }

 private:
  std::vector<uint16_t>* values_ = nullptr;
  std::vector<std::string>* names_ = nullptr;
  std::string prefix_;
};

void add_operations(Row& row, const NestStatement& s) {
  const double n = s.iterations();
  const OperationCounts& c = s.operations;
  row.group("operations.");
  row.log("iterations", n);
  row.log("add", n * c.add);
  row.log("multiply", n * c.multiply);
  row.log("fused", n * c.fused);
  row.log("divide", n * c.divide);
  row.log("compare", n * c.compare);
  row.log("select", n * c.select);
  row.log("condition", n * c.condition);
  row.log("math", n * c.math);
  row.log("integer", n * c.integer);
  row.log("convert", n * c.convert);
  row.raw("is_init", s.is_init);
  row.raw("nontemporal", s.nontemporal);
  row.raw("prefetched", s.prefetched);
  row.raw("intrinsic", !s.intrin.empty());
}

void add_loops(Row& row, const NestStatement& s) {
  double vector = 1, unrolled = 1, parallel = 1, reduction = 1, serial = 1;
  for (const NestLoop& l : s.loops) {
    const double e = double(l.extent);
    if (l.kind == ForKind::Vectorized) vector *= e;
    if (l.kind == ForKind::Unrolled) unrolled *= e;
    if (l.kind == ForKind::Parallel) parallel *= e;
    if (l.kind == ForKind::Serial) serial *= e;
    if (l.reduces) reduction *= e;
  }
  row.group("loops.");
  row.raw("count", double(s.loops.size()));
  row.log("vector", vector);
  row.log("unrolled", unrolled);
  row.log("parallel", parallel);
  row.log("serial", serial);
  row.log("reduction", reduction);
  row.log("auto_unroll_max_step", double(s.auto_unroll_max_step));
  for (size_t k = 0; k < kDepths; ++k) {
    const NestLoop loop = k < s.loops.size() ? s.loops[s.loops.size() - 1 - k] : NestLoop{};
    row.group("loop" + std::to_string(k) + ".");
    row.log("extent", double(loop.extent));
    row.raw("kind", double(loop.kind));
    row.raw("reduces", loop.reduces);
  }
}

// Bytes a loop outside keeps waiting before the same element comes again, and how often it does.
void add_reuse(Row& row, const Access& a, const NestStatement& s) {
  double count = 1, distance = 0;
  for (size_t l = s.loops.size(); l-- > 0;) {
    if (a.strides[l] != 0 || s.loops[l].extent == 1) continue;
    count = double(s.loops[l].extent);
    for (const Access& other : s.accesses) distance += other.elements[l + 1] * other.element_bytes;
    break;
  }
  row.log("reuse_count", count);
  row.log("reuse_distance", distance);
}

void add_access(Row& row, size_t slot, const Access* a, const NestStatement& s) {
  static const Access kNone{
      .elements = {0}, .lines = {0}, .rows = {0}, .pages = {0}, .boxes = {Box{}}};
  row.group("access" + std::to_string(slot) + ".");
  const bool present = a != nullptr;
  const Access& access = present ? *a : kNone;
  const double bytes = access.element_bytes;
  row.log("bytes", present ? s.iterations() * bytes : 0);
  row.log("unique_bytes", access.elements[0] * bytes);
  row.log("lines", access.lines[0]);
  row.log("allocated", access.allocated_elements * bytes);
  row.raw("local", access.is_local);
  row.log("stride", present && !s.loops.empty() ? double(access.strides.back()) : 0);
  row.raw("reused", access.has_reuse);
  if (present) {
    add_reuse(row, access, s);
  } else {
    row.log("reuse_count", 0);
    row.log("reuse_distance", 0);
  }
  for (size_t k = 1; k <= kDepths; ++k) {
    const size_t loops = s.loops.size();
    row.log(k == 1   ? "bytes1"
            : k == 2 ? "bytes2"
            : k == 3 ? "bytes3"
            : k == 4 ? "bytes4"
                     : "bytes5",
            present && k <= loops ? access.elements[loops - k] * bytes : 0);
  }
}

// Operations per byte touched, from the innermost loop to the whole nest, at even steps.
void add_intensity(Row& row, const NestStatement& s) {
  row.group("intensity.");
  std::vector<double> curve;
  double iterations = 1;
  for (size_t d = s.loops.size() + 1; d-- > 0;) {
    if (d < s.loops.size()) iterations *= double(s.loops[d].extent);
    double bytes = 0;
    for (const Access& a : s.accesses) bytes += a.elements[d] * a.element_bytes;
    curve.push_back(iterations * s.operations.floating() / std::max(1.0, bytes));
  }
  static const char* kNames[kIntensities] = {"0", "1", "2", "3", "4", "5", "6", "7"};
  for (size_t k = 0; k < kIntensities; ++k) {
    const double at = double(k) * double(curve.size() - 1) / double(kIntensities - 1);
    const size_t low = size_t(at), high = std::min(low + 1, curve.size() - 1);
    row.log(kNames[k], curve[low] + (at - double(low)) * (curve[high] - curve[low]));
  }
}

void add_costs(Row& row, const StatementCost& c) {
  row.group("model.");
  row.log("arithmetic", c.arithmetic);
  row.log("loads", c.loads);
  row.log("spills", c.spills);
  row.log("overhead", c.overhead);
  row.log("traffic_l1", c.traffic[0]);
  row.log("traffic_l2", c.traffic[1]);
  row.log("traffic_l3", c.traffic[2]);
  row.log("pages", c.pages);
  row.log("accumulators", c.accumulators);
  row.log("speedup", c.speedup);
  row.log("total", c.total);
}

void fill(Row& row, const NestStatement& s, const StatementCost& cost) {
  add_operations(row, s);
  add_loops(row, s);
  add_costs(row, cost);
  add_intensity(row, s);
  std::vector<const Access*> reads;
  for (const Access& a : s.accesses) {
    if (!a.is_store) reads.push_back(&a);
  }
  std::stable_sort(reads.begin(), reads.end(), [](const Access* a, const Access* b) {
    return a->elements[0] * a->element_bytes > b->elements[0] * b->element_bytes;
  });
  add_access(row, 0, s.accesses.empty() ? nullptr : &s.accesses[0], s);
  for (size_t k = 1; k < kAccesses; ++k) {
    add_access(row, k, k <= reads.size() ? reads[k - 1] : nullptr, s);
  }
}

}  // namespace

const std::vector<std::string>& feature_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    Row row(&result);
    fill(row, NestStatement{}, StatementCost{});
    return result;
  }();
  return names;
}

void Features::append_to(std::vector<float>& matrix) const {
  for (uint16_t bits : rows) matrix.push_back(float16_to_float(bits));
}

Features extract_features(const Stmt& nest, const Target& target, int threads) {
  const MachineModel machine = machine_model(target, threads);
  const std::vector<NestStatement> statements = analyze_nest(nest);
  Features features;
  features.rows.reserve(statements.size() * feature_names().size());
  const std::vector<Warm> warm = warm_accesses(statements, machine);
  for (size_t k = 0; k < statements.size(); ++k) {
    Row row(&features.rows);
    fill(row, statements[k], statement_cost(statements[k], machine, warm[k]));
  }
  features.prior_seconds = nest_seconds(statements, machine);
  return features;
}

namespace {

Stmt nest_of(const Task& task, Schedule&& schedule) {
  const Schedule normal = normalize(std::move(schedule));
  const KernelPart part = parts_of(normal, constants_of(task.program)).main;
  return schedule_ops(normal, infer_bound(normal), {}, part);
}

Schedule applied(const Task& task, const Trace& trace) {
  Schedule schedule = Schedule::create(task.program.outputs);
  schedule.apply(trace);
  return schedule;
}

}  // namespace

Features extract_features(const Task& task, Schedule&& schedule) {
  return extract_features(nest_of(task, std::move(schedule)), task.target, task.threads);
}

Features extract_features(const Task& task, const Trace& trace) {
  return extract_features(task, applied(task, trace));
}

double prior_seconds(const Task& task, Schedule&& schedule) {
  return nest_seconds(analyze_nest(nest_of(task, std::move(schedule))),
                      machine_model(task.target, task.threads));
}

double prior_seconds(const Task& task, const Trace& trace) {
  return prior_seconds(task, applied(task, trace));
}

}  // namespace tw::autotune
