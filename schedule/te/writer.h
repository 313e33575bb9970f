// SPDX-License-Identifier: Apache-2.0
// What operations write themselves to when a program becomes text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/print.h"
#include "ir/substitute.h"
#include "schedule/te/operation.h"
#include "schedule/te/text.h"

namespace tw::te {

class Writer {
 public:
  // Anonymous: nothing has a name of its own, and there are no annotations.
  explicit Writer(bool anonymous) : anonymous_(anonymous), names_(anonymous) {}
  std::string program(const Program& p);

  template <class... T>
  void put(const T&... text) {
    (out_.append(text), ...);
  }
  // The names of what operations share. An operation copies them for those that are its own.
  const Names& names() const { return names_; }
  void list(const std::vector<Expr>& list, Names& scope);
  // "[A, B.v1]"
  void tensors(const std::vector<Tensor>& list);
  // "[i: 64, j: (1, n)]"
  void axes(const std::vector<IterVar>& axes, Names& scope);
  // "sum(…)", or "reduce(…)" where the combiner has no name.
  void reduction(const Reduce& op, Names& scope);
  // NotTextual when the expression of `op` holds what only this process knows.
  void check_textual(const Expr& e, const OperationNode& op) const;
  // The same of statements that address the buffers.
  void check_textual(const Stmt& s, const std::vector<Var>& buffers, const OperationNode& op) const;

 private:
  void declare(const std::vector<Expr>& extents, const VarSet& except);
  void declare_variables(const OperationNode& op);
  void annotations(const OperationNode& op);
  void line(std::string_view what, const std::vector<Tensor>& tensors);
  void tensor(const Tensor& t);

  bool anonymous_;
  Names names_;
  VarSet declared_;
  std::string out_;
};

}  // namespace tw::te
