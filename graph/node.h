// SPDX-License-Identifier: Apache-2.0
// Nodes of a graph. A node calls an operator, or is a variable; an entry is one of its outputs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/attributes.h"

namespace tw::graph {

struct Op;
struct Node;
struct GraphFunction;  // graph/byoc/function.h
using NodeRef = std::shared_ptr<Node>;

struct Entry {
  NodeRef node;
  uint32_t index = 0;  // which output
  // Of a variable: how many operators have written to it, for one that writes with its own.
  uint32_t version = 0;
  bool operator==(const Entry&) const = default;
};

// Graphs and symbols share nodes, so who rewrites a graph makes new ones; only a symbol's owner
// sets attributes in place.
struct Node {
  const Op* op = nullptr;  // null: a variable
  std::string name;
  Attributes attributes;
  std::vector<Entry> inputs;
  std::vector<NodeRef> control_dependencies;      // run before, though nothing of them is read
  uint32_t writes = 0;                            // of a variable: by so many calls so far
  std::shared_ptr<const GraphFunction> function;  // of the operator `_call_function`: what it calls
  std::string source;  // the line that made it, "net.py:12", where it is known; in no file

  Node() = default;
  Node(const Node&) = default;
  Node& operator=(const Node&) = delete;
  // Frees what only this node holds without recursion: graphs are deeper than the stack.
  ~Node();

  bool is_variable() const { return op == nullptr; }
  // Raises BadAttribute where an attribute that decides it reads wrongly.
  int num_outputs() const;
};

NodeRef make_node(Node node);
NodeRef make_variable(std::string name, Attributes attributes = {});

// All outputs of a node, in order.
std::vector<Entry> entries_of(const NodeRef& node);

// Every node that the outputs depend on, once, inputs before those who read them: NNVM's order, in
// which the first output's first input comes first.
std::vector<NodeRef> nodes_of(std::span<const Entry> outputs);

}  // namespace tw::graph
