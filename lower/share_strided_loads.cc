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
// one and the last lane of another; with a mask, nothing between lanes that are off. Vectors that
// are narrower than the target's, gaps included, come from one wide load, even alone. Neighbours
// are found in statements that stand side by side: those of unrolled loops.
#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "lower/dot_product.h"
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
};

std::optional<Strided> strided(const Load& load) {
  const Ramp* r = as<Ramp>(load.index);
  const auto stride = r ? as_const_int(r->stride) : std::nullopt;
  if (!stride || *stride < 2 || *stride > kGreatestStride || r->lanes < 4) return {};
  Strided s{.load = &load, .lanes = r->lanes, .stride = *stride, .base = r->base, .constant = 0};
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

// Loads that differ in the constant only.
bool are_neighbours(const Strided& a, const Strided& b) {
  return a.load->buffer.same_as(b.load->buffer) && a.lanes == b.lanes && a.stride == b.stride &&
         same(a.base, b.base) && same(a.load->predicate, b.load->predicate);
}

// The strided loads that statements make whatever happens.
class Collect : public Visitor {
 public:
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
  explicit ShareStridedLoads(const Target& target) : target_(target) {}

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
  // What is loaded from `first` on: up to `phases` elements of every stride.
  struct Group {
    Strided first;
    int64_t phases;
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
      std::ranges::sort(family, {}, &Strided::constant);
      for (const Strided& s : family) {
        const bool joins = !groups.empty() && are_neighbours(groups.back().first, s) &&
                           s.constant - groups.back().first.constant < s.stride;
        if (joins) {
          groups.back().phases = s.constant - groups.back().first.constant + 1;
        } else {
          groups.push_back({s, 1});
        }
      }
    }
    std::erase_if(groups, [&](const Group& g) { return !pays(g); });
    return groups;
  }

  // Elements of one load.
  int64_t width(const Strided& s) const {
    const int64_t all = s.lanes * s.stride;
    const int64_t register_lanes = target_.vector_bits / s.load->dtype.element().bits;
    const int64_t wide = std::min(all, register_lanes);
    return s.lanes < register_lanes && all % wide == 0 ? wide : s.lanes;
  }

  bool pays(const Group& g) const {
    const int64_t all = g.first.lanes * g.first.stride, parts = all / width(g.first);
    if (parts > 2 || (parts == 2 && g.phases == 1)) return false;
    const int bits = g.first.load->dtype.element().bits;
    const bool masked = g.first.load->predicate.defined() || g.phases < g.first.stride;
    return !masked || target_.masks(bits);
  }

  Stmt rewritten(const Stmt& store, const std::vector<Group>& groups) {
    return groups.empty() ? store : Replace(*this, groups).mutate(store);
  }

  // The elements of every load of the group as one vector or two.
  std::vector<Expr> parts_of(const Group& g) const {
    const Strided& s = g.first;
    const int64_t elements = width(s), end = (s.lanes - 1) * s.stride + g.phases;
    const DType index = as<Ramp>(s.load->index)->base.dtype();
    std::vector<Expr> parts;
    for (int64_t begin = 0; begin < s.lanes * s.stride; begin += elements) {
      const Expr constant = make_const(index, s.constant + begin);
      const Expr base = !s.base.defined()         ? constant
                        : s.constant + begin == 0 ? s.base
                                                  : s.base + constant;
      Load part = *s.load;
      part.type = part.type.with_lanes(static_cast<int>(elements));
      part.index = make(
          Ramp{.base = base, .stride = make_const(index, 1), .lanes = static_cast<int>(elements)});
      if (s.load->predicate.defined()) {
        part.predicate = spread(s, g.phases, begin, elements);
      } else if (begin + elements > end) {
        const auto lanes = static_cast<int>(elements);
        const Expr numbers =
            make(Ramp{.base = make_zero(index), .stride = make_const(index, 1), .lanes = lanes});
        part.predicate = numbers < broadcast(make_const(index, end - begin), lanes);
      }
      parts.push_back(make(std::move(part)));
    }
    return parts;
  }

  // On where the lane is on whose elements, up to `phases`, these are.
  static Expr spread(const Strided& s, int64_t phases, int64_t begin, int64_t elements) {
    std::vector<int> lanes;
    for (int64_t e = begin; e < begin + elements; ++e) {
      lanes.push_back(static_cast<int>(e % s.stride < phases ? e / s.stride : s.lanes));
    }
    const Expr off = broadcast(make_zero(bool_type()), s.lanes);
    return make(Shuffle{.vectors = {s.load->predicate, off}, .indices = lanes});
  }

  class Replace : public Mutator {
   public:
    Replace(const ShareStridedLoads& pass, const std::vector<Group>& groups)
        : pass_(pass), groups_(groups) {}

   protected:
    using Mutator::on;
    Expr on(const Load& op, const Expr& self) override {
      const auto s = strided(op);
      if (!s) return Mutator::on(op, self);
      for (const Group& g : groups_) {
        const int64_t phase = s->constant - g.first.constant;
        if (phase < 0 || phase >= g.phases || !are_neighbours(g.first, *s)) continue;
        std::vector<int> taken;
        for (int l = 0; l < s->lanes; ++l) {
          taken.push_back(l * static_cast<int>(s->stride) + static_cast<int>(phase));
        }
        return make(Shuffle{.vectors = pass_.parts_of(g), .indices = taken});
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
