// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/cumulative.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ir/expr.h"
#include "runtime/error.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/operator.h"
#include "schedule/topi/statements.h"
#include "schedule/topi/transform.h"

namespace tw::topi {
namespace {

// A walk along lines with so many values, of neighbouring lines side by side, that go from one
// element to the next, of the type of `first`. The element is at `at` in inputs and output; `state`
// holds the values, that of this line at `state_at`.
using Step = std::function<Stmt(const Memories& inputs, const Memory& output, const Expr& at,
                                const Memory& state, const Expr& state_at)>;

Tensor walk(const std::string& name, const std::vector<Tensor>& inputs, DType result, size_t axis,
            bool reverse, const Expr& first, const Step& step) {
  const std::vector<int64_t> shape = constant_shape({name, "data"}, inputs[0]);
  const Lines lines = lines_along(shape, axis);
  const int64_t count = count_of(shape), width = columns_of_task(lines.inner);
  const int64_t blocks = std::max<int64_t>(lines.inner / width, 1);
  const DType type = position_type(count), sums = first.dtype();
  const auto constant = [&](int64_t v) { return make_const(type, v); };
  const auto columns = [&](const StatementOf& body) {
    return vector_loop("j", width, type, result, body);
  };
  const auto block_of_lines = [&](const Expr& begin, const Memories& from, const Memory& to) {
    return allocate(
        "state", sums, constant(width),
        [&](const Memory& state) {
          const Stmt start = columns([&](const Expr& j) { return state.store(j, first); });
          const Stmt steps = loop("k", lines.length, type, [&](const Expr& k) {
            const Expr place = reverse ? constant(lines.length - 1) - k : k;
            const Expr row = begin + place * constant(lines.inner);
            return columns([&](const Expr& j) { return step(from, to, row + j, state, j); });
          });
          return block({start, steps});
        },
        "local");
  };
  const auto all = [&](const Memories& from, const Memories& to) {
    return parallel_loop("task", lines.outer * blocks, type, count, [&](const Expr& task) {
      const Expr line = blocks == 1 ? task : floor_div(task, constant(blocks));
      const Expr block_of = blocks == 1 ? make_zero(type) : floor_mod(task, constant(blocks));
      return block_of_lines(
          line * constant(lines.length * lines.inner) + block_of * constant(width), from, to[0]);
    });
  };
  return computed_by(name, inputs, {{inputs[0].shape(), result}}, all)[0];
}

void require_numbers(const Place& place, DType type) {
  if (type.is_integer() || type.is_float()) return;
  raise({.code = ErrorCode::TypeMismatch,
         .what = fmt::format("{}: {} of {}", place.op, place.argument, to_string(type)),
         .legal = "integer or floating elements"});
}

Tensor running(std::string_view op, const Tensor& data, std::optional<int> axis,
               std::optional<DType> dtype, bool exclusive, bool reverse, const std::string& name,
               int first, Expr (*combine)(const Expr&, const Expr&)) {
  require_numbers({op, "data"}, data.dtype());
  const DType type = dtype.value_or(data.dtype());
  require_numbers({op, "dtype"}, type);
  if (!axis) {
    return running(op, data.rank() == 1 ? data : reshape(data, {product(data.shape())}), 0, dtype,
                   exclusive, reverse, name, first, combine);
  }
  const auto along = static_cast<size_t>(normalize_axis({op, "axis"}, *axis, data.rank()));
  const DType wide = accumulation_type(type);
  const Expr start = make_const(wide, first);
  return walk(name, {data}, type, along, reverse, start,
              [&](const Memories& in, const Memory& out, const Expr& at, const Memory& state,
                  const Expr& j) {
                const Stmt more = state.store(j, combine(state[j], cast(wide, in[0][at])));
                const Stmt result = out.store(at, cast(type, state[j]));
                return exclusive ? block({result, more}) : block({more, result});
              });
}

}  // namespace

Tensor cumsum(const Tensor& data, std::optional<int> axis, std::optional<DType> dtype,
              bool exclusive, bool reverse, const std::string& name) {
  return running("cumsum", data, axis, dtype, exclusive, reverse, name, 0,
                 [](const Expr& a, const Expr& b) { return a + b; });
}

Tensor cumprod(const Tensor& data, std::optional<int> axis, std::optional<DType> dtype,
               bool exclusive, bool reverse, const std::string& name) {
  return running("cumprod", data, axis, dtype, exclusive, reverse, name, 1,
                 [](const Expr& a, const Expr& b) { return a * b; });
}

Recurrence recurrence_named(const Place& place, std::string_view text) {
  if (text == "current") return Recurrence::Current;
  if (text == "before") return Recurrence::Before;
  if (text == "exclusive") return Recurrence::Exclusive;
  bad_argument(place, fmt::format("'{}'", text), "current, before, exclusive");
}

Tensor linear_recurrence(const Tensor& data, const Tensor& factor, int axis, Recurrence form,
                         bool reverse, const std::string& name) {
  const std::string_view op = "linear_recurrence";
  require_numbers({op, "data"}, data.dtype());
  if (factor.dtype() != data.dtype()) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("linear_recurrence: factors of {} for data of {}",
                               to_string(factor.dtype()), to_string(data.dtype())),
           .legal = "one type; cast the other"});
  }
  require_rank({op, "factor"}, factor, data.rank());
  for (int d = 0; d < data.rank(); ++d) {
    require_extent({op, "factor"}, factor, d, data.shape()[static_cast<size_t>(d)]);
  }
  const auto along = static_cast<size_t>(normalize_axis({op, "axis"}, axis, data.rank()));
  const DType type = data.dtype(), wide = accumulation_type(type);
  // The state is y, or for Before the part of the next y that comes of this one.
  return walk(
      name, {data, factor}, data.dtype(), along, reverse, make_zero(wide),
      [&](const Memories& in, const Memory& out, const Expr& at, const Memory& state,
          const Expr& j) {
        const Expr x = cast(wide, in[0][at]), a = cast(wide, in[1][at]);
        switch (form) {
          case Recurrence::Current:
            return block({state.store(j, x + a * state[j]), out.store(at, cast(type, state[j]))});
          case Recurrence::Before:
            return block(
                {out.store(at, cast(type, x + state[j])), state.store(j, a * (x + state[j]))});
          case Recurrence::Exclusive:
            return block({out.store(at, cast(type, state[j])), state.store(j, x + a * state[j])});
        }
        return Stmt();
      });
}

std::vector<Operator> cumulative_rows() {
  const auto row = [](std::string_view name, auto* function, std::string_view doc) {
    return make_operator(
        "topi", name,
        [function](const Tensor& data, std::optional<int64_t> axis, std::optional<DType> dtype,
                   std::optional<bool> exclusive, bool reverse) {
          const auto along = axis ? std::optional(static_cast<int>(*axis)) : std::nullopt;
          return function(data, along, dtype, exclusive.value_or(false), reverse);
        },
        {{"data", "numbers, of constant shape"},
         {"axis", "a dimension; None: all elements in row-major order, as a vector", Value()},
         {"dtype", "of the result; None: that of data", Value()},
         {"exclusive", "without the element itself; None: with it", Value()},
         {"reverse", "from the last element on", false}},
        doc);
  };
  return {row(
              "cumsum",
              +[](const Tensor& x, std::optional<int> axis, std::optional<DType> type, bool without,
                  bool reverse) { return cumsum(x, axis, type, without, reverse); },
              "The sum of the elements up to each. ONNX CumSum."),
          row(
              "cumprod",
              +[](const Tensor& x, std::optional<int> axis, std::optional<DType> type, bool without,
                  bool reverse) { return cumprod(x, axis, type, without, reverse); },
              "The product of the elements up to each. NumPy cumprod."),
          make_operator(
              "topi", "linear_recurrence",
              [](const Tensor& data, const Tensor& factor, int64_t axis, const std::string& form,
                 bool reverse) {
                return linear_recurrence(data, factor, static_cast<int>(axis),
                                         recurrence_named({"linear_recurrence", "form"}, form),
                                         reverse);
              },
              {{"data", "numbers, of constant shape"},
               {"factor", "of the shape and type of data"},
               {"axis", "a dimension"},
               {"form",
                "current: y[k] = data[k] + factor[k] * y[k - 1]; before: with factor[k - 1]; "
                "exclusive: y[k - 1] of the first",
                "current"},
               {"reverse", "from the last element on", false}},
              "A linear recurrence along axis, which begins with 0.")};
}

}  // namespace tw::topi
