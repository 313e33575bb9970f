// SPDX-License-Identifier: Apache-2.0
// Operators of partitioned graphs: marks around what another code generator computes, and calls of
// functions.
#include <unordered_map>

#include "graph/byoc/function.h"
#include "graph/dtypes.h"
#include "graph/op.h"
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "graph/pass.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

// What inference finds inside of a function where its parameters are the inputs of the call.
// `to_attribute` and `from_attribute` translate between values and elements of graph attributes.
template <class Element, class Value, class To, class From>
void infer_inside(Inference<Value>& s, const std::string& attribute, Graph (*pass)(Graph),
                  To to_attribute, From from_attribute) {
  const GraphFunction* function = s.node().function.get();
  if (function == nullptr) return;
  Graph body{.outputs = function->outputs};
  const GraphIndex index(body);
  std::unordered_map<const Node*, size_t> number;  // of parameters; look-ups only
  for (size_t k = 0; k < function->parameters.size(); ++k)
    number[function->parameters[k].get()] = k;
  std::vector<Element> given;
  for (uint32_t id : index.inputs())
    given.push_back(to_attribute(s.input(number.at(index.nodes()[id].get()))));
  body.attributes[attribute + "_inputs"] = std::move(given);
  body = pass(std::move(body));
  const auto& found = *body.find<std::vector<Element>>(attribute);
  for (uint32_t id : index.inputs()) {
    s.narrow_input(number.at(index.nodes()[id].get()),
                   from_attribute(found[index.entry_id(id, 0)]));
  }
  for (size_t k = 0; k < function->outputs.size(); ++k)
    s.narrow_output(k, from_attribute(found[index.entry_id(function->outputs[k])]));
}

void infer_function_shape(ShapeInference& s) {
  const auto same = [](const Shape& shape) { return shape; };
  infer_inside<Shape>(s, "shape", infer_shape, same, same);
}

void infer_function_type(TypeInference& t) {
  infer_inside<int64_t>(
      t, "dtype", infer_type,
      [](const KnownType& type) -> int64_t { return type ? number_of(*type) : -1; },
      [](int64_t number) { return type_of_number(static_cast<int>(number)); });
}

Op mark(std::string_view name, std::string_view doc) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"data", "any shape and type"}},
          .attributes = {{"compiler", AttributeType::Text, {}, "the code generator's name"}},
          .infer_shape = same_shape,
          .infer_type = same_type,
          .layout = one_layout,
          .compute = [](const AttributeValues&,
                        Tensors in) { return std::vector{topi::identity(in[0])}; },
          // Of the value; whoever wants marks in a gradient sets its own.
          .gradient = [](const NodeRef&, const Entries& g) { return g; }};
}

}  // namespace

std::vector<Op> byoc_ops() {
  using enum AttributeType;
  return {
      mark("compiler_begin", "data, which what reads it is to compute by another code generator."),
      mark("compiler_end", "data, which another code generator computes."),
      {.name = "_call_function",
       .doc = "The outputs of a function of the graph on the inputs; passes make it.",
       .inputs = {{"args", "what the function takes"}},
       .variadic = true,
       .least_inputs = 0,
       .attributes = {{"Compiler", Text, "", "the code generator that builds it"},
                      {"Composite", Text, "", "the pattern that it is an instance of"},
                      {"ExternalSymbol", Text, "", "its name among what that builds"},
                      {"Primitive", Int, "0", "1: no other pass looks inside"}},
       .infer_shape = infer_function_shape,
       .infer_type = infer_function_type},
  };
}

}  // namespace tw::graph
