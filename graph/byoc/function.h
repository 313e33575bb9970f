// SPDX-License-Identifier: Apache-2.0
// Functions inside graphs: a node of the operator `_call_function` calls one on its inputs. Parts
// of a network that go to another code generator, and the patterns that it knows, are such
// functions; attributes of the node say which: Compiler, ExternalSymbol, Primitive, Composite.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace tw {
class Module;  // runtime/module.h
}

namespace tw::graph {

struct GraphFunction {
  std::vector<NodeRef> parameters;  // variables, one for each input of the node
  std::vector<Entry> outputs;       // of the body, which reads nothing but parameters
  // Once another code generator has built it: a module of one function, which is called
  // 'ExternalSymbol', and which parameters that holds itself and does not take.
  std::shared_ptr<const Module> module = nullptr;
  std::vector<bool> is_constant = {};
};

// BadGraph where a node calls what it cannot: no function, or one of other parameters.
void verify_function(const Node& node);

// What is said of the function that nodes become.
struct FunctionHead {
  std::string name;        // of the node
  Attributes attributes;   // of the node
  std::string parameters;  // parameters are called so, with a number behind
};

// The graph where the nodes of each region are a function, and a node calls it. `region_of` has for
// each node the number of its region, or kNoRegion; `head` is asked once for each region, in the
// order in which they run. Parameters are numbered over all functions whose parameters are called
// alike. BadGraph where a region depends on itself through a node outside, or writes to variables.
inline constexpr int64_t kNoRegion = -1;
Graph extract_functions(const Graph& graph, std::span<const int64_t> region_of,
                        const std::function<FunctionHead(size_t region)>& head);

// The graph with functions in the place of their calls, as far as `wanted` says; those inside of
// them too. Names stay.
Graph inline_functions(const Graph& graph, const std::function<bool(const Node& call)>& wanted);

// The text of a node's attribute; empty when there is none.
const std::string& text_of(const Node& node, std::string_view attribute);

}  // namespace tw::graph
