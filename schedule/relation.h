// SPDX-License-Identifier: Apache-2.0
// How axes of a stage come from one another. Each relation owns all its rules: domains down (root
// to leaf) and up, indices down and up, and where iterations overrun a domain.
//
// Positions are offsets: counted from the minimum of the axis's domain. Only root axes have a
// minimum other than zero, so for all other axes the offset is the value.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/arithmetic/analyzer.h"
#include "ir/domain_map.h"
#include "ir/node.h"
#include "ir/substitute.h"

namespace tw {

struct ScheduleOptions;

struct Relation : Object {
  // Axes that this relation consumes and gives.
  virtual std::vector<IterVar> parents() const = 0;
  virtual std::vector<IterVar> children() const = 0;
  // Domains of the children from those of the parents, which are in `domains`.
  virtual void domain_down(DomainMap& domains, Analyzer& analyzer,
                           const ScheduleOptions& options) const = 0;
  // Which offsets of the parents are covered while the children run over their parts in `parts`.
  // A part is a range of offsets; the result covers at least what is needed, and its extent is a
  // constant whenever the children's are.
  virtual void domain_up(DomainMap& parts, const DomainMap& domains, Analyzer& analyzer) const = 0;
  // Offsets of the parents from those of the children; nothing when those are not in `offsets`.
  virtual void index_up(VarMap& offsets, const DomainMap& domains) const = 0;
  // Offsets of the children from those of the parents.
  virtual void index_down(VarMap& offsets, const DomainMap& domains) const = 0;
  // `overrun` holds the children that may run past the end of their domain. Adds the parents that
  // then do, and to `checked` the children whose overrun must be tested right here, because no
  // test of a parent would catch it.
  virtual void overrun_up(VarSet& overrun, std::vector<IterVar>& checked, const DomainMap& domains,
                          Analyzer& analyzer) const = 0;
};
using RelationRef = Ref<Relation>;

// parent = outer * extent(inner) + inner
struct SplitRelation : Relation {
  IterVar parent, outer, inner;
  Expr factor;  // defined for split(factor=), otherwise
  Expr nparts;  // defined for split(nparts=)
  std::vector<IterVar> parents() const override { return {parent}; }
  std::vector<IterVar> children() const override { return {outer, inner}; }
  void domain_down(DomainMap& domains, Analyzer& analyzer,
                   const ScheduleOptions& options) const override;
  void domain_up(DomainMap& parts, const DomainMap& domains, Analyzer& analyzer) const override;
  void index_up(VarMap& offsets, const DomainMap& domains) const override;
  void index_down(VarMap& offsets, const DomainMap& domains) const override;
  void overrun_up(VarSet&, std::vector<IterVar>&, const DomainMap&, Analyzer&) const override;
};

// fused = outer * extent(inner) + inner; one relation fuses two axes, chains fuse more.
struct FuseRelation : Relation {
  IterVar outer, inner, fused;
  std::vector<IterVar> parents() const override { return {outer, inner}; }
  std::vector<IterVar> children() const override { return {fused}; }
  void domain_down(DomainMap& domains, Analyzer& analyzer,
                   const ScheduleOptions& options) const override;
  void domain_up(DomainMap& parts, const DomainMap& domains, Analyzer& analyzer) const override;
  void index_up(VarMap& offsets, const DomainMap& domains) const override;
  void index_down(VarMap& offsets, const DomainMap& domains) const override;
  void overrun_up(VarSet&, std::vector<IterVar>&, const DomainMap&, Analyzer&) const override;
};

// The same axis with its minimum moved to zero; made by normalize.
struct RebaseRelation : Relation {
  IterVar parent, rebased;
  std::vector<IterVar> parents() const override { return {parent}; }
  std::vector<IterVar> children() const override { return {rebased}; }
  void domain_down(DomainMap& domains, Analyzer& analyzer,
                   const ScheduleOptions& options) const override;
  void domain_up(DomainMap& parts, const DomainMap& domains, Analyzer& analyzer) const override;
  void index_up(VarMap& offsets, const DomainMap& domains) const override;
  void index_down(VarMap& offsets, const DomainMap& domains) const override;
  void overrun_up(VarSet&, std::vector<IterVar>&, const DomainMap&, Analyzer&) const override;
};

// One iteration around everything; of no axis.
struct SingletonRelation : Relation {
  IterVar axis;
  std::vector<IterVar> parents() const override { return {}; }
  std::vector<IterVar> children() const override { return {axis}; }
  void domain_down(DomainMap& domains, Analyzer& analyzer,
                   const ScheduleOptions& options) const override;
  void domain_up(DomainMap& parts, const DomainMap& domains, Analyzer& analyzer) const override;
  void index_up(VarMap& offsets, const DomainMap& domains) const override;
  void index_down(VarMap& offsets, const DomainMap& domains) const override;
  void overrun_up(VarSet&, std::vector<IterVar>&, const DomainMap&, Analyzer&) const override;
};

}  // namespace tw
