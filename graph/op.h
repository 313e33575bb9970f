// SPDX-License-Identifier: Apache-2.0
// What an operator is: a value of plain functions and tables. What one lacks is null, and the pass
// that needs it says so by name.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/attributes.h"
#include "graph/identity.h"
#include "graph/inference.h"
#include "graph/layout_choice.h"
#include "graph/node.h"
#include "graph/scale.h"
#include "schedule/te/operation.h"

namespace tw::graph {

// How an operator's elements depend on those of its inputs, which decides what may be fused: the
// categories of NNVM and of "TVM: An Automated End-to-End Optimizing Compiler for Deep Learning"
// (OSDI 2018), section 3.
enum class Pattern : uint8_t {
  ElementWise,      // an element from the same element of each input
  Broadcast,        // the same, where inputs may lack dimensions
  Injective,        // each input element is read for one output element at most
  CommReduce,       // sums and the like over dimensions
  OutEWiseFusable,  // elementwise operators may follow in its loops, as they do a convolution
  Opaque,           // nothing is known
};
std::string_view to_string(Pattern pattern);

using Tensors = std::span<const te::Tensor>;

struct InputSpec {
  std::string_view name;
  std::string_view doc = {};
  // The attribute, True or False, that says whether there is this input; empty: there always is.
  std::string_view flag = {};
};

// An output that may be written to the memory of an input of the same size, of which nothing is
// read any more when an element is written.
struct InplacePair {
  int64_t input, output;
};

struct AlterCandidate;  // alter_layout.h

struct Op {
  std::string_view name;  // NNVM's
  std::vector<std::string_view> aliases = {};
  std::string_view doc = {};  // what it computes; shapes and element types
  std::vector<InputSpec> inputs = {};
  bool variadic = false;    // any number of inputs, the first of `inputs` being their pattern
  size_t least_inputs = 1;  // of variadic ones
  std::vector<AttributeSpec> attributes = {};
  // Of a node with these attributes; null: one.
  std::function<int(const AttributeValues&)> num_outputs = {};
  // How many of them a call gives, the first; others are for passes. 0: all. NNVM's
  // FNumVisibleOutputs.
  int visible_outputs = 0;
  std::function<void(ShapeInference&)> infer_shape = {};
  std::function<void(TypeInference&)> infer_type = {};
  // In which layouts it computes. Null: in natural ones (layout_choice.h).
  std::function<void(LayoutChoice&)> layout = {};
  Pattern pattern = Pattern::Opaque;
  // The outputs as computations of the inputs.
  std::function<std::vector<te::Tensor>(const AttributeValues&, Tensors)> compute = {};
  // Gradients of the inputs from those of the outputs, as new nodes; an entry without a node where
  // an input has none. The operator's own outputs are entries of `node`.
  std::function<std::vector<Entry>(const NodeRef& node, const std::vector<Entry>& of_outputs)>
      gradient = {};
  // The outputs of a node in inference, of simpler operators (SimplifyInference). Shapes are those
  // of its inputs.
  std::function<std::vector<Entry>(const NodeRef& node, std::span<const Shape> shapes)> simplify =
      {};
  // What the outputs of a node are as an expression of simpler operators (expansion.h), for inputs
  // of these shapes. Where there is no `gradient`, it is the expression's; where there is no
  // `compute`, kernels are those of the expression.
  std::function<std::vector<Entry>(const NodeRef& node, std::span<const Shape> shapes)> expand = {};
  // That expression of float16 or bfloat16 is one of float32, rounded once at its end: it adds up,
  // or takes several steps.
  bool rounds_once = false;
  // Whether the output is the first input, element by element, under another shape.
  bool is_reshape = false;
  // Whether, for inputs of these shapes, the elements of the outputs, one output after the other,
  // are those of the inputs, one input after the other. Null: they are not, or it is a reshape.
  std::function<bool(const AttributeValues&, std::span<const Shape> inputs)> keeps_order = {};
  // Whether a node does nothing (DeadNodes).
  IdentityRule identity = {};
  // How factors along dimensions move through it (FoldScaleAxis).
  ScaleRule fold_scale = {};
  // What may share memory where that input is not read again (PlanMemory).
  std::vector<InplacePair> inplace = {};
  // The inputs, variables, that it writes to (OrderMutation): output k is the new value of the
  // input mutates[k], in its memory. `compute` does not read them.
  std::vector<size_t> mutates = {};
  // The same computed on blocked data, where that is faster (AlterOpLayout): another node, whose
  // inputs are those of this one as they are; null where there is none.
  std::function<NodeRef(const AlterCandidate&)> alter_layout = {};
};

// A node of an operator as a pass makes it, whose first output is meant.
Entry make_call(std::string_view op, std::string name, std::vector<Entry> inputs,
                Attributes attributes = {});

// The variables that nodes write to (Op::mutates): who reads them reads what they are then.
std::set<const Node*> written_variables(std::span<const NodeRef> nodes);

// The inputs of a call with these attributes; of variadic operators none.
std::vector<std::string_view> input_names(const Op& op, const Attributes& attributes);

// What is wrong with how many inputs a call has: how many there should be, or empty.
std::string wrong_number_of_inputs(const Node& call);

// All operators, in the order of ops.def; they live as long as the program.
const std::vector<Op>& operators();
// By name or alias; null when there is none.
const Op* find_op(std::string_view name);
// UnknownOperator with the nearest name.
const Op& get_op(std::string_view name);

}  // namespace tw::graph
