// SPDX-License-Identifier: Apache-2.0
// A recurrence: tensors whose rows are computed one after the other, each from those before it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedule/te/operation.h"

namespace tw::te {

// Its own loop is the one over the rows after the first ones. The other dimensions are walked by
// the stages of the updates; an axis stands for each here, or for several that depend on each other
// at equal positions only.
struct ScanNode : OperationNode {
  std::vector<Tensor> inits, updates, states, inputs;
  IterVar time;
  std::vector<std::vector<IterVar>> axes;  // of each output, time first
  std::vector<IterVar> all_axes;           // each once, time first
  // Axes that can be computed in part: a position depends on the same one of earlier rows only.
  std::vector<IterVar> fixed;

  int num_outputs() const override { return static_cast<int>(updates.size()); }
  DType output_dtype(int k) const override { return states[static_cast<size_t>(k)].dtype(); }
  std::vector<Expr> output_shape(int k) const override {
    return states[static_cast<size_t>(k)].shape();
  }
  const std::vector<IterVar>& data_axes() const override { return all_axes; }
  const std::vector<IterVar>& root_axes() const override { return all_axes; }
  const std::vector<IterVar>& axes_of(int k) const override { return axes[static_cast<size_t>(k)]; }
  Range computed(const IterVar& axis, const Range& needed) const override;
  bool stores_once() const override { return false; }
  std::vector<Part> parts() const override;
  std::vector<Tensor> step_inputs() const override { return inputs; }
  std::vector<Expr> evaluated() const override;
  std::vector<Range> realized(int value_index, const DomainMap& domains) const override;
  Stmt update(const VarMap& roots, std::vector<Expr>& conditions) const override;
  Operation with_reads(const ReadRewrite& f) const override;
  Operation with_axes(const std::string& name, const AxisReplacement& axes) const override;
  void write(Writer& out) const override;
  std::unique_ptr<PointEvaluator> evaluator(Evaluation& run) const override;
};

// From finished parts: the form that parsing and rewriting use. BadShape, TypeMismatch or
// BadArgument when they do not fit together.
Operation scan_op(std::string name, std::vector<Tensor> init, std::vector<Tensor> update,
                  std::vector<Tensor> state, std::vector<Tensor> inputs, std::string tag = "",
                  Attributes attributes = {});

// For each output and each of its dimensions but time, whether a position depends on that position
// of earlier rows only (TVM's fix-point analysis). `group` numbers dimensions that depend on each
// other at equal positions.
struct FixPoint {
  std::vector<std::vector<bool>> fixed;
  std::vector<std::vector<int>> group;
};
FixPoint fix_point(const std::vector<Tensor>& update, const std::vector<Tensor>& state);

}  // namespace tw::te
