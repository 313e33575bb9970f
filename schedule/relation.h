// SPDX-License-Identifier: Apache-2.0
// How axes of a stage come from one another. Each relation owns all its rules: domains down (root to
// leaf) and up, indices down and up, and the predicate that keeps a non-dividing split in range.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/arithmetic/analyzer.h"
#include "ir/node.h"

namespace tw {

using DomainMap = std::unordered_map<Var, Range, IdentityHash, IdentityEqual>;

struct Relation : Object {
  // Axes that this relation consumes and gives.
  virtual std::vector<IterVar> parents() const = 0;
  virtual std::vector<IterVar> children() const = 0;
  // Domains of the children from those of the parents, which are in `domains`.
  virtual void domain_down(DomainMap& domains, Analyzer& analyzer) const = 0;
  // Values of the parents from those of the children, as expressions.
  virtual void index_up(VarMap& values, const DomainMap& domains) const = 0;
  // Values of the children from those of the parents.
  virtual void index_down(VarMap& values, const DomainMap& domains) const = 0;
  // Intervals of the parents from those of the children (which part is needed).
  virtual void interval_up(IntervalMap& intervals, const DomainMap& domains,
                           Analyzer& analyzer) const = 0;
  // Conditions, in terms of `values` (of parents and children), that must hold for a point to be
  // inside the parents' domains; empty when provably always so.
  virtual std::vector<Expr> predicate(const VarMap& values, const DomainMap& domains,
                                      Analyzer& analyzer) const = 0;
};
using RelationRef = Ref<Relation>;

struct SplitRelation : Relation {
  IterVar parent, outer, inner;
  Expr factor;  // defined for split(factor=), otherwise
  Expr nparts;  // defined for split(nparts=)
  bool clamp_factor = true;  // a factor above the extent becomes the extent
  std::vector<IterVar> parents() const override { return {parent}; }
  std::vector<IterVar> children() const override { return {outer, inner}; }
  void domain_down(DomainMap& domains, Analyzer& analyzer) const override;
  void index_up(VarMap& values, const DomainMap& domains) const override;
  void index_down(VarMap& values, const DomainMap& domains) const override;
  void interval_up(IntervalMap&, const DomainMap&, Analyzer&) const override;
  std::vector<Expr> predicate(const VarMap&, const DomainMap&, Analyzer&) const override;
};

// parent = outer * extent(inner) + inner; one relation fuses two axes, chains fuse more.
struct FuseRelation : Relation {
  IterVar outer, inner, fused;
  std::vector<IterVar> parents() const override { return {outer, inner}; }
  std::vector<IterVar> children() const override { return {fused}; }
  void domain_down(DomainMap& domains, Analyzer& analyzer) const override;
  void index_up(VarMap& values, const DomainMap& domains) const override;
  void index_down(VarMap& values, const DomainMap& domains) const override;
  void interval_up(IntervalMap&, const DomainMap&, Analyzer&) const override;
  std::vector<Expr> predicate(const VarMap&, const DomainMap&, Analyzer&) const override;
};

// The same axis with its minimum moved to zero; made by normalize.
struct RebaseRelation : Relation {
  IterVar parent, rebased;
  std::vector<IterVar> parents() const override { return {parent}; }
  std::vector<IterVar> children() const override { return {rebased}; }
  void domain_down(DomainMap& domains, Analyzer& analyzer) const override;
  void index_up(VarMap& values, const DomainMap& domains) const override;
  void index_down(VarMap& values, const DomainMap& domains) const override;
  void interval_up(IntervalMap&, const DomainMap&, Analyzer&) const override;
  std::vector<Expr> predicate(const VarMap&, const DomainMap&, Analyzer&) const override;
};

}  // namespace tw
