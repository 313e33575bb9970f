// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "autotune/space/tails.h"
#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/te/ragged.h"
#include "schedule/te/ragged_length.h"
#include "schedule/te/term_order.h"

namespace tw::autotune {
namespace {

int64_t constant_extent(const te::Operation& op, const Expr& extent, std::string_view axis) {
  if (auto value = as_const_int(simplify(extent))) return *value;
  raise({.code = ErrorCode::NoDesignSpace,
         .what = fmt::format("the extent of axis '{}' is symbolic", axis),
         .stage = op.name(),
         .legal = "tuning needs constant shapes; write the schedule by hand for symbolic ones"});
}

std::vector<bool> lengths_decided(const te::ComputeNode& op) {
  const std::vector<Expr> ends = te::ragged_ends(op);
  std::vector<bool> decides;
  for (const IterVar& axis : op.axis) {
    if (ends.empty()) break;
    decides.push_back(
        std::ranges::any_of(ends, [&](const Expr& e) { return uses(e, axis.var()); }));
  }
  return decides;
}

// True when the load reads its producer at the operation's own data axes, in order; along an axis
// of one position that is where it begins.
bool reads_own_position(const ProducerLoad& load, const te::ComputeNode& consumer,
                        const std::vector<int64_t>& extents) {
  if (load.indices.size() != consumer.axis.size()) return false;
  for (size_t k = 0; k < load.indices.size(); ++k) {
    const bool first = extents[k] == 1 && is_zero(load.indices[k]);
    if (!first && !load.indices[k].same_as(consumer.axis[k].var())) return false;
  }
  return true;
}

// Where the load reads all of its producer's result, of those extents, each element once: which of
// the operation's data axes moves along each dimension, if any. Else nothing.
std::vector<std::optional<size_t>> permutation_of(const ProducerLoad& load,
                                                  const OperationFacts& consumer,
                                                  const std::vector<int64_t>& extents) {
  std::vector<std::optional<size_t>> result(extents.size());
  std::vector<bool> moved(consumer.extents.size());
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 1) continue;
    for (size_t k = 0; k < moved.size() && !result[d]; ++k) {
      const bool along = load.indices[d].same_as(consumer.compute->axis[k].var());
      if (along && !moved[k] && consumer.extents[k] == extents[d]) result[d] = k;
    }
    if (!result[d]) return {};
    moved[*result[d]] = true;
  }
  for (size_t k = 0; k < moved.size(); ++k) {
    if (!moved[k] && consumer.extents[k] > 1) return {};
  }
  return result;
}

// The load moves with every data axis of the operation.
bool moves_with_all_axes(const ProducerLoad& load, const te::ComputeNode& consumer,
                         const std::vector<int64_t>& extents) {
  for (size_t k = 0; k < consumer.axis.size(); ++k) {
    if (extents[k] == 1) continue;
    const bool used = std::any_of(load.indices.begin(), load.indices.end(),
                                  [&](const Expr& i) { return uses(i, consumer.axis[k].var()); });
    if (!used) return false;
  }
  return true;
}

// A reduction reads elements for several of its points: some data axis moves none of the load's
// indices, or windows overlap.
bool repeats(const ProducerLoad& load, const OperationFacts& consumer) {
  if (!consumer.is_reduction) return false;
  const auto plain = [&](const Expr& index) {
    return std::ranges::any_of(consumer.compute->all_axes,
                               [&](const IterVar& axis) { return index.same_as(axis.var()); });
  };
  return !moves_with_all_axes(load, *consumer.compute, consumer.extents) ||
         !std::ranges::all_of(load.indices, plain);
}

// Reads of one operation's body.
struct Reads {
  std::vector<const ProducerLoad*> loads;
  bool has_condition = false, has_math = false;
  explicit Reads(const te::ComputeNode& op) {
    for (const Expr& e : op.body) {
      for_each_expr(e, [this](const Expr& node) {
        if (const ProducerLoad* load = as<ProducerLoad>(node)) loads.push_back(load);
        if (is<Select>(node)) has_condition = true;
        if (const Call* call = as<Call>(node)) {
          (call->name == "if_then_else" ? has_condition : has_math) = true;
        }
      });
    }
  }
};

// A reduction reads some input at positions that leave out one of the data axes.
bool reuses_input(const te::ComputeNode& op, const std::vector<int64_t>& extents,
                  const Reads& reads) {
  return std::any_of(reads.loads.begin(), reads.loads.end(), [&](const ProducerLoad* load) {
    return !moves_with_all_axes(*load, op, extents);
  });
}

// What is read of one operation in the body of another.
struct ReadsOf {
  Consumer consumer = {.op = 0, .reads = 0, .repeats = false};
  bool own_position = true, anew = true;
};

// By producer, in the order of operations.
std::map<size_t, ReadsOf> reads_by_producer(
    const std::vector<const ProducerLoad*>& loads, size_t op,
    const std::vector<OperationFacts>& facts,
    const std::unordered_map<const Producer*, size_t>& numbers) {
  const OperationFacts& f = facts[op];
  std::map<size_t, ReadsOf> result;
  for (const ProducerLoad* load : loads) {
    const size_t producer = numbers.at(load->producer.get());
    ReadsOf& r = result[producer];
    r.consumer.op = op;
    ++r.consumer.reads;
    r.consumer.repeats |= repeats(*load, f);
    r.own_position &= reads_own_position(*load, *f.compute, f.extents);
    r.anew &= moves_with_all_axes(*load, *f.compute, f.extents);
    // Of a computation, all of whose results have one shape.
    const OperationFacts& read = facts[producer];
    auto permutation = read.compute != nullptr ? permutation_of(*load, f, read.extents)
                                               : std::vector<std::optional<size_t>>();
    if (r.consumer.reads > 1 && permutation != r.consumer.permutation) permutation.clear();
    r.consumer.permutation = std::move(permutation);
  }
  return result;
}

// What scans compute in their steps, and what begins their states.
std::unordered_set<const Producer*> operations_of_scans(const std::vector<te::Operation>& ops) {
  std::unordered_set<const Producer*> found;
  for (const te::Operation& op : ops) {
    for (const te::Operation& part : te::operations_of_parts(op)) found.insert(part.get());
  }
  return found;
}

}  // namespace

std::vector<OperationFacts> analyze(const te::Program& program) {
  const std::vector<te::Operation> ops = te::operations(program.outputs);
  std::vector<OperationFacts> facts(ops.size());
  std::unordered_map<const Producer*, size_t> numbers;
  // All that read it are elementwise, and in its own shape.
  std::vector<bool> elementwise(ops.size(), true);
  const std::unordered_set<const Producer*> of_scans = operations_of_scans(ops);
  for (size_t i = 0; i < ops.size(); ++i) {
    OperationFacts& f = facts[i];
    numbers.emplace(ops[i].get(), i);
    f.op = ops[i];
    // The loops of what an intrinsic computes are settled, as those of a scan or an extern.
    if (ops[i]->intrin().empty()) f.compute = te::as_op<te::ComputeNode>(ops[i]);
    f.in_scan = f.compute != nullptr && of_scans.contains(ops[i].get());
    // Inside of a scan operations may go into each other; what comes from outside is stored.
    for (const te::Tensor& t : ops[i]->input_tensors()) {
      OperationFacts& read = facts[numbers.at(t.op().get())];
      if (f.compute == nullptr || f.in_scan != read.in_scan) read.is_output = true;
    }
    for (const te::Part& part : ops[i]->parts())
      facts[numbers.at(part.tensor.op().get())].is_output = true;
    for (const te::Tensor& t : program.outputs) f.is_output |= t.op().same_as(ops[i]);
    for (const Expr& e : ops[i]->output_shape(0)) {
      f.extents.push_back(constant_extent(ops[i], e, "shape"));
    }
    if (f.compute == nullptr) continue;
    f.is_reduction = f.compute->is_reduction();
    const auto expected = te::expected_extents(*f.compute);
    for (size_t k = f.extents.size(); k < expected.size(); ++k) {
      const IterVar& axis = f.compute->all_axes[k];
      f.reduce_extents.push_back(
          expected[k] ? *expected[k] : constant_extent(ops[i], axis->domain.extent, axis.name()));
    }
    f.decides_length = lengths_decided(*f.compute);
    // What says how far a reduction goes is there before its loops begin.
    for (const Expr& end : te::ragged_ends(*f.compute)) {
      for_each_expr(end, [&](const Expr& e) {
        const ProducerLoad* load = as<ProducerLoad>(e);
        if (load != nullptr) facts[numbers.at(load->producer.get())].is_output = true;
      });
    }
    const Reads reads(*f.compute);
    if (f.is_reduction) {
      f.order_matters = !te::order_matters(*f.compute).empty();
      f.grouping_matters = !te::grouping_matters(*f.compute).empty();
    }
    f.has_condition = reads.has_condition;
    f.has_math = f.carries_math = reads.has_math;
    f.has_reuse = f.is_reduction && !f.order_matters && !f.is_ragged() && !f.in_scan &&
                  reuses_input(*f.compute, f.extents, reads);
    for (const auto& [producer, r] : reads_by_producer(reads.loads, i, facts, numbers)) {
      OperationFacts& p = facts[producer];
      if (p.in_scan != f.in_scan) continue;
      p.consumers.push_back(r.consumer);
      p.read_anew = r.anew && p.consumers.size() == 1;
      if (f.is_reduction || f.op->num_outputs() != 1) {
        p.consumers.back().permutation.clear();
        elementwise[producer] = false;
      }
      if (!r.own_position || p.extents != f.extents) elementwise[producer] = false;
      f.reads_reduction |= p.is_reduction || p.reads_reduction;
    }
  }
  for (size_t i = 0; i < facts.size(); ++i) {
    OperationFacts& f = facts[i];
    if (f.is_output || f.in_scan || f.op->num_outputs() != 1) elementwise[i] = false;
    const bool stored = f.is_output || f.is_reduction || f.has_condition;
    if (f.carries_math && !stored && f.consumers.size() == 1) {
      facts[f.consumers[0].op].carries_math = true;
    }
  }
  assign_tails(facts, elementwise);
  return facts;
}

std::vector<size_t> tiling_order(const std::vector<OperationFacts>& facts) {
  std::vector<int> owner(facts.size(), -1);
  for (size_t op = 0; op < facts.size(); ++op) {
    for (size_t other : facts[op].company) owner[other] = static_cast<int>(op);
  }
  std::vector<size_t> order;
  std::vector<bool> listed(facts.size(), false);
  const std::function<void(size_t)> list = [&](size_t op) {
    if (listed[op]) return;
    listed[op] = true;
    if (owner[op] >= 0) list(static_cast<size_t>(owner[op]));
    order.push_back(op);
  };
  for (size_t op = facts.size(); op-- > 0;) {
    if (facts[op].is_tiled()) list(op);
  }
  return order;
}

}  // namespace tw::autotune
