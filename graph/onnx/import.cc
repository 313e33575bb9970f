// SPDX-License-Identifier: Apache-2.0
// The walk over a model: nodes in their order, each through its row of the table. What is not
// supported is collected, and what follows from it skipped, so that one error names all of it.
#include "graph/onnx/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "graph/onnx/builder.h"
#include "graph/onnx/converter.h"
#include "graph/onnx/tensor.h"
#include "runtime/error.h"
#include "runtime/nearest_word.h"

namespace tw::graph::onnx {
namespace {

// Bodies of functions may call functions: so deep, and so many nodes in all.
constexpr int kDeepest = 64;
constexpr int64_t kMostInlined = 200'000;

[[noreturn]] void bad_graph(std::string what, std::string legal) {
  raise({.code = ErrorCode::BadGraph, .what = std::move(what), .legal = std::move(legal)});
}

// "Conv 'conv1'"; of a node without a name what it computes.
std::string describe(const NodeData& node) {
  const bool has_output = !node.outputs.empty();
  const std::string_view name = !node.name.empty() || !has_output ? node.name : node.outputs[0];
  return node.domain.empty() || node.domain == "ai.onnx"
             ? fmt::format("{} '{}'", node.op, name)
             : fmt::format("{}.{} '{}'", node.domain, node.op, name);
}

// Names of one graph, or of one call of a function. A value that follows from what is not supported
// is nothing.
using Scope = std::unordered_map<std::string_view, std::optional<Value>>;  // look-ups only
using Opsets = std::vector<OpsetImport>;
using Arguments = std::vector<NodeAttribute>;  // attributes of a function's call

class Importer {
 public:
  Importer(const Model& model, const Memory& file, const ImportOptions& options)
      : model_(model), options_(options), tensors_(file, options.folder) {
    for (const FunctionData& f : model.functions) functions_[{f.domain, f.name}] = &f;
    for (const TensorData& t : model.graph.initializers) {
      if (!initializers_.emplace(t.name, &t).second) {
        bad_graph(fmt::format("initializer '{}' is there twice", t.name), "each name once");
      }
    }
  }

  Imported run() {
    const GraphData& graph = model_.graph;
    if (graph.outputs.empty()) bad_graph("the model has no output", "one or more");
    check_opsets(model_.opsets);
    check_names();
    Scope scope;
    // Extents with a name may be known from an input that stands behind.
    for (const ValueInfo& v : graph.inputs) {
      const auto given = options_.shapes.find(std::string(v.name));
      if (given != options_.shapes.end() && v.shape) check_given(v, given->second);
    }
    for (const ValueInfo& v : graph.inputs) {
      if (!initializers_.contains(v.name)) add_input(scope, v);
    }
    std::vector<std::string_view> wanted;
    for (const ValueInfo& v : graph.outputs) wanted.push_back(v.name);
    nodes(graph.nodes, wanted, scope, model_.opsets, 0);
    std::vector<Entry> outputs;
    for (const ValueInfo& v : graph.outputs) {
      const auto value = lookup(scope, v.name, "the model's outputs");
      if (value) outputs.push_back(output(*value, v, outputs));
    }
    if (!refused_.empty()) refuse();
    return {.symbol = Symbol(std::move(outputs)), .parameters = builder_.parameters()};
  }

 private:
  void check_opsets(const Opsets& opsets) const {
    for (const OpsetImport& o : opsets) {
      const bool is_default = o.domain.empty() || o.domain == "ai.onnx";
      if (!is_default || (o.version >= kOldestOpset && o.version <= kNewestOpset)) continue;
      raise({.code = ErrorCode::UnknownOperator,
             .what = fmt::format("the model is of opset {}", o.version),
             .legal = fmt::format("opsets {} to {}; onnx.version_converter makes others of them",
                                  kOldestOpset, kNewestOpset)});
    }
  }

  // What the caller says is of inputs that there are.
  void check_names() const {
    std::vector<std::string_view> names;
    for (const ValueInfo& v : model_.graph.inputs) {
      if (!initializers_.contains(v.name)) names.push_back(v.name);
    }
    const auto check = [&](const std::string& name, std::string_view what) {
      if (std::ranges::find(names, name) != names.end()) return;
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("{} names '{}', which is no input of the model{}", what, name,
                                 suggestion(nearest_word(name, names))),
             .legal = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))});
    };
    for (const auto& [name, shape] : options_.shapes) check(name, "shape");
    for (const auto& [name, type] : options_.types) check(name, "dtype");
    for (const auto& [name, value] : options_.values) check(name, "params");
  }

  void add_input(Scope& scope, const ValueInfo& v) {
    const auto type = element_type(v.type);
    if (scope.contains(v.name)) {
      bad_graph(fmt::format("input '{}' is there twice", v.name), "each name once");
    }
    if (!v.is_tensor || !type) {
      refused_.push_back(
          fmt::format("input '{}': {}", v.name, v.is_tensor ? type_name(v.type) : "no tensor"));
      scope[v.name] = std::nullopt;
      return;
    }
    const std::string name(v.name);
    if (const auto known = options_.values.find(name); known != options_.values.end()) {
      scope[v.name] = builder_.constant(name, given_value(v, known->second, *type));
      return;
    }
    const auto given = options_.types.find(name);
    const DType comes = given == options_.types.end() ? *type : given->second;
    Value value = builder_.input(name, shape_of(v), comes);
    if (comes != *type) {
      value = builder_.call("cast", name + "_cast", {value}, {{"dtype", text(*type)}})[0];
    }
    scope[v.name] = value;
  }

  NDArray given_value(const ValueInfo& v, const NDArray& value, DType type) {
    if (value.dtype() != type) {
      raise({.code = ErrorCode::TypeConflict,
             .what = fmt::format("params gives input '{}' as {}", v.name, to_string(value.dtype())),
             .legal = to_string(type)});
    }
    if (v.shape) check_given(v, {value.shape().begin(), value.shape().end()});
    return value.is_contiguous() ? value.as_read_only() : value.copy();
  }

  // Extents that the model leaves open are the caller's; those of one name are the same.
  std::vector<int64_t> shape_of(const ValueInfo& v) {
    const auto given = options_.shapes.find(std::string(v.name));
    if (given != options_.shapes.end()) return given->second;
    if (!v.shape) missing_shape(v, "of any rank");
    std::vector<int64_t> shape;
    for (const Dimension& d : *v.shape) {
      const auto known = d.name.empty() ? extents_.end() : extents_.find(d.name);
      if (d.extent && *d.extent >= 0) {
        shape.push_back(*d.extent);
      } else if (known != extents_.end()) {
        shape.push_back(known->second);
      } else {
        missing_shape(v, described(*v.shape));
      }
    }
    return shape;
  }

  // A shape that the caller gives agrees with the model's.
  void check_given(const ValueInfo& v, const std::vector<int64_t>& shape) {
    const auto conflict = [&](const std::string& why) {
      raise({.code = ErrorCode::ShapeConflict,
             .what = fmt::format("input '{}' is given as {}, and {}", v.name, text(shape), why),
             .legal = "what the model leaves open"});
    };
    if (shape.size() != v.shape->size()) {
      conflict(fmt::format("the model says {}", described(*v.shape)));
    }
    for (size_t k = 0; k < shape.size(); ++k) {
      const Dimension& d = (*v.shape)[k];
      if (shape[k] < 0) conflict("an extent is negative");
      if (d.extent && *d.extent >= 0 && *d.extent != shape[k]) {
        conflict(fmt::format("the model says {}", described(*v.shape)));
      }
      if (d.extent || d.name.empty()) continue;
      const auto [same, is_new] = extents_.emplace(d.name, shape[k]);
      if (!is_new && same->second != shape[k]) {
        conflict(fmt::format("'{}' is {} elsewhere", d.name, same->second));
      }
    }
  }

  static std::string described(const std::vector<Dimension>& shape) {
    std::vector<std::string> extents;
    for (const Dimension& d : shape) {
      if (d.extent) {
        extents.push_back(fmt::format("{}", *d.extent));
      } else {
        extents.emplace_back(d.name.empty() ? "?" : d.name);
      }
    }
    return fmt::format("({})", fmt::join(extents, ", "));
  }

  [[noreturn]] static void missing_shape(const ValueInfo& v, const std::string& known) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("the shape of input '{}' is {} in the model", v.name, known),
           .legal = fmt::format("shape={{'{}': (…)}}", v.name)});
  }

  // Nothing: it follows from what is not supported.
  std::optional<Value> lookup(Scope& scope, std::string_view name, const std::string& reader) {
    if (const auto known = scope.find(name); known != scope.end()) return known->second;
    const auto initial = initializers_.find(name);
    if (&scope != main_ || initial == initializers_.end()) {
      for (std::string_view sparse : model_.graph.sparse_initializers) {
        if (&scope != main_ || sparse != name) continue;
        refused_.push_back(fmt::format("initializer '{}': a sparse tensor", name));
        return scope[name] = std::nullopt;
      }
      bad_graph(fmt::format("{} reads '{}', which nothing before it computes", reader, name),
                "inputs, initializers, and outputs of nodes that stand before");
    }
    const TensorData& tensor = *initial->second;
    const std::string what = fmt::format("initializer '{}'", name);
    if (!element_type(tensor.type)) {
      refused_.push_back(fmt::format("{}: {}", what, type_name(tensor.type)));
      return scope[name] = std::nullopt;
    }
    return scope[name] = builder_.constant(std::string(name), tensors_.read(tensor, what));
  }

  // Those that the outputs do not need are not looked at.
  static std::vector<bool> needed(const std::vector<NodeData>& nodes,
                                  const std::vector<std::string_view>& outputs) {
    std::unordered_set<std::string_view> wanted(outputs.begin(), outputs.end());  // look-ups only
    std::vector<bool> result(nodes.size());
    for (size_t k = nodes.size(); k-- > 0;) {
      result[k] = std::ranges::any_of(nodes[k].outputs, [&](std::string_view name) {
        return !name.empty() && wanted.contains(name);
      });
      if (result[k]) wanted.insert(nodes[k].inputs.begin(), nodes[k].inputs.end());
    }
    return result;
  }

  void nodes(const std::vector<NodeData>& list, const std::vector<std::string_view>& outputs,
             Scope& scope, const Opsets& opsets, int depth) {
    if (depth == 0) main_ = &scope;
    const std::vector<bool> is_needed = needed(list, outputs);
    for (size_t k = 0; k < list.size(); ++k) {
      if (is_needed[k]) node(list[k], scope, opsets, depth);
    }
  }

  void node(const NodeData& node, Scope& scope, const Opsets& opsets, int depth) {
    Values inputs;
    bool is_known = true;
    for (std::string_view name : node.inputs) {
      const auto value = name.empty() ? Value() : lookup(scope, name, describe(node));
      is_known = is_known && value;
      inputs.push_back(value.value_or(Value()));
    }
    const auto outputs = convert(node, std::move(inputs), is_known, opsets, depth);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const std::string_view name = node.outputs[k];
      if (name.empty()) continue;
      auto value = outputs ? std::optional((*outputs)[k]) : std::nullopt;
      const bool is_initial = depth == 0 && initializers_.contains(name);
      if (is_initial || !scope.emplace(name, std::move(value)).second) {
        bad_graph(fmt::format("{} computes '{}', which is there already", describe(node), name),
                  "each name once");
      }
    }
  }

  // An output for each that the node has; nothing where it is not supported.
  std::optional<Values> convert(const NodeData& node, Values inputs, bool is_known,
                                const Opsets& opsets, int depth) {
    const auto refused = [&](std::string_view why) {
      refused_.push_back(why.empty() ? describe(node) : fmt::format("{}: {}", describe(node), why));
      return std::nullopt;
    };
    const auto function = functions_.find({node.domain, node.op});
    if (function != functions_.end()) {
      return inlined(*function->second, node, inputs, depth);
    }
    const std::string_view domain = node.domain == "ai.onnx" ? "" : node.domain;
    const auto opset = std::ranges::find_if(opsets, [&](const OpsetImport& o) {
      return (o.domain == "ai.onnx" ? "" : o.domain) == domain;
    });
    if (opset == opsets.end()) {
      bad_graph(fmt::format("{}: the model does not say the opset of the domain '{}'",
                            describe(node), domain),
                "an opset for each domain");
    }
    const Converter* row = find_converter(domain, node.op, opset->version);
    if (row == nullptr) return refused("");
    if (!is_known) return std::nullopt;
    try {
      Call call(builder_, tensors_, node, *row, opset->version, std::move(inputs));
      Values outputs = row->convert(call);
      size_t named = node.outputs.size();
      while (named > 0 && node.outputs[named - 1].empty()) --named;
      if (named > outputs.size()) return refused(fmt::format("output {}", outputs.size()));
      outputs.resize(node.outputs.size());
      for (size_t k = 0; k < named; ++k) {
        if (!node.outputs[k].empty() && !outputs[k]) return refused(fmt::format("output {}", k));
      }
      return outputs;
    } catch (const Unsupported& why) {
      return refused(why.what);
    }
  }

  // The outputs of a function's body on these inputs.
  std::optional<Values> inlined(const FunctionData& f, const NodeData& call, const Values& inputs,
                                int depth) {
    if (depth >= kDeepest) {
      bad_graph(fmt::format("{}: functions call functions {} deep", describe(call), depth),
                fmt::format("{} at most, and none that calls itself", kDeepest));
    }
    inlined_ += static_cast<int64_t>(f.nodes.size());
    if (inlined_ > kMostInlined) {
      bad_graph(fmt::format("{}: the functions of the model are {} nodes where they are called",
                            describe(call), inlined_),
                fmt::format("{} at most", kMostInlined));
    }
    if (inputs.size() > f.inputs.size() || call.outputs.size() > f.outputs.size()) {
      bad_graph(
          fmt::format("{}: {} inputs and {} outputs", describe(call), inputs.size(),
                      call.outputs.size()),
          fmt::format("{} and {}, as the function has them", f.inputs.size(), f.outputs.size()));
    }
    check_opsets(f.opsets);
    Scope scope;
    for (size_t k = 0; k < f.inputs.size(); ++k) {
      const bool is_there = k < inputs.size() && (inputs[k] || call.inputs[k].empty());
      const Value value = k < inputs.size() ? inputs[k] : Value();
      const bool is_left_out = k >= inputs.size() || call.inputs[k].empty();
      scope[f.inputs[k]] = is_there || is_left_out ? std::optional(value) : std::nullopt;
    }
    nodes(with_arguments(f, call), f.outputs, scope, f.opsets, depth + 1);
    Values outputs;
    for (size_t k = 0; k < call.outputs.size(); ++k) {
      const auto value = lookup(scope, f.outputs[k], describe(call));
      if (!value) return std::nullopt;
      if (!*value && !call.outputs[k].empty()) {
        bad_graph(fmt::format("{}: its output {} is input '{}', which is left out", describe(call),
                              k, f.outputs[k]),
                  "inputs for all that is given out");
      }
      outputs.push_back(*value);
    }
    return outputs;
  }

  // The nodes of the body, whose attributes that stand for those of the call are them.
  static std::vector<NodeData> with_arguments(const FunctionData& f, const NodeData& call) {
    std::vector<NodeData> nodes = f.nodes;
    for (NodeData& n : nodes) {
      std::vector<NodeAttribute> given;
      for (NodeAttribute& a : n.attributes) {
        if (a.reference.empty()) {
          given.push_back(std::move(a));
          continue;
        }
        auto found = std::ranges::find(call.attributes, a.reference, &NodeAttribute::name);
        bool is_there = found != call.attributes.end();
        if (!is_there) {
          found = std::ranges::find(f.default_attributes, a.reference, &NodeAttribute::name);
          is_there = found != f.default_attributes.end();
        }
        if (!is_there) continue;
        given.push_back(*found);
        given.back().name = a.name;
      }
      n.attributes = std::move(given);
    }
    return nodes;
  }

  // A variable is no output of a network, and an output is there once.
  Entry output(const Value& value, const ValueInfo& said, const std::vector<Entry>& others) {
    const auto type = element_type(said.type);
    if (said.is_tensor && said.type != 0 && type != value.dtype()) {
      raise({.code = ErrorCode::TypeConflict,
             .what = fmt::format("output '{}' is {} where the model says {}", said.name,
                                 to_string(value.dtype()), type_name(said.type)),
             .legal = to_string(value.dtype())});
    }
    Entry entry = builder_.entry_of(value);
    if (entry.node->is_variable() || std::ranges::find(others, entry) != others.end()) {
      return builder_.entry_of(builder_.copy(value, std::string(said.name)));
    }
    return entry;
  }

  [[noreturn]] void refuse() const {
    raise({.code = ErrorCode::UnknownOperator,
           .what = fmt::format("{} of the model {} not supported:\n  {}\n",
                               refused_.size() == 1 ? "a node" : "nodes",
                               refused_.size() == 1 ? "is" : "are", fmt::join(refused_, "\n  ")),
           .legal = "operators that docs/onnx.md lists"});
  }

  const Model& model_;
  const ImportOptions& options_;
  TensorReader tensors_;
  Builder builder_;
  std::map<std::pair<std::string_view, std::string_view>, const FunctionData*> functions_;
  std::unordered_map<std::string_view, const TensorData*> initializers_;  // look-ups only
  std::unordered_map<std::string_view, int64_t> extents_;  // of dimensions with a name
  const Scope* main_ = nullptr;
  int64_t inlined_ = 0;
  std::vector<std::string> refused_;  // in the order of the model
};

}  // namespace

std::vector<ValueInfo> inputs_of(const Memory& file) {
  const Model model = parse_model(file.bytes);
  std::vector<ValueInfo> inputs;
  for (const ValueInfo& v : model.graph.inputs) {
    const auto& known = model.graph.initializers;
    if (std::ranges::find(known, v.name, &TensorData::name) == known.end()) inputs.push_back(v);
  }
  return inputs;
}

Imported import_model(const Memory& file, const ImportOptions& options) {
  const Model model = parse_model(file.bytes);
  return Importer(model, file, options).run();
}

}  // namespace tw::graph::onnx
