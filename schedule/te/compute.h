// SPDX-License-Identifier: Apache-2.0
// A tensor each of whose elements is an expression of its position.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schedule/te/operation.h"

namespace tw::te {

// outputs[k](axis…) = body[k]. A reduction is a Reduce at the root of every body, all over the same
// axes (Reduce nodes with value_index 0, 1, … of one combiner).
struct ComputeNode : OperationNode {
  std::vector<IterVar> axis;
  std::vector<IterVar> reduce_axis;
  std::vector<IterVar> all_axes;  // axis, then reduce_axis
  std::vector<Expr> body;
  std::vector<Expr> init;  // what a reduction starts from (start.h); empty: its identity

  int num_outputs() const override { return static_cast<int>(body.size()); }
  DType output_dtype(int k) const override { return body[static_cast<size_t>(k)].dtype(); }
  std::vector<Expr> output_shape(int) const override;
  const std::vector<IterVar>& data_axes() const override { return axis; }
  const std::vector<IterVar>& root_axes() const override { return all_axes; }
  std::vector<Expr> evaluated() const override;
  Expr value_at(int value_index, const std::vector<Expr>& indices) const override;
  std::vector<Range> realized(int value_index, const DomainMap& domains) const override;
  Stmt initialization(const VarMap& roots) const override;
  Stmt update(const VarMap& roots, std::vector<Expr>& conditions) const override;
  Operation with_reads(const ReadRewrite& f) const override;
  Operation with_axes(const std::string& name, const AxisReplacement& axes) const override;
  void write(Writer& out) const override;
  std::unique_ptr<PointEvaluator> evaluator(Evaluation& run) const override;

  // Over other data axes, `values` being what the old ones are in terms of them; the axes of the
  // reduction stay. Where `inside` does not hold (undefined: everywhere it does) a reduction takes
  // no terms and other bodies are zero.
  Operation change_axes(std::vector<IterVar> data_axes, const VarMap& values,
                        const Expr& inside) const;

 protected:
  // An operation of its kind, of its tag and attributes.
  virtual Operation again(std::string name, std::vector<IterVar> axis,
                          std::vector<Expr> body) const;
  // The axes and the bodies, without the kind and its parenthesis.
  void write_bodies(Writer& out) const;

 private:
  // `f` of each body, on top of what the reduction starts from in terms of `start`; those of a
  // reduction differ in the component they take only.
  std::vector<Expr> map_bodies(const std::function<Expr(const Expr&)>& f,
                               const std::function<Expr(const Expr&)>& start) const;
  Stmt store(const VarMap& roots, size_t k, Expr value) const;
  Stmt assignments(const VarMap& roots) const;
};

// Checks the axes and the bodies, and makes them those of a node that has none.
void set_bodies(ComputeNode& node, std::string name, std::vector<IterVar> axis,
                std::vector<Expr> body);
// A data axis for each extent, from zero. `names` are theirs, or empty: then they are i0, i1, …
std::vector<IterVar> axes_over(const std::vector<Expr>& shape,
                               const std::vector<std::string>& names, const std::string& stage);

// Both hold; `inner` is looked at where `outer` holds only, so that it may read what is there only.
Expr guarded_condition(const Expr& outer, const Expr& inner);

}  // namespace tw::te
