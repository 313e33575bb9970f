// SPDX-License-Identifier: Apache-2.0
#include "lower/dot_product.h"

#include "ir/arithmetic/analyzer.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/substitute.h"

namespace tw {
namespace {

constexpr int64_t kBytes = 4, kHalves = 2;  // in a group

// Signed bytes whose sign bit counts as 128: (reinterpret<uint8>(x) ^ 128).
const Load* flipped_load(const Expr& e) {
  const Call* flip = as<Call>(e);
  if (flip == nullptr || flip->name != "bitwise_xor" || as_const_int(flip->args[1]) != 128) {
    return nullptr;
  }
  const Call* bits = as<Call>(flip->args[0]);
  if (bits == nullptr || bits->name != "reinterpret" || bits->dtype.element() != uint_type(8)) {
    return nullptr;
  }
  const Load* load = as<Load>(bits->args[0]);
  return load != nullptr && load->type.element() == int_type(8) ? load : nullptr;
}

// `e` without the conversion to `wide`, and whether it is a scalar in all lanes.
std::optional<DotFactor> factor_of(const Expr& e, DType wide, int64_t group) {
  if (const auto constant = as_const_int(e); constant && wide.is_int()) {
    if (*constant < 0 || *constant > 255) return {};
    return DotFactor{.broadcast = true, .constant = *constant};
  }
  Expr inner = e;
  DotFactor factor;
  const auto strip = [&] {
    if (const Broadcast* b = as<Broadcast>(inner)) {
      factor.broadcast = true;
      inner = b->value;
    } else if (const Cast* c = as<Cast>(inner);
               c != nullptr && c->dtype.element() == wide.element()) {
      inner = c->value;
    }
  };
  strip();
  strip();
  factor.load = as<Load>(inner);
  if (const Load* load = flipped_load(inner)) {
    factor.load = load;
    factor.flipped = true;
  }
  if (factor.load == nullptr || factor.load->predicate.defined()) return {};
  factor.base = factor.load->index;
  if (factor.broadcast) return factor;
  const Ramp* ramp = as<Ramp>(factor.load->index);
  if (ramp == nullptr || as_const_int(ramp->stride) != group) return {};
  factor.base = ramp->base;
  return factor;
}

// Whether base(k) is base(0) + k in each iteration.
bool walks(const Expr& base, const For& loop, int64_t extent) {
  const Expr first = substitute(base, VarMap{{loop.var, loop.min}});
  for (int64_t k = 1; k < extent; ++k) {
    const Expr at = loop.min + make_const(loop.min.dtype(), k);
    const Expr step = simplify(substitute(base, VarMap{{loop.var, at}}) - first);
    if (as_const_int(step) != k) return false;
  }
  return true;
}

std::optional<DotProduct> match(const For& loop, DType element, DType wide, int64_t group,
                                int64_t terms) {
  const Store* store = as<Store>(loop.body);
  if (store == nullptr || store->predicate.defined() || uses(store->index, loop.var)) return {};
  const Add* add = as<Add>(store->value);
  if (add == nullptr || add->dtype.element() != wide) return {};
  const auto is_sum = [&](const Expr& e) {
    const Load* load = as<Load>(e);
    return load != nullptr && load->buffer.same_as(store->buffer) && !load->predicate.defined() &&
           equal(load->index, store->index);
  };
  const bool left = is_sum(add->a);
  if (!left && !is_sum(add->b)) return {};
  const Mul* product = as<Mul>(left ? add->b : add->a);
  if (product == nullptr) return {};
  const auto a = factor_of(product->a, wide, group), b = factor_of(product->b, wide, group);
  if (!a || !b || (a->broadcast && b->broadcast)) return {};
  for (const DotFactor* f : {&*a, &*b}) {
    if (f->load == nullptr) continue;
    const DType t = f->load->type.element();
    const bool fits = element.is_float() ? t == element : t.is_integer() && t.bits == element.bits;
    if (!fits || f->load->buffer.same_as(store->buffer)) return {};
    if (!walks(f->base, loop, terms)) return {};
  }
  return DotProduct{.store = store,
                    .sum = as<Load>(left ? add->a : add->b),
                    .first = *a,
                    .second = *b,
                    .integers = !element.is_float(),
                    .terms = static_cast<int>(terms),
                    .lanes = store->value.dtype().lanes};
}

}  // namespace

std::optional<DotProduct> match_dot_product(const For& loop, const Target& target) {
  const auto extent = as_const_int(loop.extent);
  if (!extent || !loop.var.dtype().is_integer()) return {};
  std::optional<DotProduct> found;
  if (1 < *extent && *extent <= kBytes && target.has_int8_dot) {
    found = match(loop, int_type(8), int_type(32), kBytes, *extent);
    // One factor may have a sign.
    if (found && !found->first.is_signed() && !found->second.is_signed()) return {};
  }
  if (!found && *extent == kHalves && target.has_bf16_dot) {
    found = match(loop, bfloat_type(16), float_type(32), kHalves, kHalves);
  }
  if (!found) return {};
  const int lanes = found->lanes, widest = target.vector_bits / 32;
  const bool whole = lanes > widest ? lanes % widest == 0 : (lanes & (lanes - 1)) == 0;
  if (lanes % 4 != 0 || !whole) return {};
  return found;
}

}  // namespace tw
