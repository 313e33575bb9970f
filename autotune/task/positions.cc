// SPDX-License-Identifier: Apache-2.0
#include "autotune/task/positions.h"

#include <algorithm>

#include "ir/expr.h"
#include "ir/visit.h"
#include "schedule/te/compute.h"
#include "schedule/te/ragged.h"
#include "schedule/te/ragged_length.h"

namespace tw::autotune {
namespace {

class FindPositions {
 public:
  explicit FindPositions(const te::Program& program)
      : program_(program), found_(program.arguments.size()) {
    for (const te::Operation& op : te::operations(program.outputs)) {
      const auto* compute = te::as_op<te::ComputeNode>(op);
      if (compute == nullptr) continue;
      for (const Expr& body : compute->body) {
        find_indices(body);
        for (const IterVar& axis : compute->reduce_axis) {
          if (!te::is_ragged(*compute, axis)) continue;
          const int64_t elements = te::elements_along(body, axis.var());
          find_ends(axis->domain.min, elements);
          find_ends(axis->domain.extent, elements);
        }
      }
    }
  }
  std::vector<Positions> found() const { return found_; }

 private:
  // Null for what is no argument, and for numbers that are no integers.
  Positions* of(const Expr& e) {
    const ProducerLoad* load = as<ProducerLoad>(e);
    if (load == nullptr || !load->dtype.is_integer()) return nullptr;
    const auto& arguments = program_.arguments;
    const auto known = std::ranges::find(arguments, load->producer.get(),
                                         [](const te::Tensor& t) { return t.op().get(); });
    return known == arguments.end() ? nullptr : &found_[size_t(known - arguments.begin())];
  }
  static void limit(Positions& p, int64_t count) {
    if (count > 0) p.count = p.count == 0 ? count : std::min(p.count, count);
  }
  void find_indices(const Expr& body) {
    for_each_expr(body, [&](const Expr& e) {
      const ProducerLoad* load = as<ProducerLoad>(e);
      if (load == nullptr) return;
      const std::vector<Expr> shape = load->producer->output_shape(load->value_index);
      for (size_t d = 0; d < load->indices.size(); ++d) {
        if (Positions* p = of(load->indices[d])) limit(*p, as_const_int(shape[d]).value_or(0));
      }
    });
  }
  void find_ends(const Expr& end, int64_t elements) {
    for_each_expr(end, [&](const Expr& e) {
      Positions* p = of(e);
      if (p == nullptr || elements == 0) return;
      limit(*p, elements);
      p->ascending = true;
    });
  }

  const te::Program& program_;
  std::vector<Positions> found_;
};

}  // namespace

std::vector<Positions> positions_of(const te::Program& program) {
  return FindPositions(program).found();
}

}  // namespace tw::autotune
