// SPDX-License-Identifier: Apache-2.0
// transpose_loads: an unrolled loop each of whose iterations gathers one column of a tile loads the
// rows instead, and transposes them in registers.
//
// before:                                        after:
//   unrolled (j, 0, 4) {                           let r0 = t[ramp(0, 1, 4)]
//     C[ramp((j*56), 1, 4)] =                      …
//         t[ramp(j, 16, 4)]                        let r3 = t[ramp(48, 1, 4)]
//   }                                              let s0 = shuffle([r0, r1], [0, 4, 1, 5])
//                                                  …
//                                                  let c0 = shuffle([s0, s2], [0, 1, 4, 5])
//                                                  …
//                                                  C[ramp((0*56), 1, 4)] = c0
//                                                  …
//
// Such loops copy a register tile whose lanes run along another axis than those of its tensor. With
// fewer iterations than lanes, rows are as short as there are columns, and several of them share a
// vector. The transposition takes log2(columns) rounds of shuffles of two vectors each (Eklundh
// 1972), every shuffle one x86 instruction as it stands: finding a sequence for others takes code
// generation longer than all else it does for the tile. Lanes that are off are rows that are not
// loaded.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <optional>

#include "ir/expr.h"
#include "ir/substitute.h"
#include "lower/passes.h"
#include "lower/scoped_mutator.h"

namespace tw::pass {
namespace {

// A load of column `base` + j of a tile whose rows are `stride` apart.
struct Column {
  const Load* load = nullptr;
  Expr base;  // at j = 0
  int lanes = 0;
  int64_t stride = 0;
};

// The value of lane i; undefined when the expression is of another kind than masks are.
Expr lane_of(const Expr& e, int i) {
  if (!e.dtype().is_vector()) return e;
  if (const Broadcast* b = as<Broadcast>(e)) return b->value;
  if (const Ramp* r = as<Ramp>(e)) return r->base + r->stride * make_const(r->base.dtype(), i);
  const auto both = [&](const auto& op) -> Expr {
    const Expr a = lane_of(op.a, i), b = lane_of(op.b, i);
    return a.defined() && b.defined() ? make_binary(e->kind, a, b) : Expr();
  };
  if (const And* op = as<And>(e)) return both(*op);
  if (const Less* op = as<Less>(e)) return both(*op);
  if (const LessEqual* op = as<LessEqual>(e)) return both(*op);
  return {};
}

class TransposeLoads : public ScopedMutator {
 protected:
  using ScopedMutator::on;

  Stmt on(const For& op, const Stmt& self) override {
    if (op.for_kind == ForKind::Unrolled) {
      if (Stmt s = transposed(op); s.defined()) return s;
    }
    return ScopedMutator::on(op, self);
  }

 private:
  Stmt transposed(const For& loop) {
    const auto extent = as_const_int(loop.extent);
    const Store* store = as<Store>(loop.body);
    if (!extent || *extent < 4 || store == nullptr || !is_zero(loop.min)) return {};
    const std::optional<Column> column = column_of(*store, loop.var);
    if (!column) return {};
    const auto columns = static_cast<int>(std::min<int64_t>(*extent, column->lanes));
    if (!std::has_single_bit(unsigned(columns)) || *extent % columns != 0) return {};
    std::vector<Stmt> groups;
    for (int64_t first = 0; first < *extent; first += columns) {
      groups.push_back(group(loop, *column, first, columns));
      if (!groups.back().defined()) return {};
    }
    return block(groups);
  }

  // The only load in the store whose lanes lie apart; nothing when it is no column, or there are
  // others. A load that is made only where a condition holds stays where it is.
  std::optional<Column> column_of(const Store& store, const Var& j) {
    std::optional<Column> found;
    bool good = true;
    for_each_expr(store.value, [&](const Expr& e) {
      if (const Call* call = as<Call>(e)) good &= call->name != "if_then_else";
      const Load* load = as<Load>(e);
      const Ramp* r = load ? as<Ramp>(load->index) : nullptr;
      if (r == nullptr || is_one(r->stride)) return;
      const auto stride = as_const_int(r->stride);
      const Expr base = analyzer_.simplify(substitute(r->base, VarMap{{j, make_zero(j.dtype())}}));
      good &= !found && stride && *stride >= r->lanes && std::has_single_bit(unsigned(r->lanes)) &&
              r->lanes >= 4 && !load->buffer.same_as(store.buffer) &&
              (!load->predicate.defined() || !uses(load->predicate, j)) &&
              is_zero(analyzer_.canonical_simplify(r->base - base - cast(r->base.dtype(), j)));
      if (good) found = Column{load, base, r->lanes, *stride};
    });
    return good ? found : std::nullopt;
  }

  // What a round makes of the vectors a and b that are `distance` apart, each one instruction on
  // x86: interleaves quarters' halves (unpck…ps), then pairs (unpck…pd); after that, takes the even
  // and the odd quarters of both. A quarter is four lanes, of which a vector has any number.
  static std::array<std::vector<int>, 2> round(int distance, int lanes) {
    std::array<std::vector<int>, 2> taken;
    for (int half = 0; half < 2; ++half) {
      for (int l = 0; l < lanes; ++l) {
        const int quarter = l / 4 * 4;
        const int number = distance == 1   ? (l & 1) * lanes + quarter + half * 2 + (l >> 1 & 1)
                           : distance == 2 ? (l >> 1 & 1) * lanes + quarter + half * 2 + (l & 1)
                                           : quarter * 2 + half * 4 + l % 4;
        taken[size_t(half)].push_back(number);
      }
    }
    return taken;
  }

  // Iterations first to first + columns - 1.
  Stmt group(const For& loop, const Column& column, int64_t first, int columns) {
    const int lanes = column.lanes;
    std::vector<std::pair<Var, Expr>> lets;
    const auto bind = [&](const Expr& value) -> Expr {
      lets.emplace_back(Var("tile", value.dtype()), value);
      return lets.back().first;
    };
    std::vector<Expr> vectors;
    std::vector<int> all(static_cast<size_t>(lanes));
    std::iota(all.begin(), all.end(), 0);
    for (int i = 0; i < columns; ++i) {
      std::vector<Expr> rows;
      for (int part = 0; part < lanes / columns; ++part) {
        const int row = i % 4 + 4 * (part + i / 4 * (lanes / columns));
        rows.push_back(row_of(column, first, row, columns));
        if (!rows.back().defined()) return {};
      }
      vectors.push_back(
          bind(rows.size() == 1 ? rows[0] : make(Shuffle{.vectors = rows, .indices = all})));
    }
    for (int distance = 1; distance < columns; distance *= 2) {
      const auto [low, high] = round(distance, lanes);
      for (int i = 0; i < columns; ++i) {
        if ((i & distance) != 0) continue;
        Expr &a = vectors[size_t(i)], &b = vectors[size_t(i + distance)];
        const std::vector<Expr> pair = {a, b};
        a = bind(make(Shuffle{.vectors = pair, .indices = low}));
        b = bind(make(Shuffle{.vectors = pair, .indices = high}));
      }
    }
    // The first round brought out the higher bit of a lane's number in its quarter.
    const auto column_at = [&](int i) {
      return vectors[size_t((i & ~3) + (i & 1) * 2 + (i >> 1 & 1))];
    };
    std::vector<Stmt> stores;
    for (int i = 0; i < columns; ++i) {
      const Stmt with_column = ReplaceLoad(column.load, column_at(i)).mutate(loop.body);
      stores.push_back(
          substitute(with_column, VarMap{{loop.var, make_const(loop.var.dtype(), first + i)}}));
    }
    Stmt result = block(stores);
    for (size_t k = lets.size(); k-- > 0;) {
      result = make(LetStmt{.var = lets[k].first, .value = lets[k].second, .body = result});
    }
    return result;
  }

  // What lane i of each column lies in.
  Expr row_of(const Column& column, int64_t first, int i, int columns) {
    const DType type = column.base.dtype();
    const Expr base = analyzer_.simplify(column.base + make_const(type, first + i * column.stride));
    Load row = *column.load;
    row.index = make(Ramp{.base = base, .stride = make_const(type, 1), .lanes = columns});
    row.type = row.type.with_lanes(columns);
    if (row.predicate.defined()) {
      Expr on = lane_of(row.predicate, i);
      if (!on.defined()) return {};
      on = analyzer_.simplify(on);
      if (is_const_int(on, 0)) return broadcast(make_zero(row.type.element()), columns);
      row.predicate = is_const_int(on, 1) ? Expr() : broadcast(on, columns);
    }
    return make(std::move(row));
  }

  class ReplaceLoad : public Mutator {
   public:
    ReplaceLoad(const Load* load, Expr value) : load_(load), value_(std::move(value)) {}

   protected:
    using Mutator::on;
    Expr on(const Load& op, const Expr& self) override {
      return &op == load_ ? value_ : Mutator::on(op, self);
    }

   private:
    const Load* load_;
    Expr value_;
  };
};

}  // namespace

Kernel transpose_loads(Kernel kernel, const PassContext&) {
  kernel.body = TransposeLoads().mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
