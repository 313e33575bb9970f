// SPDX-License-Identifier: Apache-2.0
// What operators that are no loop over one expression are written with: the statements of externs.
// Their extents are constants.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// The extents, all constant; BadShape where one is not.
std::vector<int64_t> constant_shape(const Place& place, const Tensor& t);
int64_t count_of(const std::vector<int64_t>& extents);

// A tensor as lines along a dimension: what is before it, along it and behind it.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;
};
Lines lines_along(const std::vector<int64_t>& shape, size_t axis);

// The memory of a tensor in the statements.
struct Buffer {
  Var buffer;
  Buffer(const std::string& name, DType type) : buffer(buffer_var(name, type)) {}
  Expr operator[](const Expr& at) const;
  Stmt set(const Expr& at, const Expr& value) const;
};

using LoopBody = std::function<Stmt(const Expr&)>;
// for i in [0, extent); positions are of that type.
Stmt serial_loop(const std::string& name, int64_t extent, DType type, const LoopBody& body);
// Whether so many elements take longer than waking threads.
bool is_worth_threads(int64_t work);
// The same on all threads, where the work, in elements, is worth it.
Stmt parallel_loop(const std::string& name, int64_t extent, DType type, int64_t work,
                   const LoopBody& body);
// The same in vectors of elements of `element`, and one by one what is left over.
Stmt vector_loop(const std::string& name, int64_t extent, DType type, DType element,
                 const LoopBody& body);
// The type of positions in so many elements.
DType position_type(int64_t elements);

// So many neighbouring elements of `inner` are one task: a divisor, so that no task is cut off.
int64_t columns_of_task(int64_t inner);

}  // namespace tw::topi
