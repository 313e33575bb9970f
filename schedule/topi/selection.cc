// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/selection.h"

#include "ir/expr.h"
#include "schedule/topi/statements.h"

namespace tw::topi {
namespace {

void require_places(std::string_view op, const Tensor& data, const Tensor& indices, size_t axis) {
  const Place place{op, "indices"};
  if (!indices.dtype().is_integer()) {
    bad_argument(place, "indices of " + to_string(indices.dtype()), "integers");
  }
  require_rank(place, indices, data.rank());
  const std::vector<Expr> shape = data.shape();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d != axis) require_extent(place, indices, static_cast<int>(d), shape[d]);
  }
}

}  // namespace

Tensor select_along(const Tensor& data, const Tensor& indices, int axis) {
  const auto at = static_cast<size_t>(normalize_axis({"select_along", "axis"}, axis, data.rank()));
  require_places("select_along", data, indices, at);
  return te::compute(
      indices.shape(),
      [&](const std::vector<Var>& i) {
        std::vector<Expr> from = to_exprs(i);
        const Expr index = cast(int_type(32), indices(from));
        from[at] = index;
        return if_then_else(number(0) <= index && index < data.shape()[at], data(from),
                            make_zero(data.dtype()));
      },
      "select_along", kInjective);
}

Tensor place_along(const Tensor& values, const Tensor& indices, int64_t extent, int axis) {
  const Rows rows("place_along", values, axis);
  const int at = normalize_axis({"place_along", "axis"}, axis, values.rank());
  require_places("place_along", values, indices, static_cast<size_t>(at));
  std::vector<Expr> shape = rows.others;
  shape.insert(shape.begin() + at, number(extent));
  const auto one_row = [&](const Expr& r, const Memories& ins, const Memory& out) {
    const Memory into = out.from(rows.first(r, extent));
    const Expr from = rows.first(r, rows.extent);
    const Stmt zeros = loop("j", number(extent), [&](const Expr& j) {
      return into.store(j * rows.inner, make_zero(values.dtype()));
    });
    const Stmt sums = loop("t", number(rows.extent), [&](const Expr& t) {
      const Expr element = from + t * rows.inner;
      return let("index", cast(int_type(32), ins[1][element]), [&](const Expr& index) {
        return when(number(0) <= index && index < number(extent),
                    into.add(index * rows.inner, ins[0][element]));
      });
    });
    return block({zeros, sums});
  };
  return computed_by("place_along", {values, indices}, {{shape, values.dtype()}},
                     [&](const Memories& ins, const Memories& outs) {
                       return for_rows(rows.count, extent + rows.extent,
                                       [&](const Expr& first, const Expr& count) {
                                         return loop("r", count, [&](const Expr& r) {
                                           return one_row(first + r, ins, outs[0]);
                                         });
                                       });
                     })[0];
}

}  // namespace tw::topi
