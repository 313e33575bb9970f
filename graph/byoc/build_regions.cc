// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/build_regions.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/byoc/codegens.h"
#include "graph/byoc/function.h"
#include "graph/byoc/region.h"
#include "graph/dtypes.h"
#include "graph/json.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "graph/rewrite.h"
#include "runtime/error.h"
#include "runtime/region_module.h"

namespace tw::graph {
namespace {

class RegionBuilder {
 public:
  RegionBuilder(const Graph& graph, const Parameters& parameters, int threads)
      : index_(graph),
        parameters_(parameters),
        threads_(threads),
        shapes_(list_of<Shape>(graph, "shape", index_.num_entries())),
        types_(list_of<int64_t>(graph, "dtype", index_.num_entries())),
        written_(written_variables(index_.nodes())) {}

  BuiltRegions run(const Graph& graph) {
    std::map<std::string, std::vector<uint32_t>> calls;  // by compiler
    for (uint32_t id = 0; id < index_.num_nodes(); ++id) {
      const Node& node = *index_.nodes()[id];
      const std::string& compiler = text_of(node, "Compiler");
      if (node.function && !compiler.empty()) calls[compiler].push_back(id);
    }
    for (const auto& [compiler, ids] : calls) build_all(compiler, ids);
    Graph built = rewrite(graph, [&](size_t id, const NodeRef& node) -> Replacement {
      const auto function = functions_.find(static_cast<uint32_t>(id));
      if (function == functions_.end()) return std::nullopt;
      Node next = *node;
      next.function = function->second;
      return entries_of(make_node(std::move(next)));
    });
    result_.graph =
        inline_functions(built, [](const Node& call) { return call.function->module == nullptr; });
    return std::move(result_);
  }

 private:
  void build_all(const std::string& compiler, const std::vector<uint32_t>& ids) {
    std::vector<vendor::Region> regions;
    std::vector<uint32_t> read;  // those that are regions
    std::optional<Codegen> codegen;
    std::vector<std::string> problems;
    try {
      codegen = find_codegen(compiler);
      for (uint32_t id : ids) {
        regions.push_back(region_of(*index_.nodes()[id], inputs_of(id)));
        regions.back().threads = threads_;
      }
      problems = try_regions(*codegen, regions);
    } catch (const Error& e) {
      problems.assign(ids.size(), e.info().what);
    }
    for (size_t k = 0; k < ids.size(); ++k) {
      const std::string problem =
          problems[k].empty() ? build_one(*codegen, ids[k], regions[k]) : problems[k];
      if (problem.empty()) continue;
      result_.refused.push_back(fmt::format("'{}' of {} is computed by our kernels: {}",
                                            index_.nodes()[ids[k]]->name, compiler, problem));
    }
  }

  std::vector<RegionInput> inputs_of(uint32_t id) const {
    std::vector<RegionInput> inputs;
    for (const Entry& e : index_.nodes()[id]->inputs) {
      const size_t entry = index_.entry_id(e);
      const auto type = type_of_number(static_cast<int>(types_[entry]));
      RegionInput& in = inputs.emplace_back();
      if (type) in.dtype = *type;
      if (type) in.shape = shapes_[entry];
      if (!e.node->is_variable() || written_.contains(e.node.get())) continue;
      const auto constant = parameters_.find(e.node->name);
      if (constant != parameters_.end() && constant->second.is_contiguous())
        in.constant = constant->second;
    }
    return inputs;
  }

  // What went wrong, or empty.
  std::string build_one(const Codegen& codegen, uint32_t id, const vendor::Region& region) {
    try {
      BuiltRegion built{.region = region,
                        .kernel = build_kernel(codegen, region),
                        .codegen = &load_library(codegen),
                        .compiler = codegen.name,
                        .library = library_path(codegen)};
      GraphFunction function = *index_.nodes()[id]->function;
      function.is_constant.clear();  // of an earlier build, with other parameters
      for (const RegionInput& in : inputs_of(id)) {
        function.is_constant.push_back(in.constant.defined());
        if (in.constant.defined()) built.constants.push_back(in.constant);
      }
      for (const NodeRef& p : function.parameters) built.parameters.push_back(p->name);
      built.body = save_json(
          inline_functions({.outputs = function.outputs}, [](const Node&) { return true; }));
      function.module = make_region_module(std::move(built));
      functions_[id] = std::make_shared<const GraphFunction>(std::move(function));
      return "";
    } catch (const Error& e) {
      return e.info().what;
    }
  }

  GraphIndex index_;
  const Parameters& parameters_;
  int threads_;
  const std::vector<Shape>& shapes_;
  const std::vector<int64_t>& types_;
  std::set<const Node*> written_;
  std::map<uint32_t, std::shared_ptr<const GraphFunction>> functions_;
  BuiltRegions result_;
};

}  // namespace

BuiltRegions build_regions(const Graph& graph, const Parameters& parameters, int threads) {
  return RegionBuilder(graph, parameters, threads).run(graph);
}

}  // namespace tw::graph
