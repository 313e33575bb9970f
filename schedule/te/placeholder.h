// SPDX-License-Identifier: Apache-2.0
// A tensor whose values the caller gives.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedule/te/operation.h"

namespace tw::te {

struct PlaceholderNode : OperationNode {
  std::vector<Expr> shape;
  DType dtype;
  bool constant = false;

  int num_outputs() const override { return 1; }
  DType output_dtype(int) const override { return dtype; }
  std::vector<Expr> output_shape(int) const override { return shape; }
  bool is_placeholder() const override { return true; }
  bool is_constant() const override { return constant; }
  const std::vector<IterVar>& data_axes() const override;
  const std::vector<IterVar>& root_axes() const override;
  std::vector<Expr> evaluated() const override;
  std::vector<Range> realized(int value_index, const DomainMap& domains) const override;
  Stmt update(const VarMap& roots, std::vector<Expr>& conditions) const override;
  Operation with_reads(const ReadRewrite& f) const override;
  Operation with_axes(const std::string& name, const AxisReplacement& axes) const override;
  void write(Writer& out) const override;
  std::unique_ptr<PointEvaluator> evaluator(Evaluation& run) const override;
};

}  // namespace tw::te
