// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/pack_operand.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "ir/expr.h"

namespace tw::autotune {
namespace {

constexpr int64_t kLeastColumns = 4;  // that transpose_loads takes

bool is_computed(const te::Tensor& t) { return te::as_op<te::ComputeNode>(t.op()) != nullptr; }

bool same(const Operand& a, const Operand& b) {
  return a.tensor == b.tensor && a.dimension == b.dimension && a.dimensions == b.dimensions;
}

// A copy to make, and the members that read it.
struct Request {
  Operand operand;
  int64_t terms = 0;  // that stand side by side; 0: one by one
  size_t term_dimension = 0;
  bool apart = false;  // the factor that is no vector
  std::vector<size_t> members;
  bool like(const Request& r) const {
    return same(operand, r.operand) && terms == r.terms && term_dimension == r.term_dimension &&
           apart == r.apart;
  }
};

std::vector<Request> requests_of(const Tiling& tiling) {
  std::vector<Request> requests;
  const auto add = [&](Request r, size_t member) {
    auto known = std::ranges::find_if(requests, [&](const Request& q) { return q.like(r); });
    if (known == requests.end()) known = requests.insert(known, std::move(r));
    known->members.push_back(member);
  };
  for (size_t m = 0; m < tiling.members.size(); ++m) {
    const TileMember& member = tiling.members[m];
    const auto& group = member.group;
    for (const Operand& operand : member.operands) {
      add({.operand = operand,
           .terms = group ? group->terms : 0,
           .term_dimension = group ? group->dimension : 0},
          m);
    }
    if (group && group->apart)
      add({.operand = *group->apart, .terms = group->terms, .apart = true}, m);
  }
  return requests;
}

class Packing {
 public:
  Packing(Builder& b, const Tiling& tiling, const std::vector<Stage>& sums)
      : b_(b), tiling_(tiling), sums_(sums) {}

  PackedCopies apply() {
    for (const Request& request : requests_of(tiling_)) {
      if (request.apart) {
        pack_apart(request);
      } else {
        pack(request);
      }
    }
    return std::move(copies_);
  }

 private:
  Stage copy_of(const Request& request) const {
    std::vector<te::Operation> readers;
    for (size_t m : request.members) readers.push_back(sums_[m].op());
    const Schedule& s = b_.schedule();
    return s[s.cache_read(request.operand.tensor, "global", readers)];
  }

  // Packing walks the packed copy in order, its tiles in parallel.
  void pack(const Request& request) {
    const Operand& operand = request.operand;
    const Stage pack = copy_of(request);
    std::vector<size_t> along(operand.dimensions);
    std::iota(along.begin(), along.end(), operand.dimension);
    collapse(pack, along);
    const auto rank = static_cast<int64_t>(operand.tensor.rank() + 1 - along.size());
    const auto d = static_cast<int64_t>(operand.dimension);
    if (request.terms > 0) {
      pack_groups(request, pack, rank, d);
      return;
    }
    // After the split, dimension d is the tile and d + 1 the place in it.
    std::vector<int64_t> order = {d};
    for (int64_t k = 0; k <= rank; ++k) {
      if (k != d && k != d + 1) order.push_back(k);
    }
    order.push_back(d + 1);
    copies_.places.push_back({{b_.next_step(), kFactorArgument}, /*lanes=*/false});
    pack.transform_layout(pack.axis(static_cast<int>(d)), 1, order);
    if (te::is_constant(operand.tensor)) {
      pack.precompute();
    } else if (!is_computed(operand.tensor)) {
      copies_.in_call.push_back(pack);
    }
    pack.parallel(pack.axis(0));
    if (d + 1 != rank) {
      transpose(pack, operand.tensor, static_cast<int>(rank));
      return;
    }
    copies_.places.push_back({{b_.next_step(), kFactorArgument}, /*lanes=*/true});
    pack.vectorize(pack.split(pack.axis(static_cast<int>(rank)), 1).inner);
  }

  // Lanes lie apart in the operand, along whose rows goes the axis before them: tiles of both are
  // loaded as rows and transposed in registers (lower/transpose_loads.cc). What is packed once, or
  // has odd rows, is copied one by one.
  void transpose(const Stage& pack, const te::Tensor& tensor, int lanes) {
    const int64_t row = as_const_int(tensor.shape().back()).value_or(1);
    const int64_t columns = std::gcd(row, static_cast<int64_t>(b_.target().vector_lanes(32)));
    if (te::is_constant(tensor) || columns < kLeastColumns) return;
    const auto [tiles, column] = pack.split(pack.axis(lanes - 1), columns);
    copies_.places.push_back({{b_.next_step(), kFactorArgument}, /*lanes=*/true});
    const auto [vectors, lane] = pack.split(pack.axis(lanes), 1);
    pack.reorder({tiles, vectors, column, lane});
    pack.unroll(column);
    pack.vectorize(lane);
  }

  // The same with the terms of a group innermost. Rows are copied side by side, as many as a group
  // has terms: see lower/interleave_stores.cc.
  void pack_groups(const Request& request, const Stage& pack, int64_t rank, int64_t d) {
    auto r = static_cast<int64_t>(request.term_dimension);
    if (r > d) r -= static_cast<int64_t>(request.operand.dimensions) - 1;
    std::vector<int64_t> order;
    for (int64_t k = 0; k <= rank; ++k) {
      if (k != r + 1) order.push_back(k);
    }
    order.push_back(r + 1);
    pack.transform_layout(pack.axis(static_cast<int>(r)), request.terms, order);
    // Of rank + 1 dimensions the last is the group now, and d is where it was.
    order = {d};
    for (int64_t k = 0; k <= rank; ++k) {
      if (k != d && k != d + 1) order.push_back(k);
    }
    order.push_back(d + 1);
    order.push_back(rank + 1);
    copies_.places.push_back({{b_.next_step(), kFactorArgument}, /*lanes=*/false});
    pack.transform_layout(pack.axis(static_cast<int>(d)), 1, order);
    if (te::is_constant(request.operand.tensor)) pack.precompute();
    pack.parallel(pack.axis(0));
    if (d + 1 != rank) return;  // terms lie side by side as they are, or apart in both
    const IterVar term = pack.axis(static_cast<int>(rank + 1));
    copies_.places.push_back({{b_.next_step(), kFactorArgument}, /*lanes=*/true});
    const auto [vectors, lanes] = pack.split(pack.axis(static_cast<int>(rank)), 1);
    pack.reorder({vectors, term, lanes});
    pack.unroll(term);
    pack.vectorize(lanes);
  }

  // The factor that is no vector, images with channels in planes: groups of terms side by side, in
  // a copy that is made before all else. What it is computed from by itself, padding at least, is
  // part of that.
  void pack_apart(const Request& request) {
    const te::Tensor& tensor = request.operand.tensor;
    const auto dimension = static_cast<int64_t>(request.operand.dimension);
    const std::vector<size_t> inlined = operations_of_copy(tensor);
    const Stage pack = copy_of(request);
    for (size_t op : inlined) b_.stage(op).compute_inline();
    const int rank = tensor.rank();
    std::vector<int64_t> order;
    for (int64_t k = 0; k <= rank; ++k) {
      if (k != dimension + 1) order.push_back(k);
    }
    order.push_back(dimension + 1);
    pack.transform_layout(pack.axis(static_cast<int>(dimension)), request.terms, order);
    if (te::is_constant(tensor)) pack.precompute();
    const IterVar row = pack.axis(rank - 1), term = pack.axis(rank);
    const auto covering =
        std::bit_ceil(static_cast<uint64_t>(as_const_int(tensor.shape().back()).value_or(1)));
    const auto [vectors, lanes] = pack.split(
        row, std::min<int64_t>(static_cast<int64_t>(covering), b_.target().vector_lanes(32)));
    pack.reorder({vectors, term, lanes});
    pack.unroll(term);
    pack.vectorize(lanes);
    std::vector<IterVar> outer;
    for (int k = 0; k + 1 < rank; ++k) outer.push_back(pack.axis(k));
    pack.parallel(fuse_all(pack, outer));
  }

  // What nobody else reads, and no tile computes.
  std::vector<size_t> operations_of_copy(const te::Tensor& tensor) {
    std::vector<size_t> inlined;
    for (size_t op = 0; op < b_.facts().size(); ++op) {
      const OperationFacts& f = b_.facts(op);
      if (!f.op.same_as(tensor.op()) || f.compute == nullptr || b_.done(op)) continue;
      if (f.is_output || f.is_reduction || f.op->num_outputs() != 1 || f.consumers.size() != 1 ||
          f.tail_owner >= 0) {
        continue;
      }
      b_.describe("inline", op);
      b_.mark_done(op);
      b_.mark_inlined(op);
      inlined.push_back(op);
    }
    return inlined;
  }

  Builder& b_;
  const Tiling& tiling_;
  const std::vector<Stage>& sums_;
  PackedCopies copies_;
};

}  // namespace

PackedCopies pack_operands(Builder& b, const Tiling& tiling, const std::vector<Stage>& sums) {
  return Packing(b, tiling, sums).apply();
}

void collapse(const Stage& stage, const std::vector<size_t>& dimensions) {
  if (dimensions.size() < 2) return;
  std::vector<IterVar> axes;
  for (size_t d : dimensions) axes.push_back(stage.axis(static_cast<int>(d)));
  stage.collapse_layout(axes);
}

}  // namespace tw::autotune
