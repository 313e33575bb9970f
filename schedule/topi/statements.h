// SPDX-License-Identifier: Apache-2.0
// Of what operators are written that are no loop over one expression: statements that address
// memory by element, as stages of te::extern_op.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedule/te/extern.h"
#include "schedule/topi/common.h"

namespace tw::topi {

// Elements that statements read and write, by row-major position.
class Memory {
 public:
  explicit Memory(Var buffer, Expr first = 0) : buffer_(std::move(buffer)), first_(first) {}
  Expr operator[](const Expr& index) const;
  Stmt store(const Expr& index, const Expr& value) const;
  Stmt add(const Expr& index, const Expr& value) const {
    return store(index, (*this)[index] + value);
  }
  // The same elements, counted from that one.
  Memory from(const Expr& first) const { return Memory(buffer_, first_ + first); }
  DType dtype() const { return buffer_->element; }
  const Var& buffer() const { return buffer_; }

 private:
  Var buffer_;
  Expr first_;
};

using StatementOf = std::function<Stmt(const Expr&)>;
// body(k) for k from 0 on, one after the other unless `kind` says otherwise.
Stmt loop(const std::string& name, const Expr& extent, const StatementOf& body,
          ForKind kind = ForKind::Serial);
// The same for a constant extent, with positions of that type; one iteration is no loop.
Stmt loop(const std::string& name, int64_t extent, DType type, const StatementOf& body,
          ForKind kind = ForKind::Serial);
// Whether so many elements take longer than waking threads.
bool is_worth_threads(int64_t work);
// On all threads, where the work, in elements, is worth it.
Stmt parallel_loop(const std::string& name, int64_t extent, DType type, int64_t work,
                   const StatementOf& body);
// In vectors of elements of `element`, and one by one what is left over.
Stmt vector_loop(const std::string& name, int64_t extent, DType type, DType element,
                 const StatementOf& body);
// What `body` computes with a value that is computed once.
Stmt let(const std::string& name, const Expr& value, const StatementOf& body);
Stmt when(const Expr& condition, const Stmt& then, const Stmt& otherwise = {});
// Memory for `body`, whose elements have no values yet. Up to a few hundred bytes of one extent
// stay in registers or on the stack ("local").
Stmt allocate(const std::string& name, DType type, const Expr& size,
              const std::function<Stmt(const Memory&)>& body, const std::string& scope = "global");

// Independent rows, in parallel: body(first, count) computes those from `first` on, so that memory
// is allocated once for many. `steps`: about how many elements are looked at for one row; tasks are
// of some thousands, since threads have to be worth waking.
Stmt for_rows(const Expr& rows, int64_t steps,
              const std::function<Stmt(const Expr& first, const Expr& count)>& body);

// Where the rows of a tensor lie along a dimension, whose extent is constant.
struct Rows {
  int64_t extent;
  Expr inner;  // elements behind one position
  Expr count;
  std::vector<Expr> others;  // extents of the other dimensions

  // BadShape, of argument `data` of an operator, for rank 0 and extents that are not constant;
  // BadArgument for an axis that is not there.
  Rows(std::string_view op, const Tensor& data, int axis);
  // The first of row r in a tensor that has `length` elements of each row.
  Expr first(const Expr& row, int64_t length) const;
};

// A tensor of constant shape as lines along a dimension: what is before it, along it and behind it.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;
};
Lines lines_along(const std::vector<int64_t>& shape, size_t axis);
// So many neighbouring elements of `inner` are one task: a divisor, so that no task is cut off.
int64_t columns_of_task(int64_t inner);

// Extents that are all constant; BadShape where one is not.
std::vector<int64_t> constant_shape(const Place& place, const std::vector<Expr>& shape);
std::vector<int64_t> constant_shape(const Place& place, const Tensor& t);
int64_t count_of(const std::vector<int64_t>& extents);
// The type of positions in so many elements.
DType position_type(int64_t elements);

using Memories = std::vector<Memory>;
// The tensors that statements compute of inputs.
std::vector<Tensor> computed_by(
    const std::string& name, const std::vector<Tensor>& inputs,
    const std::vector<te::ExternOutput>& outputs,
    const std::function<Stmt(const Memories& inputs, const Memories& outputs)>& body);

}  // namespace tw::topi
