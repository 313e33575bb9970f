// SPDX-License-Identifier: Apache-2.0
// The pattern tables of the code generators of codegens.def.
#include <string>
#include <utility>

#include "graph/byoc/codegens.h"
#include "graph/byoc/plugins/facts.h"
#include "graph/byoc/region.h"

namespace tw::graph {
namespace {

// A pattern whose matches have to be what the code generator's builder takes.
template <size_t n>
TablePattern row(std::string name, PatternRef pattern, const vendor::Fact (&facts)[n]) {
  return {.name = std::move(name),
          .pattern = std::move(pattern),
          .refusal =
              [&facts](const Match& m, const PatternGraph& graph) {
                const vendor::Region region = region_of(m, graph);
                return vendor::refusal(facts, region, region.composites.front());
              },
          .of_known_types = true};
}

// Of primitive operators: (x - mean) / sqrt(mean of its square + epsilon), as far as it goes.
std::vector<PatternRef> layer_norms() {
  const PatternRef x = wildcard();
  const PatternRef centred = is_op("subtract", {x, is_op("mean", {x})});
  const PatternRef variance = is_op("mean", {is_op("multiply", {centred, centred})});
  const PatternRef normal =
      is_op("divide", {centred, is_op("sqrt", {is_op("__add_scalar__", {variance})})});
  const PatternRef scaled = is_op("multiply", {normal, wildcard()});
  return {is_op("add", {scaled, wildcard()}), scaled, normal};
}

PatternRef with_activation(const PatternRef& p) {
  return either(is_op("nn.relu", {p}), either(is_op("clip", {p}), p));
}

}  // namespace

PatternTable openblas_patterns() {
  const PatternRef product = either(is_op("nn.dense"), is_op("nn.matmul"));
  return {"openblas",
          {row("openblas.product", either(is_op("nn.relu", {product}), product),
               vendor::kOpenblasFacts)}};
}

PatternTable csource_patterns() {
  PatternTable table{.compiler = "csource"};
  for (const char* op : {"nn.conv2d", "nn.dense", "nn.relu", "tanh", "sigmoid", "exp", "sqrt",
                         "negative", "abs", "copy", "nn.batch_flatten", "add", "subtract",
                         "multiply", "__add_scalar__", "__sub_scalar__", "__mul_scalar__"}) {
    table.patterns.push_back(row(std::string("csource.") + op, is_op(op), vendor::kCSourceFacts));
  }
  return table;
}

PatternTable onednn_patterns() {
  PatternTable table{.compiler = "onednn"};
  const auto add = [&](const std::string& name, const PatternRef& pattern) {
    table.patterns.push_back(row("onednn." + name, pattern, vendor::kOneDnnFacts));
  };
  const PatternRef conv = is_op("nn.conv2d");
  const PatternRef norm = is_tuple_get_item(
      is_op("nn.batch_norm", {conv, is_constant(), is_constant(), is_constant(), is_constant()}),
      0);
  const PatternRef normed = either(norm, conv);
  const PatternRef sum = is_op("add", {normed, wildcard()});
  add("conv2d", with_activation(either(sum, normed)));
  add("conv2d", with_activation(normed));  // where the addition is no residual
  for (const char* op : {"nn.dense", "nn.matmul"}) add("product", with_activation(is_op(op)));
  for (const char* op :
       {"nn.max_pool2d", "nn.avg_pool2d", "nn.global_max_pool2d", "nn.global_avg_pool2d"})
    add("pool2d", is_op(op));
  // In front of what they consist of.
  const PatternRef batch_norm = is_op("nn.batch_norm");
  add("batch_norm", either(is_op("nn.relu", {is_tuple_get_item(batch_norm, 0)}), batch_norm));
  for (const PatternRef& pattern : layer_norms()) add("layer_norm", pattern);
  for (const char* op : {"nn.relu", "tanh", "sigmoid", "exp", "sqrt", "abs", "clip", "nn.softmax"})
    add(op, is_op(op));
  add("sum", is_op("add", {wildcard(), wildcard()}));
  add("concat", is_op("concatenate"));
  return table;
}

}  // namespace tw::graph
