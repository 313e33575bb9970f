// SPDX-License-Identifier: Apache-2.0
// GraphFuseCompile: each group becomes one call of a compiled kernel.
//
//   %3 = conv2d(%x, %w)          %2 = tvm_op(%x, %w, func_name='fuse_conv2d_relu', …)
//   %4 = relu(%3)
//
// A parameter (graph attribute `param_name_list`) that a kernel takes packed is replaced by a new
// variable; pack_parameters computes its value.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "graph/build.h"
#include "graph/byoc/function.h"
#include "graph/dtypes.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "graph/rewrite.h"
#include "lower/llvm/compile.h"
#include "runtime/region_module.h"

namespace tw::graph {
namespace {

// Shapes and types of the new graph's entries, by node.
struct Described {
  std::vector<Shape> shapes;
  std::vector<int64_t> types;
};

class Rewriter {
 public:
  explicit Rewriter(const Graph& graph)
      : graph_(graph),
        index_(graph),
        shapes_(list_of<Shape>(graph, "shape", index_.num_entries())),
        types_(list_of<int64_t>(graph, "dtype", index_.num_entries())) {
    if (const auto* names = graph.find<std::vector<std::string>>("param_name_list"))
      parameters_.insert(names->begin(), names->end());
    for (uint32_t id : index_.inputs()) {
      const NodeRef& variable = index_.nodes()[id];
      names_.insert(variable->name);
      keep(variable, variable);
    }
  }

  Graph run() {
    const std::vector<Group> groups = groups_of(graph_, parameters_);
    std::vector<Group> computed;
    std::ranges::copy_if(groups, std::back_inserter(computed),
                         [](const Group& g) { return !g.is_view() && !g.is_external; });
    BuiltGroups built = build_groups(computed, build_options_of(graph_));
    size_t next = 0;
    for (const Group& group : groups) {
      if (group.is_view()) {
        view(group);
      } else if (group.is_external) {
        call_external(group);
      } else {
        call(group, built.kernels[built.kernel_of[next++]]);
      }
    }
    Graph result;
    for (const Entry& e : graph_.outputs) result.outputs.push_back(new_entry(e));
    describe(result);
    std::vector<std::shared_ptr<Module>> modules;
    for (const BuiltKernel& kernel : built.kernels) modules.push_back(kernel.built.module);
    std::shared_ptr<Module> ours;
    if (!modules.empty() || regions_.empty()) ours = join(std::move(modules));
    compiled_->module = with_regions(std::move(ours), std::move(regions_));
    compiled_->kernels = std::move(built.kernels);
    result = apply(std::move(result), "PlanMemory");
    std::erase_if(result.attributes, [](const auto& a) {
      return a.first != "shape" && a.first != "dtype" && a.first != "dltype" &&
             a.first != "storage_id" && a.first != "storage_offset";
    });
    result.attributes["module"] = std::shared_ptr<const CompiledGroups>(compiled_);
    return result;
  }

 private:
  // A variable of the old graph is one of the new graph.
  void keep(const NodeRef& from, const NodeRef& to) {
    const size_t entry = index_.entry_id({from, 0});
    entries_[entry] = {to, 0};
    described_[to.get()] = {{shapes_[entry]}, {types_[entry]}};
  }

  Entry new_entry(const Entry& e) const { return entries_.at(index_.entry_id(e)); }

  // A view needs no kernel; NNVM's runtime knows it by this name.
  void view(const Group& group) {
    std::vector<Entry> parts;
    for (const Entry& e : group.parts) parts.push_back(new_entry(e));
    finish(group, std::move(parts), group.program.outputs.size(), "__nop", "");
  }

  // Constants are in the code.
  void call_external(const Group& group) {
    const Node& node = *group.nodes.back();
    std::vector<Entry> inputs;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (!node.function->is_constant[k]) inputs.push_back(new_entry(node.inputs[k]));
    }
    regions_.push_back(node.function->module);
    finish(group, std::move(inputs), static_cast<size_t>(node.num_outputs()),
           text_of(node, "ExternalSymbol"), "");
  }

  void call(const Group& group, const BuiltKernel& kernel) {
    const size_t num_inputs = group.inputs.size(), num_outputs = group.program.outputs.size();
    const std::vector<Entry> packed = pack(group, kernel);
    std::vector<Entry> inputs;
    for (size_t number : kernel.built.arguments) {
      if (number < num_inputs) {
        inputs.push_back(new_entry(group.inputs[number]));
      } else if (number >= num_inputs + num_outputs) {
        inputs.push_back(packed[number - num_inputs - num_outputs]);
      }
    }
    finish(group, std::move(inputs), num_outputs, kernel.name, inplace_of(kernel));
  }

  // The node of the new graph in place of a group.
  void finish(const Group& group, std::vector<Entry> inputs, size_t num_outputs,
              const std::string& function, std::string inplace) {
    const Attributes attributes{{"num_outputs", fmt::format("{}", num_outputs)},
                                {"num_inputs", fmt::format("{}", inputs.size())},
                                {"flatten_data", "0"},
                                {"func_name", function}};
    const NodeRef& root = group.nodes.back();
    const NodeRef node = make_call("tvm_op", root->name, std::move(inputs), attributes).node;
    keep_order(group, *node);
    Described& described = described_[node.get()];
    for (uint32_t k = 0; k < num_outputs; ++k) {
      const size_t entry = index_.entry_id({root, k});
      entries_[entry] = {node, k};
      described.shapes.push_back(shapes_[entry]);
      described.types.push_back(types_[entry]);
    }
    inplace_[node.get()] = std::move(inplace);
  }

  // What ran before a node of the group runs before the new one. A variable that is written to is
  // no argument, and stays in the graph as what its writer waits for.
  void keep_order(const Group& group, Node& node) {
    const auto wait_for = [&](const NodeRef& old) {
      const NodeRef first = new_entry({old}).node;
      const bool known =
          std::ranges::find(node.control_dependencies, first) != node.control_dependencies.end();
      if (!known) node.control_dependencies.push_back(first);
    };
    for (const NodeRef& member : group.nodes) {
      std::ranges::for_each(member->control_dependencies, wait_for);
      for (size_t input : member->op->mutates) {
        const NodeRef& variable = member->inputs[input].node;
        wait_for(variable);
        written_[&node].push_back(new_entry({variable}).node.get());
      }
    }
  }

  // The inputs whose memory an output may take, as PlanMemory reads them.
  static std::string inplace_of(const BuiltKernel& kernel) {
    const Function function = kernel.built.module->get_function(kernel.name);
    const std::vector<ArgumentInfo>& infos = function.info().arguments;
    const auto first_output = std::ranges::find(infos, true, &ArgumentInfo::output);
    std::string text;
    for (auto info = first_output; info != infos.end(); ++info) {
      for (const auto& input : info->may_share) {
        text += fmt::format("{}{}:{}", text.empty() ? "" : " ", input, info - first_output);
      }
    }
    return text;
  }

  // The packed parameters of a call, as variables; groups with the same code and parameters share
  // theirs.
  std::vector<Entry> pack(const Group& group, const BuiltKernel& kernel) {
    const autotune::BuiltProgram& built = kernel.built;
    if (!built.preparation.defined()) return {};
    Packing packing{.function = built.preparation};
    std::string key = kernel.name;
    for (size_t number : built.preparation_arguments) {
      if (number >= group.inputs.size()) continue;
      packing.inputs.push_back(group.inputs[number].node->name);
      key += "\n" + packing.inputs.back();
    }
    const auto [place, fresh] = packed_.try_emplace(std::move(key));
    if (!fresh) return place->second;
    const std::vector<ArgumentInfo>& infos = built.preparation.info().arguments;
    for (size_t k = packing.inputs.size(); k < infos.size(); ++k) {
      const NodeRef variable = make_variable(take_name(packing.inputs.front() + ".packed", names_));
      std::vector<int64_t> shape;
      for (const auto& extent : infos[k].shape) shape.push_back(std::get<int64_t>(extent));
      described_[variable.get()] = {{Shape(shape)}, {number_of(infos[k].dtype)}};
      packing.outputs.push_back(variable->name);
      place->second.push_back({variable, 0});
    }
    compiled_->packings.push_back(std::move(packing));
    return place->second;
  }

  void describe(Graph& graph) const {
    std::vector<Shape> shapes;
    std::vector<int64_t> types;
    std::vector<std::string> names, inplace;
    std::vector<int64_t> new_value_of, views;
    const GraphIndex index(graph);
    for (const NodeRef& node : index.nodes()) {
      const Described& d = described_.at(node.get());
      shapes.insert(shapes.end(), d.shapes.begin(), d.shapes.end());
      types.insert(types.end(), d.types.begin(), d.types.end());
      const std::string* function = node->attributes.find("func_name");
      views.push_back(function != nullptr && *function == "__nop" ? 1 : 0);
      const auto pairs = inplace_.find(node.get());
      inplace.push_back(pairs == inplace_.end() ? "" : pairs->second);
      new_value_of.resize(types.size(), -1);
      const auto written = written_.find(node.get());
      if (written == written_.end()) continue;
      std::ranges::transform(written->second,
                             new_value_of.end() - static_cast<ptrdiff_t>(d.types.size()),
                             [&](const Node* variable) { return index.node_id(*variable); });
    }
    for (int64_t type : types)
      names.push_back(to_string(type_of_number(static_cast<int>(type)).value()));
    graph.attributes["shape"] = std::move(shapes);
    graph.attributes["dtype"] = std::move(types);
    graph.attributes["dltype"] = std::move(names);
    graph.attributes["inplace"] = std::move(inplace);
    graph.attributes["view"] = std::move(views);
    graph.attributes["new_value_of"] = std::move(new_value_of);
  }

  const Graph& graph_;
  GraphIndex index_;
  const std::vector<Shape>& shapes_;
  const std::vector<int64_t>& types_;
  std::set<std::string> parameters_, names_;
  std::unordered_map<size_t, Entry> entries_;  // new ones by the number of the old; look-ups only
  std::unordered_map<const Node*, Described> described_;  // look-ups only
  std::unordered_map<const Node*, std::string> inplace_;  // look-ups only
  // The variables whose new values the first outputs of a node are; look-ups only.
  std::unordered_map<const Node*, std::vector<const Node*>> written_;
  std::map<std::string, std::vector<Entry>> packed_;
  std::vector<std::shared_ptr<const Module>> regions_;  // of other code generators
  std::shared_ptr<CompiledGroups> compiled_ = std::make_shared<CompiledGroups>();
};

}  // namespace

Graph fuse_compile(Graph graph) { return Rewriter(graph).run(); }

}  // namespace tw::graph
