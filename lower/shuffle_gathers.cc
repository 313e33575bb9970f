// SPDX-License-Identifier: Apache-2.0
// shuffle_gathers: vectors whose lanes lie near each other, though not evenly, are loaded as all
// that lies between and brought into order in registers.
//
// before:                                        after:
//   U[ramp(j, 1, 8)] =                             U[ramp(j, 1, 8)] = shuffle(
//       x[(x8(i) + floordiv(ramp(0, 1, 8), x8(2)))]    [x[ramp(i, 1, 4)]], [0, 0, 1, 1, …, 3, 3])
//   T[ramp(j, 1, 8)] =                             T[ramp(j, 1, 8)] = select(
//       x[(x8(i) + floormod(ramp(j, 1, 8),             (ramp(0, 1, 8) < x8((28 - floormod(j,
//       28)))),
//                           x8(28)))]                  (x[ramp((i + floormod(j, 28)), 1, 8)] if …),
//                                                      (x[ramp((… - 28), 1, 8)] if …))
//
// Such vectors enlarge images and repeat tensors. Where each lane lies is known but for the first
// element of all (one load, or two that may overlap), or the lanes lie side by side and begin anew
// once (two loads whose masks exclude each other). Nothing is read that does not lie between lanes
// that are on; where a mask has variables, nothing that no lane reads. Short loops whose
// iterations begin elsewhere in such a row are unrolled, so that it is known of each.
#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "ir/arithmetic/analyzer.h"
#include "ir/constant.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "lower/dot_product.h"
#include "lower/known_lanes.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

constexpr int kLeastLanes = 4;
// Loops of so few iterations, of which each then knows where its row begins anew, are unrolled.
constexpr int64_t kMostCopies = 8;
// With a mask that has variables, so many lanes may read one element: each adds a shuffle of masks.
constexpr size_t kMostReaders = 4;

// An index as a scalar and a vector, each undefined for zero.
struct Index {
  Expr base, lanes;
};

Expr sum(const Expr& a, const Expr& b) { return !a.defined() ? b : !b.defined() ? a : a + b; }

Index split(const Expr& index) {
  if (const Broadcast* b = as<Broadcast>(index)) return {.base = b->value};
  if (const Ramp* r = as<Ramp>(index)) {
    const Expr zero = make_zero(r->base.dtype());
    return {r->base, make(Ramp{.base = zero, .stride = r->stride, .lanes = r->lanes})};
  }
  if (const Add* add = as<Add>(index)) {
    const Index a = split(add->a), b = split(add->b);
    return {sum(a.base, b.base), sum(a.lanes, b.lanes)};
  }
  return {.lanes = index};
}

// Lanes side by side from `begin` on, of a row of `period` elements that is begun anew.
struct Wrapped {
  Expr begin;
  int64_t period;
};

std::optional<Wrapped> wrapped(const Expr& vector) {
  const FloorMod* mod = vector.defined() ? as<FloorMod>(vector) : nullptr;
  const Ramp* ramp = mod ? as<Ramp>(mod->a) : nullptr;
  const Broadcast* period = mod ? as<Broadcast>(mod->b) : nullptr;
  if (ramp == nullptr || period == nullptr || !is_const_int(ramp->stride, 1)) return {};
  const auto elements = as_const_int(period->value);
  if (!elements || *elements < ramp->lanes) return {};
  return Wrapped{ramp->base, *elements};
}

// Whether only the number of an iteration says where in its row a load begins.
bool begins_by(const Var& var, const Stmt& body) {
  if (!has(body, {NodeKind::FloorMod})) return false;
  bool found = false;
  for_each_expr(body, [&](const Expr& e) {
    const Load* load = as<Load>(e);
    const auto w = load ? wrapped(split(load->index).lanes) : std::nullopt;
    if (!w) return;
    const std::vector<Var> vars = free_vars(w->begin);
    found |= vars.size() == 1 && vars[0].same_as(var);
  });
  return found;
}

class ShuffleGathers : public Mutator {
 public:
  explicit ShuffleGathers(const Target& target)
      : Mutator(KindSet{NodeKind::Load}), target_(target) {}

 protected:
  using Mutator::on;

  Expr on(const Load& op, const Expr& self) override {
    const bool is_gather =
        op.type.lanes >= kLeastLanes && !is<Ramp>(op.index) && !is<Broadcast>(op.index);
    const Expr result = is_gather ? shuffled(op) : Expr();
    return result.defined() ? result : Mutator::on(op, self);
  }
  // What is conditional there has as many lanes as its condition.
  Expr on(const Call& op, const Expr& self) override {
    return op.name == "if_then_else" ? self : Mutator::on(op, self);
  }
  // What one instruction adds stays the loop that it is known by.
  Stmt on(const For& op, const Stmt& self) override {
    if (match_dot_product(op, target_)) return self;
    const int64_t extent = as_const_int(op.extent).value_or(0);
    const bool is_short = op.for_kind == ForKind::Serial && 1 <= extent && extent <= kMostCopies;
    if (!is_short || !begins_by(op.var, op.body)) return Mutator::on(op, self);
    std::vector<Stmt> copies;
    for (int64_t k = 0; k < extent; ++k) {
      const VarMap number = {{op.var, op.min + make_const(op.var.dtype(), k)}};
      copies.push_back(mutate(simplify(rename_bindings(substitute(op.body, number)))));
    }
    return block(copies);
  }

 private:
  // Undefined where lanes lie too far apart, or nobody knows where.
  Expr shuffled(const Load& load) {
    const auto [base, lanes] = split(load.index);
    if (!lanes.defined()) return {};
    if (const auto known = known_lanes(lanes)) return near(load, base, *known);
    if (const auto w = wrapped(lanes)) return around(load, base, *w);
    return {};
  }

  bool masks(const Load& load) const { return target_.masks(load.type.element().bits); }

  // `width` elements from `base` + `first` on.
  Expr loaded(const Load& load, const Expr& base, int64_t first, int width, const Expr& mask) {
    const DType index = load.index.dtype().element();
    const Expr begin = analyzer_.simplify(sum(base, make_const(index, first)));
    Load part = load;
    part.type = load.type.with_lanes(width);
    part.index = width == 1
                     ? begin
                     : make(Ramp{.base = begin, .stride = make_const(index, 1), .lanes = width});
    part.predicate = mask;
    return make(std::move(part));
  }

  Expr near(const Load& load, const Expr& base, const std::vector<int64_t>& at) {
    const int lanes = load.type.lanes;
    const auto known = known_mask(load.predicate, lanes);
    const auto is_on = [&](int l) { return !known || (*known)[static_cast<size_t>(l)]; };
    std::optional<int64_t> first, last;
    for (int l = 0; l < lanes; ++l) {
      const int64_t element = at[static_cast<size_t>(l)];
      if (!is_on(l)) continue;
      first = std::min(first.value_or(element), element);
      last = std::max(last.value_or(element), element);
    }
    if (!first) return make_zero(load.type);

    // One load or two, of a power of two, from the first element on and up to the last one.
    const auto elements = static_cast<uint64_t>(*last - *first + 1);
    const uint64_t most = std::bit_floor(
        static_cast<uint64_t>(target_.vector_lanes(std::max<int>(8, load.type.element().bits))));
    const auto width = static_cast<int>(std::min(std::bit_floor(elements), most));
    std::vector<int64_t> parts = {*first};
    if (*last - *first >= width) parts.push_back(*last - width + 1);
    if (*last - *first >= 2 * width) return {};
    std::vector<Expr> vectors;
    for (const int64_t begin : parts) {
      Expr mask;
      if (!known) {
        mask = readers(load, at, begin, width);
        if (!mask.defined()) return {};
      }
      vectors.push_back(loaded(load, base, begin, width, mask));
    }
    std::vector<int> order;
    for (int l = 0; l < lanes; ++l) {
      const int64_t element = is_on(l) ? at[static_cast<size_t>(l)] : *first;
      const bool in_first = element < *first + width;
      order.push_back(static_cast<int>(in_first ? element - *first : element - parts[1] + width));
    }
    const Expr vector = width == 1 && vectors.size() == 1
                            ? broadcast(vectors[0], lanes)
                            : make(Shuffle{.vectors = vectors, .indices = order});
    const bool all_on = known && std::ranges::find(*known, false) == known->end();
    return all_on ? vector : select(load.predicate, vector, make_zero(load.type));
  }

  // On where a lane is on that reads the element; undefined where that takes too much.
  Expr readers(const Load& load, const std::vector<int64_t>& at, int64_t begin, int width) const {
    const int lanes = load.type.lanes;
    if (width == 1 || !masks(load)) return {};
    std::vector<std::vector<int>> of_element(static_cast<size_t>(width));
    size_t most = 0;
    for (int l = 0; l < lanes; ++l) {
      const int64_t element = at[static_cast<size_t>(l)] - begin;
      if (element < 0 || element >= width) continue;
      auto& lanes_of = of_element[static_cast<size_t>(element)];
      lanes_of.push_back(l);
      most = std::max(most, lanes_of.size());
    }
    if (most > kMostReaders) return {};
    const Expr off = broadcast(make_zero(bool_type()), lanes);
    Expr any;
    for (size_t k = 0; k < most; ++k) {
      std::vector<int> indices;
      for (const auto& lanes_of : of_element)
        indices.push_back(k < lanes_of.size() ? lanes_of[k] : lanes);
      const Expr kth = make(Shuffle{.vectors = {load.predicate, off}, .indices = indices});
      any = any.defined() ? any || kth : kth;
    }
    return any;
  }

  Expr around(const Load& load, const Expr& base, const Wrapped& w) {
    if (!masks(load)) return {};
    const int lanes = load.type.lanes;
    const DType index = load.index.dtype().element();
    const Expr begin = floor_mod(w.begin, make_const(index, w.period));
    const Expr numbers =
        make(Ramp{.base = make_zero(index), .stride = make_const(index, 1), .lanes = lanes});
    const Expr rest = broadcast(make_const(index, w.period) - begin, lanes);
    const Expr before = numbers < rest, behind = rest <= numbers;
    const auto masked = [&](const Expr& mask) {
      return load.predicate.defined() ? load.predicate && mask : mask;
    };
    return select(before, loaded(load, sum(base, begin), 0, lanes, masked(before)),
                  loaded(load, sum(base, begin), -w.period, lanes, masked(behind)));
  }

  const Target& target_;
  Analyzer analyzer_;
};

}  // namespace

Kernel shuffle_gathers(Kernel kernel, const PassContext& context) {
  kernel.body = ShuffleGathers(context.target).mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
