// SPDX-License-Identifier: Apache-2.0
// Numbers as small integers: q stands for (q - zero point) * scale, with one scale and zero point
// for all, or one for each position of a dimension.
#include <algorithm>

#include "graph/ops/arithmetic.h"
#include "graph/ops/families.h"
#include "ir/expr.h"
#include "schedule/topi/common.h"

namespace tw::graph {
namespace {

constexpr AttributeSpec kAxis{"axis", AttributeType::Int, "1",
                              "the dimension of data that scales are for, where there are several"};
constexpr AttributeSpec kBlockSize{"block_size", AttributeType::Int, "0",
                                   "how many positions along `axis` share a scale, where scales "
                                   "have as many dimensions as data; 0: they have one or none"};
const InputSpec kScale{"scale",
                       "one number, or (c,), with c the extent of data along `axis`; or, with a "
                       "block_size, as many dimensions as data"};
const InputSpec kZeroPoint{"zero_point", "the shape of scale; else 0", "use_zero_point"};
constexpr AttributeSpec kUseZeroPoint{"use_zero_point", AttributeType::Bool, "True",
                                      "whether there is a zero point"};

// Input k has a number for all data, one for each position along `axis`, or one for each block of
// positions.
void check_scales(ShapeInference& s, size_t k) {
  const Shape &data = s.input(0), &scale = s.input(k);
  if (!scale.has_rank() || scale.rank() == 0 || !data.has_rank()) return;
  const int64_t block = s.attributes().integer("block_size");
  const auto refuse = [&] {
    s.fail(fmt::format("scales of shape {} for data of {}", to_string(scale), to_string(data)),
           block == 0
               ? "one, or one for each position of the dimension `axis`"
               : fmt::format("the shape of data, with one for {} positions along `axis`", block));
  };
  if (block < 0) s.fail(fmt::format("block_size is {}", block), "0 or more");
  if (block == 0) {
    if (scale.rank() > 1) refuse();
    if (scale[0] == 1 || scale[0] == kUnknown) return;
    const size_t axis = axis_of(s, s.attributes().integer("axis"), data.rank());
    if (data[axis] != kUnknown && data[axis] != scale[0]) refuse();
    return;
  }
  if (scale.rank() != data.rank()) refuse();
  const size_t axis = axis_of(s, s.attributes().integer("axis"), data.rank());
  for (size_t d = 0; d < data.rank(); ++d) {
    if (data[d] == kUnknown || scale[d] == kUnknown) continue;
    if (scale[d] != (d == axis ? (data[d] + block - 1) / block : data[d])) refuse();
  }
}

void infer_quantized(ShapeInference& s) {
  s.equate(0, 0);
  for (size_t k = 2; k < s.num_inputs(); ++k) {
    s.equate_inputs(k, 1);
  }
  check_scales(s, 1);
}

// The scale or zero point of a position of data.
Expr parameter(const AttributeValues& a, const te::Tensor& t, const std::vector<Var>& position) {
  const int64_t axis = a.integer("axis"), block = a.integer("block_size");
  if (block > 0) {
    std::vector<Expr> at = topi::to_exprs(position);
    Expr& along = at[plain_axis(axis, at.size())];
    along = floor_div(along, make_const(along.dtype(), block));
    return t(at);
  }
  if (t.rank() == 0) return t(std::vector<Expr>{});
  if (is_one(t.shape()[0])) return t(std::vector<Expr>{Expr(0)});
  return t(std::vector<Expr>{position[plain_axis(axis, position.size())]});
}

// What rounding is done in: half precision has too few digits for 8 bits and a zero point.
DType wide(DType type) { return type.bits < 32 ? float_type(32) : type; }

// round(x / scale) + zero point, halves to even.
Expr quantized(const AttributeValues& a, Tensors in, const std::vector<Var>& i) {
  const DType type = wide(in[0].dtype());
  const Expr x = tw::cast(type, in[0](topi::to_exprs(i)));
  const Expr level = call("nearbyint", {div(x, tw::cast(type, parameter(a, in[1], i)))});
  return in.size() > 2 ? level + tw::cast(type, parameter(a, in[2], i)) : level;
}

std::vector<te::Tensor> compute_quantize(const AttributeValues& a, Tensors in) {
  topi::require_float({"quantize", "data"}, in[0]);
  const DType type = a.dtype("out_dtype");
  return {te::compute(
      in[0].shape(),
      [&](const std::vector<Var>& i) { return saturating_cast(type, quantized(a, in, i)); },
      "T_quantize", topi::kElementwise)};
}

// round(x * factor) + zero point, halves to even, of int32.
std::vector<te::Tensor> compute_requantize(const AttributeValues& a, Tensors in) {
  const DType type = a.dtype("out_dtype"), between = in[1].dtype();
  topi::require_float({"requantize", "factor"}, in[1]);
  return {te::compute(
      in[0].shape(),
      [&](const std::vector<Var>& i) {
        const Expr x = tw::cast(between, in[0](topi::to_exprs(i)));
        Expr level = call("nearbyint", {x * parameter(a, in[1], i)});
        if (in.size() > 2) level = level + tw::cast(between, parameter(a, in[2], i));
        return saturating_cast(type, level);
      },
      "T_requantize", topi::kElementwise)};
}

// The zero point may be one for all where factors are several.
void infer_requantized(ShapeInference& s) {
  s.equate(0, 0);
  for (size_t k = 1; k < s.num_inputs(); ++k) check_scales(s, k);
}

void infer_quantize_type(TypeInference& t) {
  const DType type = t.attributes().dtype("out_dtype");
  if (type.is_float() || type == bool_type()) {
    t.fail(fmt::format("out_dtype is {}", to_string(type)), "an integer type such as int8");
  }
  t.narrow_output(0, type);
  if (t.num_inputs() > 2) t.narrow_input(2, type);
}

std::vector<te::Tensor> compute_dequantize(const AttributeValues& a, Tensors in) {
  const DType type = in[1].dtype(), whole = int_type(32);
  topi::require_float({"dequantize", "scale"}, in[1]);
  return {te::compute(
      in[0].shape(),
      [&](const std::vector<Var>& i) {
        Expr level = tw::cast(whole, in[0](topi::to_exprs(i)));
        if (in.size() > 2) level = level - tw::cast(whole, parameter(a, in[2], i));
        return tw::cast(type, level) * parameter(a, in[1], i);
      },
      "T_dequantize", topi::kElementwise)};
}

void infer_dequantize_type(TypeInference& t) {
  t.equate(1, 0);
  if (t.num_inputs() > 2) {
    t.equate_inputs(2, 0);
  }
}

// What has an element for each channel or block, or one, beside data of some shape.
Entry aligned(const Arithmetic& n, const Entry& e, const Shape& shape, const Shape& data) {
  const size_t rank = data.rank();
  if (const int64_t block = n.attributes().integer("block_size"); block > 0) {
    const size_t axis = plain_axis(n.attributes().integer("axis"), rank);
    const Attributes repeats{{"repeats", fmt::format("{}", block)},
                             {"axis", fmt::format("{}", axis)}};
    return n.slice(n("repeat", {e}, repeats), axis, 0, data[axis]);
  }
  if (shape.rank() == 0 || rank == 0) return shape.rank() == 0 ? e : n.reshape(e, {});
  if (shape[0] == 1) return e;
  const size_t behind = rank - 1 - plain_axis(n.attributes().integer("axis"), rank);
  if (behind == 0) return e;
  return n("expand_dims", {e}, {{"axis", "1"}, {"num_newaxis", fmt::format("{}", behind)}});
}

Entries expand_dequantize(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const Shape& data = n.ranked(shapes, 0);
  const Entry& scale = n.input(1);
  Entry level = n("cast_like", {n.input(0), scale});
  if (n.num_inputs() > 2) {
    level =
        n.sub(level, aligned(n, n("cast_like", {n.input(2), scale}), n.ranked(shapes, 2), data));
  }
  return {n.mul(level, aligned(n, scale, n.ranked(shapes, 1), data))};
}

// data as it is after quantize and dequantize, and whether it is inside the limits.
std::vector<te::Tensor> compute_fake(const AttributeValues& a, Tensors in, bool inside) {
  topi::require_float({"fake_quantize", "data"}, in[0]);
  const DType type = in[0].dtype(), between = wide(type);
  const Expr low = make_const_float(between, a.real("quant_min")),
             high = make_const_float(between, a.real("quant_max"));
  return {te::compute(
      in[0].shape(),
      [&](const std::vector<Var>& i) {
        const Expr level = quantized(a, in, i);
        if (inside) return tw::cast(type, level >= low && level <= high);
        const auto value = [&](size_t k) { return tw::cast(between, parameter(a, in[k], i)); };
        return tw::cast(type, (tw::max(low, tw::min(level, high)) - value(2)) * value(1));
      },
      inside ? "T_inside" : "T_fake_quantize", topi::kElementwise)};
}

Op fake_quantize(bool inside) {
  using enum AttributeType;
  return {.name = inside ? "_fake_quantize_inside" : "fake_quantize",
          .doc = inside
                     ? "1 where fake_quantize's data is inside the limits, else 0."
                     : "What quantize and dequantize make of data, in its own type: for training "
                       "with the errors of integers. The gradient of data is that of the output "
                       "where data is inside the limits (straight-through), as in PyTorch.",
          .inputs = {{"data", "any shape, floating"}, kScale, {"zero_point", "the shape of scale"}},
          .attributes = {{"quant_min", Float, "-128", "the least integer"},
                         {"quant_max", Float, "127", "the greatest integer"},
                         kAxis,
                         kBlockSize},
          .infer_shape = infer_quantized,
          .infer_type = first_type,
          .pattern = Pattern::Broadcast,
          .compute = [inside](const AttributeValues& a,
                              Tensors in) { return compute_fake(a, in, inside); },
          .gradient =
              [inside](const NodeRef& node, const Entries& g) {
                const GradientOf n(node);
                if (inside) return flat(n, g[0]);
                const Entry mask = n("_fake_quantize_inside", {n.input(0), n.input(1), n.input(2)},
                                     Attributes(node->attributes));
                return first_gradient(n, n.product(g[0], mask));
              }};
}

// Scale and zero point so that 0 to 255 are the least to the greatest of data and 0.
Entries expand_dynamic_quantize(const NodeRef& node, std::span<const Shape>) {
  const Arithmetic n(node);
  const Entry& x = n.input(0);
  const auto extreme = [&](std::string_view reduction, std::string_view with_zero) {
    const Entry e = n(reduction, {x});
    return n(with_zero, {e, n("zeros_like", {e})});
  };
  const Entry least = extreme("min", "broadcast_min"), most = extreme("max", "broadcast_max");
  const Entry step = n.mul(n.sub(most, least), 1.0 / 255);
  // Of zeros alone any scale does.
  const Entry scale = n.add(step, n("broadcast_equal", {step, n("zeros_like", {step})}));
  const Entry zero_point = n("quantize", {n("negative", {least}), scale},
                             {{"out_dtype", "uint8"}, {"use_zero_point", "False"}});
  return {n("quantize", {x, scale, zero_point}, {{"out_dtype", "uint8"}}), scale, zero_point};
}

void infer_dynamic_quantize(ShapeInference& s) {
  s.equate(0, 0);
  for (size_t k = 1; k < 3; ++k) s.narrow_output(k, Shape(std::vector<int64_t>{}));
}

// Of zero points: one number, or for rhs one for each column.
void infer_matmul_integer(ShapeInference& s) {
  const Shape &a = s.input(0), &b = s.input(1);
  for (size_t k = 0; k < 2; ++k) {
    if (s.input(k).has_rank() && s.input(k).rank() < 2) {
      s.fail(fmt::format("an operand of shape {}", to_string(s.input(k))), "rank 2 or more");
    }
  }
  if (!a.has_rank() || !b.has_rank()) return;
  const bool turned = s.attributes().flag("transpose_b");
  const int64_t ka = a[a.rank() - 1], kb = b[b.rank() - (turned ? 1 : 2)];
  if (ka != kUnknown && kb != kUnknown && ka != kb) {
    s.fail(fmt::format("products of {} and {}", to_string(a), to_string(b)),
           "as many columns of lhs as rows of rhs");
  }
  const auto before = [](const Shape& shape) {
    return Extents(shape.extents->begin(), shape.extents->end() - 2);
  };
  const std::optional<Shape> batch = broadcast_of(before(a), before(b));
  if (!batch) {
    s.fail(fmt::format("products of {} and {}", to_string(a), to_string(b)),
           "dimensions before the matrices that are equal, 1 or missing");
  }
  Extents out = *batch->extents;
  out.push_back(a[a.rank() - 2]);
  out.push_back(b[b.rank() - (turned ? 2 : 1)]);
  s.narrow_output(0, out);
}

void infer_matmul_integer_type(TypeInference& t) {
  t.narrow_output(0, int_type(32));
  for (size_t k = 0; k < 2; ++k) {
    if (t.input(k) && (t.input(k)->is_float() || t.input(k)->bits != 8)) {
      t.fail(fmt::format("an operand of {}", to_string(*t.input(k))), "int8 or uint8");
    }
  }
  const AttributeValues& a = t.attributes();
  size_t next = 2;
  for (size_t k = 0; k < 2; ++k) {
    if (!a.flag(k == 0 ? "use_lhs_zero_point" : "use_rhs_zero_point")) continue;
    t.equate_inputs(next++, k);
  }
}

// sum((a - z)(b - w)) = sum(a b) - z sum(b) - w sum(a) + k z w: the product of bytes has
// instructions of its own.
Entries expand_matmul_integer(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const auto whole = [&](const Entry& e) { return n("cast", {e}, {{"dtype", "int32"}}); };
  const bool turned = a.flag("transpose_b");
  const auto total = [&](size_t k, std::string_view axis, bool keep) {
    return n("sum", {whole(n.input(k))},
             {{"axis", std::string(axis)}, {"keepdims", Arithmetic::text(keep)}});
  };
  // Of the columns of the product: (…, 1, n).
  const auto total_of_rhs = [&] {
    if (!turned) return total(1, "-2", true);
    const size_t row = n.ranked(shapes, 1).rank() - 2;
    return n("expand_dims", {total(1, "-1", false)}, {{"axis", fmt::format("{}", row)}});
  };
  Entry result = n("batch_matmul", {n.input(0), n.input(1)},
                   {{"transpose_b", Arithmetic::text(turned)}, {"out_dtype", "int32"}});
  std::optional<Entry> z, w;
  size_t next = 2;
  if (a.flag("use_lhs_zero_point")) z = whole(n.input(next++));
  if (a.flag("use_rhs_zero_point")) w = whole(n.input(next));
  if (z) result = n.sub(result, n.mul(total_of_rhs(), *z));
  if (w) result = n.sub(result, n.mul(total(0, "-1", true), *w));
  if (z && w) {
    const Shape& lhs = n.ranked(shapes, 0);
    const int64_t depth = n.known(shapes, 0)[lhs.rank() - 1];
    result = n.add(result, n.mul(n.mul(*z, *w), static_cast<double>(depth)));
  }
  return {result};
}

}  // namespace

std::vector<Op> quantization_ops() {
  using enum AttributeType;
  return {
      {.name = "quantize",
       .doc = "round(data / scale) + zero_point, halves to even, with the limits of the type.",
       .inputs = {{"data", "any shape, floating"}, kScale, kZeroPoint},
       .attributes =
           {{"out_dtype", Type, "int8", "an integer type"}, kAxis, kBlockSize, kUseZeroPoint},
       .infer_shape = infer_quantized,
       .infer_type = infer_quantize_type,
       .pattern = Pattern::Broadcast,
       .compute = compute_quantize,
       .gradient = no_gradient},
      {.name = "requantize",
       .doc =
           "round(data * factor) + zero_point, halves to even, with the limits of the type: what "
           "sums of products are in another scale.",
       .inputs = {{"data", "any shape, int32"},
                  {"factor",
                   "one number, or (c,), with c the extent of data along `axis`; floating"},
                  {"zero_point", "one number, or (c,); else 0", "use_zero_point"}},
       .attributes =
           {{"out_dtype", Type, "int8", "an integer type"}, kAxis, kBlockSize, kUseZeroPoint},
       .infer_shape = infer_requantized,
       .infer_type =
           [](TypeInference& t) {
             infer_quantize_type(t);
             t.narrow_input(0, int_type(32));
           },
       .pattern = Pattern::Broadcast,
       .compute = compute_requantize,
       .gradient = no_gradient},
      {.name = "dequantize",
       .doc = "(data - zero_point) * scale, in the type of scale.",
       .inputs = {{"data", "any shape, integers"}, kScale, kZeroPoint},
       .attributes = {kAxis, kBlockSize, kUseZeroPoint},
       .infer_shape = infer_quantized,
       .infer_type = infer_dequantize_type,
       .pattern = Pattern::Broadcast,
       .compute = compute_dequantize,
       .expand = expand_dequantize},
      fake_quantize(false),
      fake_quantize(true),
      {.name = "dynamic_quantize",
       .aliases = {"dynamic_quantize_linear"},
       .doc = "data in uint8, and the scale and zero point for which 0 to 255 are its least and "
              "greatest value, or 0. Outputs: data, scale, zero_point.",
       .inputs = {{"data", "any shape, floating"}},
       .num_outputs = [](const AttributeValues&) { return 3; },
       .infer_shape = infer_dynamic_quantize,
       .infer_type =
           [](TypeInference& t) {
             t.narrow_output(0, uint_type(8));
             t.equate(0, 1);
             t.narrow_output(2, uint_type(8));
           },
       .expand = expand_dynamic_quantize},
      {.name = "matmul_integer",
       .doc = "(lhs - lhs_zero_point) · (rhs - rhs_zero_point), in int32.",
       .inputs = {{"lhs", "(…, m, k), int8 or uint8"},
                  {"rhs", "(…, k, n), or transposed (…, n, k), int8 or uint8"},
                  {"lhs_zero_point", "one number, or (m, 1); else 0", "use_lhs_zero_point"},
                  {"rhs_zero_point", "one number, or (n,); else 0", "use_rhs_zero_point"}},
       .attributes = {{"transpose_b", Bool, "False", "whether rhs stands transposed"},
                      {"use_lhs_zero_point", Bool, "True", "whether there is one"},
                      {"use_rhs_zero_point", Bool, "True", "whether there is one"}},
       .infer_shape = infer_matmul_integer,
       .infer_type = infer_matmul_integer_type,
       .gradient = no_gradient,
       .expand = expand_matmul_integer},
  };
}

}  // namespace tw::graph
