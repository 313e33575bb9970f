// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/sort.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "runtime/error.h"
#include "schedule/topi/operator.h"
#include "schedule/topi/row_order.h"
#include "schedule/topi/statements.h"

namespace tw::topi {
namespace {

struct Wanted {
  int64_t keep;
  bool ascending;
  bool values, places;
  DType place_type;
};

std::vector<Tensor> sorted(std::string_view op, const Tensor& data, int axis, const Wanted& wanted,
                           const std::optional<Tensor>& valid_count = {}) {
  const Rows rows(op, data, axis);
  const RowOrder order = row_order(rows.extent, wanted.keep, wanted.ascending);
  std::vector<Expr> shape = rows.others;
  shape.insert(shape.begin() + normalize_axis({op, "axis"}, axis, data.rank()),
               number(wanted.keep));
  std::vector<te::ExternOutput> outputs;
  if (wanted.values) outputs.push_back({shape, data.dtype()});
  if (wanted.places) outputs.push_back({shape, wanted.place_type});
  std::vector<Tensor> inputs = {data};
  if (valid_count) inputs.push_back(*valid_count);

  const auto one_row = [&](const Expr& r, const Memory& source, const Memories& outs,
                           const Memory& keys, const Memory& places, const Memory& ranks,
                           const Expr& count) {
    return let("row", rows.first(r, rows.extent), [&](const Expr& first) {
      const auto element = [&](const Expr& j) { return source[first + j * rows.inner]; };
      const Expr at = rows.first(r, wanted.keep), result = order.result;
      const auto put = [&](const Expr& t, const Expr& place) {
        std::vector<Stmt> stores;
        if (wanted.values)
          stores.push_back(outs.front().store(at + t * rows.inner, element(place)));
        if (wanted.places) stores.push_back(outs.back().store(at + t * rows.inner, place));
        return block(stores);
      };
      std::vector<Stmt> steps = {
          order.run(keys, places, ranks, count, [&](const Expr& j) { return key_of(element(j)); }),
          loop("t", min(count, number(wanted.keep)),
               [&](const Expr& t) { return put(t, places[result + t]); })};
      if (valid_count) {
        steps.push_back(loop("t", number(rows.extent) - count,
                             [&](const Expr& t) { return put(count + t, count + t); }));
      }
      return block(steps);
    });
  };
  return computed_by(
      std::string(op), inputs, outputs, [&](const Memories& ins, const Memories& outs) -> Stmt {
        if (rows.extent == 0 || wanted.keep == 0) return make(Evaluate{.value = number(0)});
        const DType key = key_type(data.dtype()), place = int_type(32);
        return for_rows(rows.count, 8 * rows.extent, [&](const Expr& first, const Expr& count) {
          return allocate("keys", key, number(order.memory), [&](const Memory& keys) {
            return allocate("places", place, number(order.memory), [&](const Memory& places) {
              return allocate(
                  "ranks", place, number(order.chunk),
                  [&](const Memory& ranks) {
                    return loop("r", count, [&](const Expr& k) {
                      const Expr r = first + k;
                      if (!valid_count)
                        return one_row(r, ins[0], outs, keys, places, ranks, number(rows.extent));
                      const Expr valid = max(min(ins[1][r], number(rows.extent)), number(0));
                      return let("valid", valid, [&](const Expr& v) {
                        return one_row(r, ins[0], outs, keys, places, ranks, v);
                      });
                    });
                  },
                  "local");
            });
          });
        });
      });
}

void require_place_type(const Place& place, DType type, int64_t extent) {
  const int64_t most = type.is_float()       ? int64_t{1} << (type.bits == 64   ? 53
                                                              : type.bits == 32 ? 24
                                                                                : 8)
                       : type == bool_type() ? 1
                       : type.bits >= 32     ? INT32_MAX
                                             : int64_t{1} << (type.bits - 1);
  if (extent > most) {
    bad_argument(place, fmt::format("{} for positions of {} elements", to_string(type), extent),
                 "a type that holds them all, such as int32");
  }
}

}  // namespace

Tensor sort(const Tensor& data, int axis, bool is_ascend) {
  const int64_t keep = Rows("sort", data, axis).extent;
  return sorted("sort", data, axis, {keep, is_ascend, true, false, int_type(32)})[0];
}

Tensor argsort(const Tensor& data, const std::optional<Tensor>& valid_count, int axis,
               bool is_ascend, DType dtype) {
  const Rows rows("argsort", data, axis);
  require_place_type({"argsort", "dtype"}, dtype, rows.extent);
  if (valid_count) {
    const Place place{"argsort", "valid_count"};
    require_rank(place, *valid_count, data.rank() - 1);
    for (size_t d = 0; d < rows.others.size(); ++d)
      require_extent(place, *valid_count, static_cast<int>(d), rows.others[d]);
    if (valid_count->dtype() != int_type(32)) {
      raise({.code = ErrorCode::TypeMismatch,
             .what = fmt::format("argsort: valid_count is of {}", to_string(valid_count->dtype())),
             .legal = "int32"});
    }
  }
  return sorted("argsort", data, axis, {rows.extent, is_ascend, false, true, dtype},
                valid_count)[0];
}

std::vector<Tensor> topk(const Tensor& data, int64_t k, int axis, const std::string& ret_type,
                         bool is_ascend, DType dtype) {
  const Rows rows("topk", data, axis);
  if (k > rows.extent) {
    bad_argument({"topk", "k"}, fmt::format("{} of {} elements", k, rows.extent),
                 fmt::format("at most {}, or 0 for all", rows.extent));
  }
  const bool values = ret_type != "indices", places = ret_type != "values";
  if (ret_type != "both" && values && places) {
    bad_argument({"topk", "ret_type"}, fmt::format("'{}'", ret_type),
                 "\"both\", \"values\" or \"indices\"");
  }
  if (places) require_place_type({"topk", "dtype"}, dtype, rows.extent);
  return sorted("topk", data, axis, {k < 1 ? rows.extent : k, is_ascend, values, places, dtype});
}

std::vector<Operator> sort_rows() {
  const ParameterText data{"data", "numbers; the extent along `axis` is constant"},
      axis{"axis", "a dimension, from the end where negative", -1};
  const auto ascend = [](bool initial) {
    return ParameterText{"is_ascend", "from the least to the greatest", initial};
  };
  return {
      make_operator(
          "topi", "sort",
          [](const Tensor& x, int64_t along, bool up) {
            return sort(x, static_cast<int>(along), up);
          },
          {data, axis, ascend(true)},
          "The elements in order; equal ones keep theirs, and NaN is beyond all numbers. NumPy "
          "sort."),
      make_operator(
          "topi", "argsort",
          [](const Tensor& x, const std::optional<Tensor>& valid, int64_t along, bool up,
             DType type) { return argsort(x, valid, static_cast<int>(along), up, type); },
          {data,
           {"valid_count", "int32, how many of each row are sorted; None: all", Value()},
           axis,
           ascend(true),
           {"dtype", "of the positions", float_type(32)}},
          "The positions of the elements in order; equal ones keep theirs, and NaN is beyond all "
          "numbers. NumPy argsort."),
      make_operator(
          "topi", "topk",
          [](const Tensor& x, int64_t k, int64_t along, const std::string& wanted, bool up,
             DType type) { return topk(x, k, static_cast<int>(along), wanted, up, type); },
          {data,
           {"k", "how many; all where below 1", int64_t{1}},
           axis,
           {"ret_type", "\"both\", \"values\" or \"indices\"", std::string("both")},
           ascend(false),
           {"dtype", "of the positions", int_type(64)}},
          "The first k elements in order and their positions, a list. ONNX TopK.")};
}

}  // namespace tw::topi
