// SPDX-License-Identifier: Apache-2.0
// Each relation's rules against enumeration: where an offset goes up and down, and what of the
// parents a part of the children covers.
#include "schedule/relation.h"

#include <gtest/gtest.h>

#include "ir/expr.h"
#include "ir/interpret.h"
#include "schedule/schedule_options.h"

namespace tw {
namespace {

IterVar axis(const char* name) { return IterVar({}, Var(name), IterKind::DataParallel); }
Range range(int64_t min, int64_t extent) {
  return {make_const(int_type(32), min), make_const(int_type(32), extent)};
}
int64_t value(const Expr& e) { return evaluate(e).i; }

struct Split {
  SplitRelation relation;
  DomainMap domains;
  Analyzer analyzer;
  Split(int64_t extent, int64_t factor, int64_t nparts = 0, bool clamp = true) {
    relation.parent = axis("p");
    relation.outer = axis("o");
    relation.inner = axis("i");
    if (factor) relation.factor = make_const(int_type(32), factor);
    if (nparts) relation.nparts = make_const(int_type(32), nparts);
    domains[relation.parent->var] = range(0, extent);
    relation.domain_down(domains, analyzer, {.clamp_split_factor = clamp});
  }
  int64_t outer() const { return value(domains.at(relation.outer->var).extent); }
  int64_t inner() const { return value(domains.at(relation.inner->var).extent); }
};

TEST(Relation, SplitDomains) {
  const auto expect = [](const Split& s, int64_t outer, int64_t inner) {
    EXPECT_EQ(s.outer(), outer);
    EXPECT_EQ(s.inner(), inner);
  };
  expect(Split(9, 4), 3, 4);
  expect(Split(8, 4), 2, 4);
  expect(Split(9, 16), 1, 9);
  expect(Split(9, 16, 0, false), 1, 16);
  expect(Split(9, 0, 2), 2, 5);
  expect(Split(9, 0, 16), 9, 1);
  expect(Split(9, 0, 16, false), 16, 1);
}

TEST(Relation, SplitIndices) {
  const Split s(9, 4);
  VarMap offsets;
  offsets[s.relation.outer->var] = 2;
  offsets[s.relation.inner->var] = 3;
  s.relation.index_up(offsets, s.domains);
  EXPECT_EQ(value(offsets.at(s.relation.parent->var)), 11);
  VarMap down;
  down[s.relation.parent->var] = 7;
  s.relation.index_down(down, s.domains);
  EXPECT_EQ(value(down.at(s.relation.outer->var)), 1);
  EXPECT_EQ(value(down.at(s.relation.inner->var)), 3);
  VarMap none;
  s.relation.index_up(none, s.domains);
  EXPECT_TRUE(none.empty());
}

// The part is exactly the hull of what the children cover.
TEST(Relation, SplitParts) {
  const Split s(12, 4);
  Analyzer analyzer;
  for (int64_t o = 0; o < 3; ++o) {
    for (int64_t no = 1; o + no <= 3; ++no) {
      for (int64_t i = 0; i < 4; ++i) {
        for (int64_t ni = 1; i + ni <= 4; ++ni) {
          DomainMap parts;
          parts[s.relation.outer->var] = range(o, no);
          parts[s.relation.inner->var] = range(i, ni);
          s.relation.domain_up(parts, s.domains, analyzer);
          const Range& p = parts.at(s.relation.parent->var);
          EXPECT_EQ(value(p.min), o * 4 + i);
          EXPECT_EQ(value(p.extent), (no - 1) * 4 + ni);
        }
      }
    }
  }
  // All of the children is all of the parent, overhang or not.
  const Split t(9, 4);
  DomainMap parts = t.domains;
  t.relation.domain_up(parts, t.domains, analyzer);
  EXPECT_EQ(value(parts.at(t.relation.parent->var).extent), 9);
}

TEST(Relation, SplitOverrun) {
  Analyzer analyzer;
  const auto up = [&](const Split& s, std::vector<IterVar> running, std::vector<IterVar>& checked) {
    VarSet overrun;
    for (const IterVar& a : running) overrun.insert(a->var);
    s.relation.overrun_up(overrun, checked, s.domains, analyzer);
    return overrun.contains(s.relation.parent->var);
  };
  std::vector<IterVar> checked;
  const Split exact(8, 4), over(9, 4);
  EXPECT_FALSE(up(exact, {}, checked));
  EXPECT_TRUE(up(over, {}, checked));
  EXPECT_TRUE(up(exact, {exact.relation.outer}, checked));
  EXPECT_TRUE(checked.empty());
  EXPECT_FALSE(up(exact, {exact.relation.inner}, checked));
  ASSERT_EQ(checked.size(), 1u);
  EXPECT_EQ(checked[0].get(), exact.relation.inner.get());
}

struct Fuse {
  FuseRelation relation;
  DomainMap domains;
  Analyzer analyzer;
  Fuse(int64_t outer, int64_t inner) {
    relation.outer = axis("o");
    relation.inner = axis("i");
    relation.fused = axis("f");
    domains[relation.outer->var] = range(0, outer);
    domains[relation.inner->var] = range(0, inner);
    relation.domain_down(domains, analyzer, {});
  }
};

TEST(Relation, FuseIndices) {
  const Fuse f(3, 5);
  EXPECT_EQ(value(f.domains.at(f.relation.fused->var).extent), 15);
  for (int v = 0; v < 15; ++v) {
    VarMap offsets;
    offsets[f.relation.fused->var] = v;
    f.relation.index_up(offsets, f.domains);
    EXPECT_EQ(value(offsets.at(f.relation.outer->var)), v / 5);
    EXPECT_EQ(value(offsets.at(f.relation.inner->var)), v % 5);
    offsets.erase(f.relation.fused->var);
    f.relation.index_down(offsets, f.domains);
    EXPECT_EQ(value(offsets.at(f.relation.fused->var)), v);
  }
}

// Covers every point, and nothing more where the part stays in one row or is whole rows.
TEST(Relation, FuseParts) {
  const Fuse f(4, 6);
  Analyzer analyzer;
  for (int64_t first = 0; first < 24; ++first) {
    for (int64_t count = 1; first + count <= 24; ++count) {
      DomainMap parts;
      parts[f.relation.fused->var] = range(first, count);
      f.relation.domain_up(parts, f.domains, analyzer);
      const Range &o = parts.at(f.relation.outer->var), &i = parts.at(f.relation.inner->var);
      const int64_t o0 = value(o.min), on = value(o.extent), i0 = value(i.min),
                    in = value(i.extent);
      for (int64_t v = first; v < first + count; ++v) {
        EXPECT_TRUE(o0 <= v / 6 && v / 6 < o0 + on);
        EXPECT_TRUE(i0 <= v % 6 && v % 6 < i0 + in);
      }
      const bool one_row = first / 6 == (first + count - 1) / 6;
      const bool whole_rows = first % 6 == 0 && count % 6 == 0;
      if (one_row || whole_rows) EXPECT_EQ(on * in, count) << first << " " << count;
    }
  }
}

// A part that starts at a variable place: extents are constants, the greatest that can be.
TEST(Relation, FusePartsOfTiles) {
  const Fuse f(4, 6);
  const Var t("t");
  Analyzer analyzer;
  analyzer.bind(t, range(0, 8));
  const auto extents = [&](int64_t tile) {
    DomainMap parts;
    parts[f.relation.fused->var] = {Expr(t) * static_cast<int>(tile),
                                    make_const(int_type(32), tile)};
    f.relation.domain_up(parts, f.domains, analyzer);
    return std::pair(value(parts.at(f.relation.outer->var).extent),
                     value(parts.at(f.relation.inner->var).extent));
  };
  EXPECT_EQ(extents(3), std::pair(int64_t{1}, int64_t{3}));   // never crosses a row
  EXPECT_EQ(extents(6), std::pair(int64_t{1}, int64_t{6}));   // a row
  EXPECT_EQ(extents(12), std::pair(int64_t{2}, int64_t{6}));  // two rows
  EXPECT_EQ(extents(4), std::pair(int64_t{2}, int64_t{6}));   // crosses
}

TEST(Relation, RebaseKeepsOffsets) {
  RebaseRelation r;
  r.parent = axis("p");
  r.rebased = axis("r");
  DomainMap domains;
  domains[r.parent->var] = range(5, 7);
  Analyzer analyzer;
  r.domain_down(domains, analyzer, {});
  EXPECT_EQ(value(domains.at(r.rebased->var).min), 0);
  EXPECT_EQ(value(domains.at(r.rebased->var).extent), 7);
  VarMap offsets;
  offsets[r.rebased->var] = 3;
  r.index_up(offsets, domains);
  EXPECT_EQ(value(offsets.at(r.parent->var)), 3);
}

}  // namespace
}  // namespace tw
