// SPDX-License-Identifier: Apache-2.0
// What graphs compute, by te/evaluate, and arrays in other layouts, by walking over their elements.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/group.h"
#include "graph/layout.h"
#include "tests/support/te_run.h"

namespace tw::graph {

// The outputs of a graph for values of its variables, by name, which are all of one type.
inline std::vector<test::Array> values_of(const std::vector<Entry>& outputs,
                                          const std::map<std::string, test::Array>& inputs,
                                          DType type = float_type(32)) {
  std::map<std::string, te::Tensor> variables;
  for (const auto& [name, array] : inputs) {
    variables[name] = test::placeholder_like(array, type, name);
  }
  const std::vector<te::Tensor> tensors = computations(outputs, variables);
  // Arguments stand in the order of first use; one that is an output itself is copied.
  std::vector<te::Tensor> results;
  for (const te::Tensor& t : tensors) {
    results.push_back(t.op()->is_placeholder() ? te::compute(t.shape(),
                                                             [&](const std::vector<Var>& i) {
                                                               return t({i.begin(), i.end()});
                                                             })
                                               : t);
  }
  std::vector<test::Array> arrays;
  for (const te::Tensor& t : te::placeholders(results)) arrays.push_back(inputs.at(t.name()));
  return test::run(results, arrays);
}

// The array in another layout, element by element.
inline test::Array in_layout(const test::Array& array, const Layout& from, const Layout& to) {
  const LayoutExtents extents = extents_of(Shape(array.shape), from);
  test::Array result(*shape_in(to, extents)->extents, [](int64_t) { return 0.0; });
  std::vector<int64_t> at(from.rank());
  for (const double element : array.data) {
    std::map<char, int64_t> place;  // along whole dimensions
    for (size_t d = 0; d < from.rank(); ++d) {
      const char primal = from[d].primal();
      place[primal] += from[d].is_primal() ? at[d] * from.block(primal) : at[d];
    }
    int64_t flat = 0;
    for (size_t d = 0; d < to.rank(); ++d) {
      const int64_t along = place[to[d].primal()], block = to.block(to[d].primal());
      flat = flat * result.shape[d] + (to[d].is_primal() ? along / block : along % block);
    }
    result.data[static_cast<size_t>(flat)] = element;
    for (size_t d = at.size(); d-- > 0 && ++at[d] == array.shape[d];) at[d] = 0;
  }
  return result;
}

}  // namespace tw::graph
