// SPDX-License-Identifier: Apache-2.0
// Symbols: what a network is written with. A symbol is one or several outputs of nodes; calling an
// operator on symbols makes another. NNVM's nnvm.symbol.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/node.h"

namespace tw::graph {

class Symbol {
 public:
  using Named = std::vector<std::pair<std::string, Symbol>>;

  Symbol() = default;
  explicit Symbol(std::vector<Entry> outputs) : outputs_(std::move(outputs)) {}

  static Symbol variable(std::string name, Attributes attributes = {});
  static Symbol group(const std::vector<Symbol>& symbols);
  // The outputs of a new node. Inputs are given by position or by name; those that are missing
  // become variables called name_input, with the attributes of the node. UnknownOperator,
  // BadAttribute and BadArgument, each with what would be legal.
  static Symbol call(std::string_view op, std::string name, const std::vector<Symbol>& inputs,
                     const Named& named_inputs, Attributes attributes);

  const std::vector<Entry>& outputs() const { return outputs_; }
  // The symbol with variables replaced, by name or by position among list_input_names(). It stays
  // as it was itself. BadArgument for a name that no variable has.
  Symbol compose(const std::vector<Symbol>& inputs, const Named& named_inputs) const;
  // One output, by number or by name. BadArgument where there is none.
  Symbol output(int64_t index) const;
  Symbol output(std::string_view name) const;
  // All outputs of all nodes below.
  Symbol internals() const;
  // The inputs of the node, where the symbol is one node's; empty for variables.
  Symbol children() const;

  std::vector<std::string> list_input_names() const;
  // Those of them that operators below write to, in that order.
  std::vector<std::string> list_written_names() const;
  std::vector<std::string> list_output_names() const;
  // The symbol must be one node: BadArgument for groups.
  const Attributes& attributes() const;
  void set_attributes(const Attributes& attributes);
  // Those of every node below, as name$attribute; NNVM's list_attr(recursive=True).
  Attributes all_attributes() const;
  std::string name() const;

 private:
  Node& only_node() const;
  std::vector<Entry> outputs_;
};

// How an output is called: a variable's by its name, an only one name_output, others name_output1.
std::string output_name(const Entry& entry);

}  // namespace tw::graph
