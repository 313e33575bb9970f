// SPDX-License-Identifier: Apache-2.0
// share_strided_loads: vectors whose lanes lie a small stride apart, and that fill each other's
// gaps, are taken from the same loads of all that lies between.
//
// before:                                        after:
//   a[ramp(0, 1, 8)] =                             a[ramp(0, 1, 8)] = shuffle([x[ramp(i, 1, 8)],
//       x[ramp(i, 2, 8)]                               x[ramp((i + 8), 1, 8)]], [0, 2, …, 14])
//   b[ramp(0, 1, 8)] =                             b[ramp(0, 1, 8)] = shuffle([x[ramp(i, 1, 8)],
//       x[ramp((i + 1), 2, 8)]                         x[ramp((i + 8), 1, 8)]], [1, 3, …, 15])
//
// Code generation loads the same thing once. Nothing is read that was not between the first lane of
// one and the last lane of another; with a mask, nothing between lanes that are off. A mask without
// variables, as the first column of a padded image has one, is known: such a vector is taken from
// its neighbours' loads, too, moved by some lanes. Vectors that are narrower than the target's,
// gaps included, come from one wide load, even alone. Neighbours are found in statements that stand
// side by side: those of unrolled loops.
#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "ir/constant.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "lower/dot_product.h"
#include "lower/known_lanes.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

constexpr int64_t kGreatestStride = 4;

// A load of lanes that lie `stride` apart, from `base` + `constant` on.
struct Strided {
  const Load* load;
  int lanes;
  int64_t stride;
  Expr base;  // undefined for zero
  int64_t constant;
  // Which lanes are on: as a mask without variables says, which is `known`, or else all.
  std::vector<bool> on;
  bool known;

  int64_t element(int64_t lane) const { return constant + lane * stride; }
  // Of the elements that are read, behind `base`.
  int64_t first() const { return element(std::ranges::find(on, true) - on.begin()); }
  int64_t last() const {
    return element(std::ranges::find(on.rbegin(), on.rend(), true).base() - on.begin() - 1);
  }
};

std::optional<Strided> strided(const Load& load) {
  const Ramp* r = as<Ramp>(load.index);
  const auto stride = r ? as_const_int(r->stride) : std::nullopt;
  if (!stride || *stride < 2 || *stride > kGreatestStride || r->lanes < 4) return {};
  const auto on = known_mask(load.predicate, r->lanes);
  if (on && std::ranges::find(*on, true) == on->end()) return {};
  Strided s{.load = &load,
            .lanes = r->lanes,
            .stride = *stride,
            .base = r->base,
            .constant = 0,
            .on = on.value_or(std::vector<bool>(static_cast<size_t>(r->lanes), true)),
            .known = on.has_value()};
  if (const auto all = as_const_int(r->base)) {
    s.base = {};
    s.constant = *all;
  } else if (const Add* add = as<Add>(r->base); add && as_const_int(add->b)) {
    s.base = add->a;
    s.constant = *as_const_int(add->b);
  }
  return s;
}

bool same(const Expr& a, const Expr& b) {
  return a.defined() && b.defined() ? equal(a, b) : a.defined() == b.defined();
}

// Loads that differ in the constant only, or in lanes that are known to be off.
bool are_neighbours(const Strided& a, const Strided& b) {
  return a.load->buffer.same_as(b.load->buffer) && a.lanes == b.lanes && a.stride == b.stride &&
         same(a.base, b.base) && (a.known ? b.known : same(a.load->predicate, b.load->predicate));
}

// The strided loads that statements make whatever happens.
class Collect : public Visitor {
 public:
  Collect() : Visitor(KindSet{NodeKind::Load}) {}
  std::vector<Strided> loads;

 protected:
  using Visitor::on;
  void on(const Load& op) override {
    if (const auto s = strided(op)) loads.push_back(*s);
    Visitor::on(op);
  }
  void on(const Call& op) override {
    if (op.name != "if_then_else") Visitor::on(op);
  }
};

class ShareStridedLoads : public Mutator {
 public:
  explicit ShareStridedLoads(const Target& target)
      : Mutator(KindSet{NodeKind::Load}), target_(target) {}

 protected:
  using Mutator::on;

  Stmt on(const Block& op, const Stmt& self) override {
    std::vector<Stmt> result;
    bool changed = false;
    for (size_t begin = 0; begin < op.stmts.size();) {
      size_t end = begin;
      while (end < op.stmts.size() && is<Store>(op.stmts[end])) ++end;
      if (end == begin) {
        result.push_back(mutate(op.stmts[begin++]));
        changed |= !result.back().same_as(op.stmts[begin - 1]);
        continue;
      }
      const std::vector<Group> groups = groups_of(
          {op.stmts.begin() + static_cast<long>(begin), op.stmts.begin() + static_cast<long>(end)});
      for (; begin < end; ++begin) {
        result.push_back(rewritten(op.stmts[begin], groups));
        changed |= !result.back().same_as(op.stmts[begin]);
      }
    }
    return changed ? block(result) : self;
  }
  Stmt on(const Store&, const Stmt& self) override {
    return rewritten(self, groups_of({&self, 1}));
  }
  // What one instruction adds stays the loop that it is known by.
  Stmt on(const For& op, const Stmt& self) override {
    return match_dot_product(op, target_) ? self : Mutator::on(op, self);
  }

 private:
  // What is loaded: all elements from one to another one, less than a stride for each lane.
  struct Group {
    Strided member;
    int64_t first, last;
    bool alone = true;  // no two members differ

    int64_t elements() const { return last - first + 1; }
  };

  std::vector<Group> groups_of(std::span<const Stmt> stores) const {
    Collect collect;
    std::set<const Variable*> written;  // look-ups only
    for (const Stmt& s : stores) {
      collect.visit(s);
      written.insert(as<Store>(s)->buffer.operator->());
    }
    std::erase_if(collect.loads,
                  [&](const Strided& s) { return written.contains(s.load->buffer.operator->()); });
    std::vector<std::vector<Strided>> families;
    for (const Strided& s : collect.loads) {
      const auto family = std::ranges::find_if(
          families, [&](const auto& f) { return are_neighbours(f.front(), s); });
      if (family == families.end()) {
        families.push_back({s});
      } else {
        family->push_back(s);
      }
    }
    std::vector<Group> groups;
    for (auto& family : families) {
      std::ranges::sort(family, {}, &Strided::first);
      const size_t before = groups.size();
      for (const Strided& s : family) {
        if (groups.size() > before && s.last() < groups.back().first + s.lanes * s.stride) {
          Group& g = groups.back();
          g.last = std::max(g.last, s.last());
          g.alone &= s.constant == g.member.constant && s.on == g.member.on;
        } else {
          groups.push_back({.member = s, .first = s.first(), .last = s.last()});
        }
      }
    }
    std::erase_if(groups, [&](const Group& g) { return !pays(g); });
    return groups;
  }

  // Elements of one load. Several vectors that leave some of a wide load unused take two loads: of
  // one, each would begin with an instruction that halves it.
  int64_t width(const Group& g) const {
    const Strided& s = g.member;
    const int64_t all = s.lanes * s.stride;
    const int64_t register_lanes = target_.vector_bits / s.load->dtype.element().bits;
    const int64_t wide = std::min(all, register_lanes);
    const bool halved = s.known && !g.alone && all == 2 * s.lanes && g.elements() < wide;
    return s.lanes < register_lanes && all % wide == 0 && !halved ? wide : s.lanes;
  }

  bool pays(const Group& g) const {
    const int64_t parts = number_of_parts(g), elements = width(g);
    if (parts > 2 || (parts == 2 && g.alone)) return false;
    const int bits = g.member.load->dtype.element().bits;
    const bool masked = !g.member.known || g.elements() % elements != 0;
    return !masked || target_.masks(bits);
  }
  int64_t number_of_parts(const Group& g) const { return (g.elements() + width(g) - 1) / width(g); }

  Stmt rewritten(const Stmt& store, const std::vector<Group>& groups) {
    return groups.empty() ? store : Replace(*this, groups).mutate(store);
  }

  // The elements of every load of the group as one vector or two.
  std::vector<Expr> parts_of(const Group& g) const {
    const Strided& s = g.member;
    const int64_t elements = width(g);
    const auto lanes = static_cast<int>(elements);
    const DType index = as<Ramp>(s.load->index)->base.dtype();
    std::vector<Expr> parts;
    for (int64_t begin = 0; begin < g.elements(); begin += elements) {
      const Expr constant = make_const(index, g.first + begin);
      const Expr base = !s.base.defined()      ? constant
                        : g.first + begin == 0 ? s.base
                                               : s.base + constant;
      Load part = *s.load;
      part.type = part.type.with_lanes(lanes);
      part.index = make(Ramp{.base = base, .stride = make_const(index, 1), .lanes = lanes});
      part.predicate = {};
      if (!s.known) {
        part.predicate = spread(g, begin, elements);
      } else if (begin + elements > g.elements()) {
        const Expr numbers =
            make(Ramp{.base = make_zero(index), .stride = make_const(index, 1), .lanes = lanes});
        part.predicate = numbers < broadcast(make_const(index, g.elements() - begin), lanes);
      }
      parts.push_back(make(std::move(part)));
    }
    return parts;
  }

  // On where the lane is on whose element, or one of the few behind it, this is.
  static Expr spread(const Group& g, int64_t begin, int64_t elements) {
    const Strided& s = g.member;
    const int64_t phases = g.elements() - (s.lanes - 1) * s.stride;
    std::vector<int> lanes;
    for (int64_t e = begin; e < begin + elements; ++e) {
      lanes.push_back(static_cast<int>(e % s.stride < phases ? e / s.stride : s.lanes));
    }
    const Expr off = broadcast(make_zero(bool_type()), s.lanes);
    return make(Shuffle{.vectors = {s.load->predicate, off}, .indices = lanes});
  }

  // The lanes of a load, from those of its group.
  Expr taken(const Group& g, const Strided& s) const {
    const int64_t moved = floor_quotient(s.constant - g.first, s.stride);
    const int64_t phase = s.constant - g.first - moved * s.stride;
    const int64_t loaded = number_of_parts(g) * width(g);
    std::vector<int> strided, lanes;
    bool as_they_are = true;
    for (int l = 0; l < s.lanes; ++l) {
      const int64_t element = l * s.stride + phase;
      const bool on = s.on[static_cast<size_t>(l)];
      strided.push_back(element < loaded ? static_cast<int>(element) : 0);
      lanes.push_back(on ? l + static_cast<int>(moved) : s.lanes);
      // What is loaded behind the last element of the group is off, which gives zeros.
      as_they_are &= on ? moved == 0 : element >= g.elements() && element < loaded;
    }
    const Expr vector = make(Shuffle{.vectors = parts_of(g), .indices = strided});
    return as_they_are
               ? vector
               : make(Shuffle{.vectors = {vector, make_zero(s.load->dtype)}, .indices = lanes});
  }

  class Replace : public Mutator {
   public:
    Replace(const ShareStridedLoads& pass, const std::vector<Group>& groups)
        : Mutator(KindSet{NodeKind::Load}), pass_(pass), groups_(groups) {}

   protected:
    using Mutator::on;
    Expr on(const Load& op, const Expr& self) override {
      const auto s = strided(op);
      if (!s) return Mutator::on(op, self);
      for (const Group& g : groups_) {
        if (s->first() >= g.first && s->last() <= g.last && are_neighbours(g.member, *s)) {
          return pass_.taken(g, *s);
        }
      }
      return Mutator::on(op, self);
    }
    Expr on(const Call& op, const Expr& self) override {
      return op.name == "if_then_else" ? self : Mutator::on(op, self);
    }

   private:
    const ShareStridedLoads& pass_;
    const std::vector<Group>& groups_;
  };

  const Target& target_;
};

}  // namespace

Kernel share_strided_loads(Kernel kernel, const PassContext& context) {
  kernel.body = ShareStridedLoads(context.target).mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
