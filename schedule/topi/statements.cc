// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/expr.h"

namespace tw::topi {
namespace {

// Elements that a task looks at, at least: some microseconds, which waking a thread takes too.
constexpr int64_t kStepsOfTask = 8192;
constexpr int64_t kVectorBytes = 64;   // of the widest registers
constexpr int64_t kMostColumns = 256;  // of a task: four kilobytes at most in a step

}  // namespace

Expr Memory::operator[](const Expr& index) const {
  return make(Load{.type = dtype(), .buffer = buffer_, .index = first_ + index});
}

Stmt Memory::store(const Expr& index, const Expr& value) const {
  return make(Store{.buffer = buffer_, .value = cast(dtype(), value), .index = first_ + index});
}

Stmt loop(const std::string& name, const Expr& extent, const StatementOf& body, ForKind kind) {
  const Var k(name, extent.dtype());
  return make(For{.var = k,
                  .min = make_zero(extent.dtype()),
                  .extent = extent,
                  .for_kind = kind,
                  .body = body(k)});
}

Stmt loop(const std::string& name, int64_t extent, DType type, const StatementOf& body,
          ForKind kind) {
  if (extent == 1) return body(make_zero(type));
  return loop(name, make_const(type, extent), body, kind);
}

bool is_worth_threads(int64_t work) { return work >= kStepsOfTask; }

Stmt parallel_loop(const std::string& name, int64_t extent, DType type, int64_t work,
                   const StatementOf& body) {
  return loop(name, extent, type, body,
              is_worth_threads(work) ? ForKind::Parallel : ForKind::Serial);
}

Stmt vector_loop(const std::string& name, int64_t extent, DType type, DType element,
                 const StatementOf& body) {
  const int64_t lanes = kVectorBytes / element.element_bytes();
  const int64_t vectors = extent / lanes, rest = extent - vectors * lanes;
  const Expr width = make_const(type, lanes);
  std::vector<Stmt> parts;
  if (vectors > 0) {
    parts.push_back(loop(name + ".outer", vectors, type, [&](const Expr& outer) {
      return loop(
          name, width, [&](const Expr& i) { return body(outer * width + i); }, ForKind::Vectorized);
    }));
  }
  if (rest > 0 || parts.empty()) {
    parts.push_back(loop(name + ".rest", rest, type, [&](const Expr& i) {
      return body(make_const(type, vectors * lanes) + i);
    }));
  }
  return block(parts);
}

Stmt let(const std::string& name, const Expr& value, const StatementOf& body) {
  const Var v(name, value.dtype());
  return make(LetStmt{.var = v, .value = value, .body = body(v)});
}

Stmt when(const Expr& condition, const Stmt& then, const Stmt& otherwise) {
  return make(IfThenElse{.condition = condition, .then_case = then, .else_case = otherwise});
}

Stmt allocate(const std::string& name, DType type, const Expr& size,
              const std::function<Stmt(const Memory&)>& body, const std::string& scope) {
  const Var buffer = buffer_var(name, type);
  return make(Allocate{.buffer = buffer,
                       .type = type,
                       .extents = {size},
                       .scope = scope,
                       .body = body(Memory(buffer))});
}

Stmt for_rows(const Expr& rows, int64_t steps,
              const std::function<Stmt(const Expr&, const Expr&)>& body) {
  const int64_t together = std::max<int64_t>(kStepsOfTask / std::max<int64_t>(steps, 1), 1);
  const auto known = as_const_int(rows);
  if (known && *known <= together) return body(make_zero(rows.dtype()), rows);
  const Expr most = make_const(rows.dtype(), together);
  const auto task = [&](const Expr& k) {
    return let("first", k * most,
               [&](const Expr& first) { return body(first, min(most, rows - first)); });
  };
  return loop("task", floor_div(rows + most - make_const(rows.dtype(), 1), most), task,
              ForKind::Parallel);
}

std::vector<int64_t> constant_shape(const Place& place, const std::vector<Expr>& shape) {
  std::vector<int64_t> extents;
  for (const Expr& e : shape) {
    const auto constant = as_const_int(e);
    if (!constant) bad_shape(place, fmt::format("shape {}", shape_text(shape)), "constant extents");
    extents.push_back(*constant);
  }
  return extents;
}

std::vector<int64_t> constant_shape(const Place& place, const Tensor& t) {
  return constant_shape(place, t.shape());
}

int64_t count_of(const std::vector<int64_t>& extents) {
  int64_t count = 1;
  for (int64_t e : extents) count *= e;
  return count;
}

Lines lines_along(const std::vector<int64_t>& shape, size_t axis) {
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  return {count_of({shape.begin(), at}), *at, count_of({at + 1, shape.end()})};
}

DType position_type(int64_t elements) {
  return int_type(elements > std::numeric_limits<int32_t>::max() ? 64 : 32);
}

int64_t columns_of_task(int64_t inner) {
  for (int64_t columns = std::min(inner, kMostColumns); columns >= 16; --columns) {
    if (inner % columns == 0) return columns;
  }
  return std::max<int64_t>(inner, 1);
}

Rows::Rows(std::string_view op, const Tensor& data, int axis) {
  std::vector<Expr> shape = data.shape();
  if (shape.empty()) {
    bad_shape({op, "data"}, "there are no rows in a tensor of rank 0",
              "a tensor of rank 1 or more");
  }
  const auto at = static_cast<ptrdiff_t>(normalize_axis({op, "axis"}, axis, data.rank()));
  const auto constant = as_const_int(shape[static_cast<size_t>(at)]);
  if (!constant) {
    bad_shape({op, "data"},
              fmt::format("dimension {} of shape {} is not constant", at, shape_text(shape)),
              "a constant extent of that dimension");
  }
  extent = *constant;
  inner = product({shape.begin() + at + 1, shape.end()});
  shape.erase(shape.begin() + at);
  count = product(shape);
  others = std::move(shape);
}

Expr Rows::first(const Expr& row, int64_t length) const {
  if (is_one(inner)) return row * number(length);
  return floor_div(row, inner) * number(length) * inner + floor_mod(row, inner);
}

std::vector<Tensor> computed_by(const std::string& name, const std::vector<Tensor>& inputs,
                                const std::vector<te::ExternOutput>& outputs,
                                const std::function<Stmt(const Memories&, const Memories&)>& body) {
  te::ExternParts parts{.name = name, .inputs = inputs, .outputs = outputs};
  Memories ins, outs;
  const auto add = [&](Memories& to, const std::string& label, DType type) {
    parts.memory.push_back(buffer_var(label, type));
    to.emplace_back(parts.memory.back());
  };
  for (const Tensor& t : inputs) add(ins, t.name(), t.dtype());
  for (size_t k = 0; k < outputs.size(); ++k) {
    add(outs, outputs.size() == 1 ? name : fmt::format("{}_{}", name, k), outputs[k].dtype);
  }
  parts.body = body(ins, outs);
  return te::extern_op(std::move(parts)).outputs();
}

}  // namespace tw::topi
