// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/analysis.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "runtime/error.h"

namespace tw::autotune {
namespace {

int64_t constant_extent(const te::Operation& op, const Expr& extent, std::string_view axis) {
  if (auto value = as_const_int(simplify(extent))) return *value;
  raise({.code = ErrorCode::NoDesignSpace,
         .what = fmt::format("the extent of axis '{}' is symbolic", axis),
         .stage = op.name(),
         .legal = "tuning needs constant shapes; write the schedule by hand for symbolic ones"});
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

bool same_shape(const OperationFacts& a, const OperationFacts& b) { return a.extents == b.extents; }

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

}  // namespace

std::vector<OperationFacts> analyze(const te::Program& program) {
  const std::vector<te::Operation> ops = te::operations(program.outputs);
  std::vector<OperationFacts> facts(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    OperationFacts& f = facts[i];
    f.op = ops[i];
    f.compute = te::as_op<te::ComputeNode>(ops[i]);
    for (const te::Tensor& t : program.outputs) f.is_output |= t.op().same_as(ops[i]);
    for (const Expr& e : ops[i]->output_shape(0)) {
      f.extents.push_back(constant_extent(ops[i], e, "shape"));
    }
    if (f.compute == nullptr) continue;
    f.is_reduction = f.compute->is_reduction();
    for (const IterVar& r : f.compute->reduce_axis) {
      f.reduce_extents.push_back(constant_extent(ops[i], r->domain.extent, r.name()));
    }
    const Reads reads(*f.compute);
    f.has_condition = reads.has_condition;
    f.has_math = reads.has_math;
    f.has_reuse = f.is_reduction && reuses_input(*f.compute, f.extents, reads);
    for (size_t p = 0; p < i; ++p) {
      bool consumed = false, own_position = true, anew = true;
      for (const ProducerLoad* load : reads.loads) {
        if (load->producer.get() != ops[p].get()) continue;
        consumed = true;
        own_position &= reads_own_position(*load, *f.compute, f.extents);
        anew &= moves_with_all_axes(*load, *f.compute, f.extents);
      }
      if (!consumed) continue;
      facts[p].consumers.push_back(i);
      facts[p].read_anew = anew && facts[p].consumers.size() == 1;
      const bool elementwise = own_position && !f.is_reduction && same_shape(facts[p], f);
      facts[p].elementwise_consumer =
          elementwise && facts[p].consumers.size() == 1 ? static_cast<int>(i) : -1;
    }
  }
  for (OperationFacts& f : facts) {
    if (f.is_output || f.consumers.size() != 1) f.elementwise_consumer = -1;
  }
  return facts;
}

}  // namespace tw::autotune
