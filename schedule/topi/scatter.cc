// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ir/expr.h"
#include "runtime/error.h"
#include "schedule/te/extern.h"
#include "schedule/topi/operator.h"
#include "schedule/topi/statements.h"

namespace tw::topi {
namespace {

using Extents = std::vector<int64_t>;

Expr combined(Reduction reduction, const Expr& old, const Expr& update) {
  switch (reduction) {
    case Reduction::Update:
      return update;
    case Reduction::Add:
      return old + update;
    case Reduction::Mul:
      return old * update;
    case Reduction::Min:
      return min(old, update);
    case Reduction::Max:
      return max(old, update);
  }
  return {};
}

constexpr int64_t kEnoughTasks = 16;        // for the threads of usual machines
constexpr int64_t kColumnsOfElements = 16;  // a line of the cache

Expr constant(DType type, int64_t value) { return make_const(type, value); }

// The row-major element of extents `to` at the position of element `flat` of extents `from`, which
// are no larger.
Expr moved(Expr flat, const Extents& from, const Extents& to) {
  if (from == to) return flat;
  const DType type = flat.dtype();
  Expr result = make_zero(type);
  int64_t stride = 1;
  for (size_t d = from.size(); d-- > 0;) {
    if (from[d] > 1) {
      result = result + floor_mod(flat, constant(type, from[d])) * constant(type, stride);
      flat = floor_div(flat, constant(type, from[d]));
    }
    stride *= to[d];
  }
  return result;
}

// Where updates go: to the element `row` of a line of the result, as an index says.
struct Target {
  int64_t lines = 1;    // that do not share elements of the result
  int64_t length = 1;   // elements, or rows, of a line of the result
  int64_t updates = 1;  // of each line, in order
  int64_t columns = 1;  // elements of a row, of updates and of the result
};

// One scatter: memory, and what it consists of. Threads own elements of the result: lines, columns
// of rows, and where that are too few, ranges of the rows, for which each looks at all indices.
class Scatter {
 public:
  Scatter(const std::string& name, const Tensor* data, const Extents& shape, const Tensor& indices,
          const Tensor& updates)
      : name_(name),
        data_(data),
        shape_(shape),
        indices_(indices),
        updates_(updates),
        from_(buffer_var("data", updates.dtype())),
        at_(buffer_var("indices", indices.dtype())),
        new_(buffer_var("updates", updates.dtype())),
        to_(buffer_var("result", updates.dtype())),
        type_(position_type(
            std::max(count_of(shape), count_of(constant_shape({name, "updates"}, updates))))) {}
  DType type() const { return type_; }
  const Memory& indices() const { return at_; }
  const Memory& updates() const { return new_; }
  const Memory& result() const { return to_; }

  // Where rows of updates go whole: row_of(line, update) is where.
  Tensor rows(const Target& target, Reduction reduction,
              const std::function<Expr(const Expr& line, const Expr& update)>& row_of) const {
    const int64_t width = columns_of_task(target.columns);
    const int64_t blocks = target.columns / std::max<int64_t>(width, 1);
    return tasks(target, blocks, kEnoughTasks, [&](const Task& task) {
      const Expr first = task.block * constant(type_, width);
      return loop("k", target.updates, type_, [&](const Expr& k) {
        const Expr row = row_of(task.line, k);
        const Expr to =
            (task.line * constant(type_, target.length) + row) * constant(type_, target.columns) +
            first;
        const Expr from =
            (task.line * constant(type_, target.updates) + k) * constant(type_, target.columns) +
            first;
        return task.if_mine(
            row, vector_loop("j", width, type_, updates_.dtype(), [&](const Expr& j) {
              return to_.store(to + j, combined(reduction, to_[to + j], new_[from + j]));
            }));
      });
    });
  }

  // Where each element of updates has an index of its own.
  Tensor elements(const Extents& updates, size_t axis, Reduction reduction, IndexMode mode) const {
    const Lines whole = lines_along(shape_, axis), part = lines_along(updates, axis);
    const auto before = [&](const Extents& e) {
      return Extents(e.begin(), e.begin() + static_cast<std::ptrdiff_t>(axis));
    };
    const auto behind = [&](const Extents& e) {
      return Extents(e.begin() + static_cast<std::ptrdiff_t>(axis) + 1, e.end());
    };
    // Each column has indices of its own, so that a task of few of them reads no more of these.
    const int64_t all = columns_of_task(part.inner);
    const int64_t width = all % kColumnsOfElements == 0 ? kColumnsOfElements : all;
    const Target target{part.outer, whole.length, part.length, part.inner};
    return tasks(target, part.inner / std::max<int64_t>(width, 1), 1, [&](const Task& task) {
      const Expr line = moved(task.line, before(updates), before(shape_));
      return loop("k", part.length, type_, [&](const Expr& k) {
        return loop("j", width, type_, [&](const Expr& j) {
          const Expr column = task.block * constant(type_, width) + j;
          const Expr from =
              (task.line * constant(type_, part.length) + k) * constant(type_, part.inner) + column;
          const Expr row = place(from, whole.length, mode);
          const Expr to =
              (line * constant(type_, whole.length) + row) * constant(type_, whole.inner) +
              moved(column, behind(updates), behind(shape_));
          const Stmt update =
              task.if_mine(row, to_.store(to, combined(reduction, to_[to], new_[from])));
          const Expr inside = has_place(at_[from], constant(type_, whole.length), mode);
          return inside.defined() ? when(inside, update) : update;
        });
      });
    });
  }

  // Where in an extent the index at a position of `indices` says.
  Expr place(const Expr& position, int64_t extent, IndexMode mode = IndexMode::FromEnd) const {
    return cast(type_, place_of(at_[position], constant(type_, extent), mode));
  }

 private:
  struct Task {
    Expr line, block;
    Expr low, high;  // of rows; undefined: all
    Stmt if_mine(const Expr& row, const Stmt& update) const {
      if (!low.defined()) return update;
      return make(IfThenElse{.condition = low <= row && row < high, .then_case = update});
    }
  };

  // `most_ranges`: into how many ranges of rows the result may be divided. Who owns one looks at
  // all indices, which pays where an index moves more than an element.
  Tensor tasks(const Target& target, int64_t blocks, int64_t most_ranges,
               const std::function<Stmt(const Task&)>& body) const {
    const int64_t own = std::max<int64_t>(target.lines * blocks, 1);
    const int64_t work = target.lines * target.updates * target.columns;
    const int64_t wanted = is_worth_threads(work) ? most_ranges / own : 1;
    const int64_t ranges = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(target.length, 1));
    const int64_t rows = (target.length + ranges - 1) / ranges;
    const int64_t count = count_of(shape_);
    constexpr int64_t kChunk = 4096;  // elements that a thread copies at a time
    const auto begin = [&](const Expr& at) {
      return to_.store(at, data_ != nullptr ? from_[at] : make_zero(updates_.dtype()));
    };
    std::vector<Stmt> parts;
    if (count >= kChunk) {
      parts.push_back(parallel_loop("chunk", count / kChunk, type_, count, [&](const Expr& chunk) {
        return vector_loop("i", kChunk, type_, updates_.dtype(), [&](const Expr& i) {
          return begin(chunk * constant(type_, kChunk) + i);
        });
      }));
    }
    parts.push_back(vector_loop("i", count % kChunk, type_, updates_.dtype(), [&](const Expr& i) {
      return begin(constant(type_, count - count % kChunk) + i);
    }));
    if (work > 0 && count > 0) {
      parts.push_back(
          parallel_loop("task", target.lines * blocks * ranges, type_, work, [&](const Expr& task) {
            const auto quotient = [&](const Expr& e, int64_t n) {
              return n == 1 ? e : floor_div(e, constant(type_, n));
            };
            const auto remainder = [&](const Expr& e, int64_t n) {
              return n == 1 ? make_zero(type_) : floor_mod(e, constant(type_, n));
            };
            const Expr rest = quotient(task, ranges);
            Task own_part{quotient(rest, blocks), remainder(rest, blocks), {}, {}};
            if (ranges > 1) {
              own_part.low = remainder(task, ranges) * constant(type_, rows);
              own_part.high = own_part.low + constant(type_, rows);
            }
            return body(own_part);
          }));
    }
    std::vector<Tensor> inputs = {indices_, updates_};
    std::vector<Var> memory = {at_.buffer(), new_.buffer(), to_.buffer()};
    if (data_ != nullptr) {
      inputs.insert(inputs.begin(), *data_);
      memory.insert(memory.begin(), from_.buffer());
    }
    std::vector<Expr> shape;
    for (int64_t e : shape_) shape.push_back(make_const(int_type(32), e));
    return te::extern_op({.name = name_,
                          .inputs = inputs,
                          .outputs = {{shape, updates_.dtype()}},
                          .memory = memory,
                          .body = block(parts)})
        .output(0);
  }

  std::string name_;
  const Tensor* data_;
  Extents shape_;
  Tensor indices_, updates_;
  Memory from_, at_, new_, to_;
  DType type_;
};

void require_one_type(std::string_view op, const Tensor& data, const Tensor& updates) {
  if (data.dtype() == updates.dtype()) return;
  raise({.code = ErrorCode::TypeMismatch,
         .what = fmt::format("{}: updates of {} for data of {}", op, to_string(updates.dtype()),
                             to_string(data.dtype())),
         .legal = "updates of the type of data; cast them"});
}

void require_rows(const Place& place, int64_t updates, int64_t length) {
  if (updates > 0 && length == 0) {
    bad_shape(place, "updates of a tensor without elements", "an extent of 1 or more");
  }
}

Tensor scatter_lines(std::string_view op, const Tensor* data, const Extents& shape,
                     const Tensor& indices, const Tensor& updates, int axis, Reduction reduction,
                     const std::string& name, IndexMode mode = IndexMode::FromEnd) {
  require_integers({op, "indices"}, indices);
  const auto rank = static_cast<int>(shape.size());
  const auto along = static_cast<size_t>(normalize_axis({op, "axis"}, axis, rank));
  require_rank({op, "indices"}, indices, rank);
  const Extents given = constant_shape({op, "indices"}, indices);
  if (constant_shape({op, "updates"}, updates) != given) {
    bad_shape({op, "updates"},
              fmt::format("shape {} for indices of shape {}", shape_text(updates.shape()),
                          shape_text(indices.shape())),
              "the shape of the indices");
  }
  for (size_t d = 0; d < given.size(); ++d) {
    if (d != along && given[d] > shape[d]) {
      bad_shape({op, "indices"},
                fmt::format("shape {} where data has ({})", shape_text(indices.shape()),
                            fmt::join(shape, ", ")),
                "extents no larger than those of data, but for axis");
    }
  }
  require_rows({op, "indices"}, count_of(given), shape[along]);
  return Scatter(name, data, shape, indices, updates).elements(given, along, reduction, mode);
}

Tensor scatter_columns(std::string_view op, const Tensor* data, const Extents& shape,
                       const Tensor& indices, const Tensor& updates, int batch, Reduction reduction,
                       const std::string& name) {
  require_integers({op, "indices"}, indices);
  const Extents names = constant_shape({op, "indices"}, indices);
  const auto rank = static_cast<int64_t>(shape.size());
  if (names.empty() || names[0] > rank - batch) {
    bad_shape({op, "indices"}, fmt::format("shape {}", shape_text(indices.shape())),
              fmt::format("[m, …] with an m of at most {}, the dimensions of data", rank - batch));
  }
  const auto named = static_cast<std::ptrdiff_t>(names[0]) + batch;
  Extents expected(names.begin() + 1, names.end());
  expected.insert(expected.end(), shape.begin() + named, shape.end());
  if (constant_shape({op, "updates"}, updates) != expected) {
    bad_shape({op, "updates"}, fmt::format("shape {}", shape_text(updates.shape())),
              fmt::format("({}), that of the columns and of what each of them names",
                          fmt::join(expected, ", ")));
  }
  const Extents lines(shape.begin(), shape.begin() + batch);
  const Extents rows(shape.begin() + batch, shape.begin() + named);
  const int64_t columns = count_of(Extents(names.begin() + 1, names.end()));
  const Target target{count_of(lines), count_of(rows),
                      columns / std::max<int64_t>(count_of(lines), 1),
                      count_of(Extents(shape.begin() + named, shape.end()))};
  require_rows({op, "indices"}, columns, target.length);
  const Scatter scatter(name, data, shape, indices, updates);
  const DType type = scatter.type();
  return scatter.rows(target, reduction, [&](const Expr& line, const Expr& update) {
    Expr row = make_zero(type);
    const Expr column = line * constant(type, target.updates) + update;
    for (size_t m = 0; m < rows.size(); ++m) {
      const Expr at = column + constant(type, static_cast<int64_t>(m) * columns);
      row = row * constant(type, rows[m]) + scatter.place(at, rows[m]);
    }
    return row;
  });
}

}  // namespace

Reduction reduction_named(const Place& place, std::string_view text) {
  constexpr std::string_view kNames[] = {"update", "add", "mul", "min", "max"};
  const auto found = std::ranges::find(kNames, text);
  if (found == std::end(kNames)) {
    bad_argument(place, fmt::format("'{}'", text), "update, add, mul, min, max");
  }
  return static_cast<Reduction>(found - std::begin(kNames));
}

Tensor scatter_elements(const Tensor& data, const Tensor& indices, const Tensor& updates, int axis,
                        std::string_view reduction, const std::string& name) {
  require_one_type("scatter_elements", data, updates);
  return scatter_lines("scatter_elements", &data,
                       constant_shape({"scatter_elements", "data"}, data), indices, updates, axis,
                       reduction_named({"scatter_elements", "reduction"}, reduction), name);
}

Tensor scatter_nd(const Tensor& data, const Tensor& indices, const Tensor& updates,
                  std::string_view mode, const std::string& name) {
  require_one_type("scatter_nd", data, updates);
  return scatter_columns("scatter_nd", &data, constant_shape({"scatter_nd", "data"}, data), indices,
                         updates, 0, reduction_named({"scatter_nd", "mode"}, mode), name);
}

Tensor take_grad(const Tensor& grad, const std::vector<Expr>& shape, const Tensor& indices,
                 std::optional<int> axis, int batch_dims, std::string_view mode,
                 const std::string& name) {
  require_integers({"take_grad", "indices"}, indices);
  const IndexMode beyond = index_mode({"take_grad", "mode"}, mode);
  const Extents extents = constant_shape({"take_grad", "shape"}, shape);
  const Extents taken = constant_shape({"take_grad", "indices"}, indices);
  const auto rank = static_cast<int>(extents.size());
  Lines whole{1, count_of(extents), 1};
  int64_t batches = 1;
  if (axis) {
    const int along = normalize_axis({"take_grad", "axis"}, *axis, rank);
    whole = lines_along(extents, static_cast<size_t>(along));
    batches = count_of({extents.begin(), extents.begin() + batch_dims});
  }
  const int64_t updates = count_of(taken) / std::max<int64_t>(batches, 1);
  require_rows({"take_grad", "indices"}, updates * whole.outer * whole.inner, whole.length);
  const Scatter scatter(name, nullptr, extents, indices, grad);
  const DType type = scatter.type();
  const int64_t lines_of_batch = whole.outer / std::max<int64_t>(batches, 1);
  return scatter.rows(
      {whole.outer, whole.length, updates, whole.inner}, Reduction::Add,
      [&](const Expr& line, const Expr& update) {
        const Expr batch =
            batches == 1 ? make_zero(type) : floor_div(line, constant(type, lines_of_batch));
        return scatter.place(batch * constant(type, updates) + update, whole.length, beyond);
      });
}

Tensor gather_grad(const Tensor& grad, const std::vector<Expr>& shape, int axis,
                   const Tensor& indices, IndexMode mode, const std::string& name) {
  return scatter_lines("gather_grad", nullptr, constant_shape({"gather_grad", "shape"}, shape),
                       indices, grad, axis, Reduction::Add, name, mode);
}

Tensor gather_nd_grad(const Tensor& grad, const std::vector<Expr>& shape, const Tensor& indices,
                      int batch_dims, const std::string& name) {
  return scatter_columns("gather_nd_grad", nullptr,
                         constant_shape({"gather_nd_grad", "shape"}, shape), indices, grad,
                         batch_dims, Reduction::Add, name);
}

std::vector<Operator> scatter_rows() {
  const ParameterText data{"data", "of constant shape"},
      indices{"indices", "integers, from the end where negative; the nearest one where outside"};
  constexpr std::string_view kReductions =
      "update: the last update of an element stays; add, mul, min, max: with what was there";
  return {
      make_operator(
          "topi", "scatter_elements",
          [](const Tensor& data, const Tensor& indices, const Tensor& updates, int64_t axis,
             const std::string& reduction) {
            return scatter_elements(data, indices, updates, static_cast<int>(axis), reduction);
          },
          {data,
           indices,
           {"updates", "of the shape of the indices"},
           {"axis", "a dimension", 0},
           {"reduction", kReductions, "update"}},
          "data with each update at its own position but along axis, where the index says. ONNX "
          "ScatterElements."),
      make_operator(
          "topi", "scatter",
          [](const Tensor& data, const Tensor& indices, const Tensor& updates, int64_t axis) {
            return scatter_elements(data, indices, updates, static_cast<int>(axis));
          },
          {data, indices, {"updates", "of the shape of the indices"}, {"axis", "a dimension", 0}},
          "data with each update at its own position but along axis, where the index says; the "
          "last one of an element stays. ONNX Scatter."),
      make_operator(
          "topi", "scatter_add",
          [](const Tensor& data, const Tensor& indices, const Tensor& updates, int64_t axis) {
            return scatter_elements(data, indices, updates, static_cast<int>(axis), "add");
          },
          {data, indices, {"updates", "of the shape of the indices"}, {"axis", "a dimension", 0}},
          "data to which each update is added at its own position but along axis, where the index "
          "says, in row-major order. PyTorch scatter_add."),
      make_operator(
          "topi", "scatter_nd",
          [](const Tensor& data, const Tensor& indices, const Tensor& updates,
             const std::string& mode) { return scatter_nd(data, indices, updates, mode); },
          {data,
           {"indices",
            "[m, y…], integers, from the end where negative; the nearest one where outside"},
           {"updates", "y… + data.shape[m:]"},
           {"mode", kReductions, "update"}},
          "data with updates where the columns of indices say. ONNX ScatterND."),
  };
}

}  // namespace tw::topi
