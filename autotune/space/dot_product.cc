// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/dot_product.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/expr.h"
#include "ir/substitute.h"
#include "runtime/tile_data.h"
#include "schedule/te/reducers.h"

namespace tw::autotune {
namespace {

// A read of narrow numbers, made wide.
const ProducerLoad* factor_of(const Expr& e) {
  const Cast* wide = as<Cast>(e);
  return wide == nullptr ? nullptr : as<ProducerLoad>(wide->value);
}

bool is_sum(const Reduce& reduce) {
  return te::reducer_name(reduce.combiner) == "sum" && !reduce.condition.defined();
}

// The dimension that the axis walks along, if it does so by itself and along no other.
std::optional<size_t> dimension_of(const ProducerLoad& load, const Var& axis) {
  std::optional<size_t> found;
  for (size_t d = 0; d < load.indices.size(); ++d) {
    if (!uses(load.indices[d], axis)) continue;
    if (found || !load.indices[d].same_as(axis)) return std::nullopt;
    found = d;
  }
  return found;
}

te::Tensor tensor_of(const te::ComputeNode& compute, const ProducerLoad& load) {
  for (const te::Tensor& t : compute.input_tensors()) {
    if (t.op().get() == load.producer.get() && t.value_index() == load.value_index) return t;
  }
  return {};
}

// Of a sum of products of narrow numbers: what is multiplied, and the sums' type.
struct Factors {
  const Reduce* reduce;
  const ProducerLoad *a, *b;
  DType wide;
};
std::optional<Factors> factors_of(const te::ComputeNode& compute) {
  // Intrinsics of dot products set their sums to zero.
  if (compute.body.size() != 1 || !compute.init.empty()) return std::nullopt;
  const Reduce* reduce = as<Reduce>(compute.body[0]);
  if (reduce == nullptr || !is_sum(*reduce)) return std::nullopt;
  const Mul* product = as<Mul>(reduce->source[0]);
  if (product == nullptr) return std::nullopt;
  const ProducerLoad *a = factor_of(product->a), *b = factor_of(product->b);
  if (a == nullptr || b == nullptr || a->producer.get() == b->producer.get()) return std::nullopt;
  return Factors{reduce, a, b, product->dtype};
}

bool uses_axis(const ProducerLoad& load, const Var& axis) {
  return std::ranges::any_of(load.indices, [&](const Expr& i) { return uses(i, axis); });
}

// The last data axis that walks through `load` along one dimension, and not through `other`.
struct OwnAxis {
  size_t axis, dimension;
};
std::optional<OwnAxis> own_axis(const te::ComputeNode& compute, const ProducerLoad& load,
                                const ProducerLoad& other) {
  for (size_t k = compute.axis.size(); k-- > 0;) {
    const Var& axis = compute.axis[k].var();
    const auto dimension = dimension_of(load, axis);
    if (dimension && !uses_axis(other, axis)) return OwnAxis{k, *dimension};
  }
  return std::nullopt;
}

// Smaller products leave most of a tile empty.
bool fills(const IterVar& axis, int64_t tile) {
  const auto extent = as_const_int(axis->domain.extent);
  return extent && 4 * *extent >= tile;
}

// How the intrinsics of tile registers name the type of a factor; empty where there is none.
std::string_view tile_type(DType t) {
  if (t == uint_type(8)) return "u8";
  if (t == int_type(8)) return "s8";
  return t == bfloat_type(16) ? "bf16" : std::string_view();
}

// The product with `a` as the rows of tiles.
std::optional<TileProduct> tile_product(const te::ComputeNode& compute, const Factors& f) {
  const auto row = own_axis(compute, *f.a, *f.b), column = own_axis(compute, *f.b, *f.a);
  if (!row || !column || column->axis + 1 != compute.axis.size()) return std::nullopt;
  for (size_t k = 0; k < f.reduce->axis.size(); ++k) {
    const auto in_a = dimension_of(*f.a, f.reduce->axis[k].var());
    const auto in_b = dimension_of(*f.b, f.reduce->axis[k].var());
    if (!in_a || !in_b || *in_a + 1 != f.a->indices.size()) continue;
    TileProduct p{.row = row->axis,
                  .column = column->axis,
                  .reduce_axis = k,
                  .a = tensor_of(compute, *f.a),
                  .b = tensor_of(compute, *f.b),
                  .a_row = row->dimension,
                  .b_column = column->dimension,
                  .b_depth = *in_b,
                  .group = 4 / f.a->dtype.element_bytes(),
                  .a_type = std::string(tile_type(f.a->dtype)),
                  .b_type = std::string(tile_type(f.b->dtype)),
                  .sum_type = f.wide.is_float() ? "f32" : "s32"};
    if (!fills(compute.axis[p.row], p.kTileRows) || !fills(compute.axis[p.column], p.kTileRows) ||
        !fills(f.reduce->axis[k], p.depth())) {
      continue;
    }
    return p;
  }
  return std::nullopt;
}

// Whether the target's processor multiplies such numbers in tile registers, and may.
bool has_tiles(const Factors& f, const Target& target) {
  const auto is_byte = [](DType t) { return t == uint_type(8) || t == int_type(8); };
  const DType a = f.a->dtype, b = f.b->dtype, half = bfloat_type(16);
  const bool bytes = is_byte(a) && is_byte(b) && f.wide == int_type(32);
  const bool halves = a == half && b == half && f.wide == float_type(32);
  if (!bytes && !halves) return false;
  if (!target.has_feature("amx-tile") || !target.has_feature(bytes ? "amx-int8" : "amx-bf16"))
    return false;
  return !target.features_missing_on_host().empty() || tile_data_granted();
}

}  // namespace

int64_t products_at_once(DType a, DType b, DType wide, const Target& target) {
  const auto is_byte = [](DType t) { return t.is_integer() && t.bits == 8; };
  const bool bytes = is_byte(a) && is_byte(b) && (a.is_int() || b.is_int());
  if (bytes && wide == int_type(32) && target.has_int8_dot) return 4;
  const bool halves = a == bfloat_type(16) && b == a;
  return halves && wide == float_type(32) && target.has_bf16_dot ? 2 : 1;
}

std::optional<DotProduct> find_dot_product(const te::ComputeNode& compute, const Target& target) {
  const auto factors = factors_of(compute);
  if (!factors) return std::nullopt;
  const ProducerLoad *a = factors->a, *b = factors->b;
  const Reduce* reduce = factors->reduce;
  const int64_t group = products_at_once(a->dtype, b->dtype, factors->wide, target);
  if (group == 1) return std::nullopt;
  for (size_t k = 0; k < reduce->axis.size(); ++k) {
    const auto in_a = dimension_of(*a, reduce->axis[k].var());
    const auto in_b = dimension_of(*b, reduce->axis[k].var());
    if (!in_a || !in_b) continue;
    return DotProduct{.group = group,
                      .reduce_axis = k,
                      .a = {tensor_of(compute, *a), *in_a},
                      .b = {tensor_of(compute, *b), *in_b}};
  }
  return std::nullopt;
}

std::optional<TileProduct> find_tile_product(const te::ComputeNode& compute, const Target& target) {
  const auto factors = factors_of(compute);
  if (!factors || !has_tiles(*factors, target)) return std::nullopt;
  if (const auto product = tile_product(compute, *factors)) return product;
  Factors swapped = *factors;
  std::swap(swapped.a, swapped.b);
  return tile_product(compute, swapped);
}

}  // namespace tw::autotune
