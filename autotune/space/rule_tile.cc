// SPDX-License-Identifier: Apache-2.0
// S-S-R-S-R-S multi-level tiling of a reduction whose inputs are read again and again, with
// accumulation in local memory and the elementwise operations behind it, its tail, fused:
//
//   parallel over o0; for o1; { local: for r0; for s2; for r1; s3 in registers }; copy out, in
//   vectors
//
// Where what reads the end of the tail turns its axes, as layouts are, tiles store the result of
// that, too, or what is to be turned afterwards.
//
// Where other such reductions lead into the tail, there are two ways: their sums are computed in
// the same tiles, one after the other before the copy; or each has its own loops and is stored, and
// the tail reads it.
//
// Variants of both: which data axis runs in vector lanes, and whether the operands that move along
// it are packed first, so that a tile's lanes lie side by side in memory: constants when the kernel
// is built, arguments before all else or inside the block that reads them. Where the processor adds
// several products of narrow numbers at once, a packed operand has these terms side by side in each
// lane, and the innermost loop is over them; the other factor is packed too where it has them
// apart.
#include <algorithm>

#include "autotune/space/dot_product.h"
#include "autotune/space/rules.h"
#include "autotune/space/tiling.h"

namespace tw::autotune {
namespace {

// How the packed operand has terms in groups; nothing where the processor cannot add them at once.
std::optional<TermGroup> group_of(const te::ComputeNode& compute,
                                  const std::vector<Operand>& operands, const Target& target) {
  const auto dot = find_dot_product(compute, target);
  if (!dot || operands.size() != 1) return std::nullopt;
  const Operand& packed = operands[0];
  const bool first = packed.tensor == dot->a.tensor;
  const DotProduct::Factor &own = first ? dot->a : dot->b, &other = first ? dot->b : dot->a;
  if (own.dimension == packed.dimension) return std::nullopt;
  TermGroup group{dot->group, dot->reduce_axis, own.dimension, {}};
  if (other.dimension + 1 != static_cast<size_t>(other.tensor.rank())) {
    group.apart = Operand{other.tensor, other.dimension};
  }
  return group;
}

bool same_tensors(const std::vector<Operand>& a, const std::vector<Operand>& b) {
  return std::ranges::equal(a, b, {}, &Operand::tensor, &Operand::tensor);
}

// The same way to tile for all: what moves along the vector axis is packed where the owner's is.
Tiling tiling_of(const Builder& b, const std::vector<size_t>& ops,
                 const std::vector<DataAxis>& axes, size_t vector_axis, bool packed, bool grouped) {
  Tiling tiling{.axes = axes, .vector_axis = vector_axis, .packed = packed, .members = {}};
  for (size_t op : ops) {
    TileMember member{.op = op, .operands = {}, .group = {}};
    const te::ComputeNode& compute = *b.facts(op).compute;
    if (packed) {
      if (auto operands = operands_along(compute, axes[vector_axis])) member.operands = *operands;
    }
    if (grouped) member.group = group_of(compute, member.operands, b.target());
    tiling.members.push_back(std::move(member));
  }
  return tiling;
}

// Behind the sums of the owner, and which way what is stored lies.
struct Behind {
  std::vector<size_t> tail;
  std::vector<std::optional<size_t>> places;
};

Behind as_summed(const OperationFacts& f) {
  Behind behind{.tail = f.tail, .places = {}};
  for (size_t k = 0; k < f.extents.size(); ++k) behind.places.emplace_back(k);
  return behind;
}

Behind turned(const OperationFacts& f) {
  Behind behind{.tail = f.tail, .places = f.permutation};
  behind.tail.insert(behind.tail.end(), f.permuted_tail.begin(), f.permuted_tail.end());
  return behind;
}

// Axes that are one to a tile, where they follow each other in what is stored as well.
std::vector<DataAxis> neighbours(const OperationFacts& f, std::vector<DataAxis> axes,
                                 const std::vector<std::optional<size_t>>& places) {
  std::vector<DataAxis> result;
  for (DataAxis& axis : axes) {
    const bool together = std::ranges::adjacent_find(axis.axes, [&](size_t a, size_t b) {
                            return !places[a] || !places[b] || *places[b] != *places[a] + 1;
                          }) == axis.axes.end();
    if (together) {
      result.push_back(std::move(axis));
      continue;
    }
    for (size_t k : axis.axes) result.push_back({{k}, f.extents[k], f.compute->axis[k].name()});
  }
  return result;
}

// Ways to tile these in the same loops, the owner of the tail first.
void add_tilings(const Builder& b, const std::vector<size_t>& ops, const Behind& behind,
                 std::vector<Tiling>& result) {
  std::vector<const OperationFacts*> facts;
  for (size_t op : ops) facts.push_back(&b.facts(op));
  const OperationFacts& f = *facts[0];
  const std::vector<DataAxis> axes = neighbours(f, data_axes(facts), behind.places);
  const size_t first = result.size();
  result.push_back(tiling_of(b, ops, axes, axes.size() - 1, /*packed=*/false, /*grouped=*/false));
  const int64_t lanes = b.target().vector_lanes(32);
  for (size_t k = axes.size(); k-- > 0;) {
    if (2 * axes[k].extent < lanes || f.op->num_outputs() != 1) continue;
    Tiling plain = tiling_of(b, ops, axes, k, /*packed=*/true, /*grouped=*/false);
    const std::vector<Operand>& operands = plain.members[0].operands;
    if (operands.empty()) continue;
    // Of axes that walk through the same operands the last finds lanes nearest to each other.
    const bool known =
        std::any_of(result.begin() + static_cast<std::ptrdiff_t>(first), result.end(),
                    [&](const Tiling& t) { return same_tensors(t.members[0].operands, operands); });
    if (known) continue;
    if (group_of(*f.compute, operands, b.target())) {
      result.push_back(tiling_of(b, ops, axes, k, /*packed=*/true, /*grouped=*/true));
    }
    result.push_back(std::move(plain));
  }
  for (size_t k = first; k < result.size(); ++k) {
    result[k].tail = behind.tail;
    result[k].places = behind.places;
  }
}

// All reductions whose tails lead into the operation's own.
void add_company(const Builder& b, size_t op, std::vector<size_t>& ops) {
  ops.push_back(op);
  for (size_t other : b.facts(op).company) add_company(b, other, ops);
}

std::vector<Tiling> tilings_of(const Builder& b, size_t op) {
  std::vector<Tiling> result;
  if (!b.facts(op).is_tiled()) return result;
  std::vector<size_t> all;
  add_company(b, op, all);
  const OperationFacts& f = b.facts(op);
  if (all.size() > 1) add_tilings(b, all, as_summed(f), result);
  if (!f.permuted_tail.empty()) add_tilings(b, {op}, turned(f), result);
  add_tilings(b, {op}, as_summed(f), result);
  return result;
}

int variants(const Builder& b, size_t op) { return static_cast<int>(tilings_of(b, op).size()); }

void apply(Builder& b, size_t op, int variant) {
  apply_tiling(b, tilings_of(b, op)[static_cast<size_t>(variant)]);
}

}  // namespace

const Rule kTileRule = {"tile", variants, apply};

}  // namespace tw::autotune
