// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/data_axes.h"

#include <algorithm>
#include <limits>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"

namespace tw::autotune {
namespace {

// The index where the reduction's axes of one iteration stand: those of a window of one element.
Expr without_single_terms(const te::ComputeNode& compute, const Expr& index) {
  VarMap single;
  for (const IterVar& r : compute.reduce_axis) {
    if (is_one(r->domain.extent)) single.emplace(r.var(), r->domain.min);
  }
  return single.empty() ? index : simplify(substitute(index, single));
}

bool is_plain(const te::ComputeNode& compute, const Expr& index, const Var& var) {
  return without_single_terms(compute, index).same_as(var);
}

size_t occurrences(const Expr& e, const Var& var) {
  size_t n = 0;
  for_each_expr(e, [&](const Expr& x) { n += x.same_as(var) ? 1 : 0; });
  return n;
}

// Whether the load's producer lies in memory as [a, b] of those extents, from dimension d on.
bool lies_as(const ProducerLoad& load, size_t d, int64_t a, int64_t b) {
  if (!te::as_op<te::OperationNode>(load.producer)->is_placeholder()) return false;
  const std::vector<Expr> shape = load.producer->output_shape(load.value_index);
  return is_const_int(shape[d], a) && is_const_int(shape[d + 1], b);
}

// Axis k and the one after it are only used to read operands whose neighbouring dimensions they
// are.
bool walk_together(const OperationFacts& f, size_t k) {
  const te::ComputeNode& compute = *f.compute;
  const Var a = compute.axis[k].var(), b = compute.axis[k + 1].var();
  size_t all = 0, plain = 0;
  bool good = true;
  for (const Expr& body : compute.body) {
    all += occurrences(body, a) + occurrences(body, b);
    for_each_expr(body, [&](const Expr& e) {
      const ProducerLoad* load = as<ProducerLoad>(e);
      if (load == nullptr) return;
      size_t here = 0, dimensions = 0;
      for (size_t d = 0; d < load->indices.size(); ++d) {
        const Expr& index = load->indices[d];
        here += occurrences(index, a) + occurrences(index, b);
        if (d + 1 == load->indices.size() || !is_plain(compute, index, a)) continue;
        if (!is_plain(compute, load->indices[d + 1], b)) continue;
        if (!lies_as(*load, d, f.extents[k], f.extents[k + 1])) continue;
        ++dimensions;
      }
      good &= here == 2 * dimensions && dimensions <= 1;
      plain += here;
    });
  }
  return good && plain == all;
}

}  // namespace

std::vector<DataAxis> data_axes(const OperationFacts& facts) {
  return data_axes(std::vector{&facts});
}

std::vector<DataAxis> data_axes(std::span<const OperationFacts* const> facts) {
  const OperationFacts& f = *facts[0];
  std::vector<DataAxis> result;
  for (size_t k = 0; k < f.extents.size(); ++k) {
    const std::string& name = f.compute->axis[k].name();
    const bool joins = !result.empty() && f.extents[k] > 1 && result.back().extent > 1 &&
                       result.back().extent <= std::numeric_limits<int32_t>::max() / f.extents[k] &&
                       std::ranges::all_of(facts, [k](const OperationFacts* each) {
                         return each->op->num_outputs() == 1 && walk_together(*each, k - 1);
                       });
    if (!joins) {
      result.push_back({{k}, f.extents[k], name});
      continue;
    }
    result.back().axes.push_back(k);
    result.back().extent *= f.extents[k];
    result.back().name += "." + name;
  }
  return result;
}

DataAxis last_as_one(const OperationFacts& f) {
  const bool stays_whole = f.is_output && f.consumers.empty();
  if (stays_whole) return data_axes(f).back();
  return {{f.extents.size() - 1}, f.extents.back(), f.compute->axis.back().name()};
}

std::optional<int64_t> period_of(const OperationFacts& f, size_t axis) {
  const Var var = f.compute->axis[axis].var();
  std::optional<int64_t> period;
  size_t all = 0, repeated = 0;
  for (const Expr& body : f.compute->body) {
    all += occurrences(body, var);
    for_each_expr(body, [&](const Expr& e) {
      const auto* mod = as<FloorMod>(e);
      if (mod == nullptr || !mod->a.same_as(var)) return;
      const std::optional<int64_t> divisor = as_const_int(mod->b);
      if (divisor && period.value_or(*divisor) == *divisor) ++repeated;
      period = divisor;
    });
  }
  const bool divides =
      period && *period > 1 && *period < f.extents[axis] && f.extents[axis] % *period == 0;
  if (!divides || repeated != all) return std::nullopt;
  return period;
}

std::vector<bool> axes_of_vectors(const te::ComputeNode& compute, std::span<const DataAxis> axes,
                                  size_t vector_axis) {
  const auto moves = [&compute](const Expr& load, const DataAxis& axis) {
    return std::ranges::any_of(axis.axes,
                               [&](size_t k) { return uses(load, compute.axis[k].var()); });
  };
  std::vector<bool> result(axes.size());
  for (const Expr& body : compute.body) {
    for_each_expr(body, [&](const Expr& e) {
      if (as<ProducerLoad>(e) == nullptr || !moves(e, axes[vector_axis])) return;
      for (size_t k = 0; k < axes.size(); ++k) result[k] = result[k] || moves(e, axes[k]);
    });
  }
  return result;
}

std::optional<std::vector<Operand>> operands_along(const te::ComputeNode& compute,
                                                   const DataAxis& axis) {
  std::vector<Operand> operands;
  bool plain = true;
  for (const te::Tensor& t : compute.input_tensors()) {
    std::optional<size_t> dimension;  // of the first of the axes
    for (const Expr& body : compute.body) {
      for_each_expr(body, [&](const Expr& e) {
        const ProducerLoad* load = as<ProducerLoad>(e);
        if (load == nullptr || load->producer.get() != t.op().get()) return;
        for (size_t j = 0; j < axis.axes.size(); ++j) {
          const Var& var = compute.axis[axis.axes[j]].var();
          for (size_t d = 0; d < load->indices.size(); ++d) {
            if (!uses(load->indices[d], var)) continue;
            plain &= is_plain(compute, load->indices[d], var);
            plain &= d >= j && dimension.value_or(d - j) == d - j;
            dimension = d - j;
          }
        }
      });
    }
    if (dimension) operands.push_back({t, *dimension, axis.axes.size()});
  }
  if (!plain) return std::nullopt;
  return operands;
}

}  // namespace tw::autotune
