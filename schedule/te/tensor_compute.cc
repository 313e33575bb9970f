// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/tensor_compute.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/error.h"
#include "schedule/te/writer.h"

namespace tw::te {
namespace {

void append(std::vector<IterVar>& to, const std::vector<IterVar>& from, size_t begin, size_t end) {
  to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
            from.begin() + static_cast<std::ptrdiff_t>(end));
}

}  // namespace

Range TensorComputeNode::computed(const IterVar& axis, const Range& needed) const {
  const auto is_it = [&](const IterVar& a) { return a->var.same_as(axis->var); };
  return std::ranges::any_of(inner_axes, is_it) ? axis->domain : needed;
}

void TensorComputeNode::write(Writer& out) const {
  out.put("tensor_compute(", to_string(make(StringImm{.value = intrin_name})), ", ",
          fmt::format("{}, {}, ", inner_data, inner_axes.size() - inner_data));
  write_bodies(out);
}

Operation TensorComputeNode::again(std::string new_name, std::vector<IterVar> axes,
                                   std::vector<Expr> bodies) const {
  return tensor_compute_op(std::move(new_name), intrin_name, inner_data,
                           inner_axes.size() - inner_data, std::move(axes), std::move(bodies), tag,
                           attributes);
}

Operation tensor_compute_op(std::string name, std::string intrin, size_t inner_data,
                            size_t inner_reduction, std::vector<IterVar> axis,
                            std::vector<Expr> body, std::string tag, Attributes attributes) {
  auto* node = new TensorComputeNode;
  const Operation op(node);
  set_bodies(*node, std::move(name), std::move(axis), std::move(body));
  const size_t data = node->axis.size(), reduction = node->reduce_axis.size();
  if (inner_data > data || inner_reduction > reduction) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("{} data axes and {} of a reduction are the intrinsic's, and there "
                               "are {} and {}",
                               inner_data, inner_reduction, data, reduction),
           .stage = node->name});
  }
  append(node->inner_axes, node->axis, data - inner_data, data);
  append(node->inner_axes, node->reduce_axis, reduction - inner_reduction, reduction);
  // The loops around the call, then those of the call.
  node->all_axes.clear();
  append(node->all_axes, node->axis, 0, data - inner_data);
  append(node->all_axes, node->reduce_axis, 0, reduction - inner_reduction);
  append(node->all_axes, node->inner_axes, 0, node->inner_axes.size());
  node->intrin_name = std::move(intrin);
  node->inner_data = inner_data;
  node->tag = std::move(tag);
  node->attributes = std::move(attributes);
  return op;
}

}  // namespace tw::te
