// SPDX-License-Identifier: Apache-2.0
// Tensors that statements compute, which address memory by element.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/error.h"
#include "schedule/te/operation.h"

namespace tw::te {

struct ExternOutput {
  std::vector<Expr> shape;
  DType dtype;
};
struct ExternParts {
  std::string name;
  std::vector<Tensor> inputs;
  std::vector<ExternOutput> outputs;
  // The memory of the inputs, then of the outputs, row-major without gaps. An output with the
  // memory of an input is computed in place: its elements are the input's before the statements
  // run.
  std::vector<Var> memory;
  Stmt body;
  std::string tag = "";
  Attributes attributes = {};
  // The line of the script that makes it, and those of its statements, as far as they are known.
  std::string where = "";
  std::unordered_map<const StmtBase*, std::string> lines = {};
};

// It reads its inputs whole and has no loops that a schedule knows.
struct ExternNode : OperationNode {
  std::vector<Tensor> inputs;
  std::vector<ExternOutput> outputs;
  std::vector<Var> memory;
  Stmt body;
  std::vector<ErrorInfo> findings;  // what is wrong with the statements; see check_statements.h

  int num_outputs() const override { return static_cast<int>(outputs.size()); }
  DType output_dtype(int k) const override { return outputs[static_cast<size_t>(k)].dtype; }
  std::vector<Expr> output_shape(int k) const override {
    return outputs[static_cast<size_t>(k)].shape;
  }
  const std::vector<IterVar>& data_axes() const override { return root_axes(); }
  const std::vector<IterVar>& root_axes() const override;
  bool stores_once() const override { return false; }
  std::vector<Expr> evaluated() const override;
  std::vector<Range> realized(int value_index, const DomainMap& domains) const override;
  Stmt update(const VarMap& roots, std::vector<Expr>& conditions) const override;
  Operation with_reads(const ReadRewrite& f) const override;
  Operation with_axes(const std::string& name, const AxisReplacement& axes) const override;
  void write(Writer& out) const override;
  std::unique_ptr<PointEvaluator> evaluator(Evaluation& run) const override;
};

// BadArgument for memory that does not fit its tensor, UnboundVariable for what the statements read
// that is neither memory nor a variable of the shapes.
Operation extern_op(ExternParts parts);

}  // namespace tw::te
