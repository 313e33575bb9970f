// SPDX-License-Identifier: Apache-2.0
// How operators say in which layouts they compute. A rule (Op::layout) reads the layouts that a
// node's inputs are given in, and chooses those that it wants and gives; the pass inserts
// transforms where the two differ (passes/correct_layout.cc).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/attributes.h"
#include "graph/layout.h"
#include "graph/shape.h"

namespace tw::graph {

struct Node;

// One node under its rule. The natural layouts name the dimensions of the network as it was
// written: an attribute such as axis=1 speaks of those. What a rule does not say stays natural:
// inputs are wanted, and outputs given, in their natural layouts, unknown ones included.
class LayoutChoice {
 public:
  struct Input {
    Layout given, natural;  // either both are known or none
    Shape shape;            // in the natural layout, as far as it is known
  };
  LayoutChoice(const Node& node, const AttributeValues& attributes, std::vector<Input> inputs,
               std::vector<Layout> outputs);

  const Node& node() const { return node_; }
  const AttributeValues& attributes() const { return attributes_; }
  size_t num_inputs() const { return inputs_.size(); }
  size_t num_outputs() const { return outputs_.size(); }
  const Layout& given(size_t k) const { return inputs_[k].given; }
  const Layout& natural(size_t k) const { return inputs_[k].natural; }
  const Shape& shape(size_t k) const { return inputs_[k].shape; }
  const Layout& natural_output(size_t k) const { return outputs_[k]; }
  // That an attribute names; BadAttribute with the node where it is none.
  Layout attribute(std::string_view name) const;

  void want(size_t k, Layout layout) { wanted_[k] = std::move(layout); }
  // `natural`: what the output's layout is where nothing was converted. Where readers have named
  // the output's dimensions before, `layout` is taken under their names.
  void give(size_t k, const Layout& layout, const Layout& natural);
  void give(size_t k, const Layout& layout) { give(k, layout, layout); }
  // For the layouts chosen the node needs this text.
  void set_attribute(std::string name, std::string text);

  const std::vector<Layout>& wanted() const { return wanted_; }
  const std::vector<Layout>& gives() const { return gives_; }
  const std::vector<Layout>& natural_outputs() const { return outputs_; }
  const Attributes& texts() const { return texts_; }  // of the node

 private:
  const Node& node_;
  const AttributeValues& attributes_;
  std::vector<Input> inputs_;
  std::vector<Layout> outputs_;  // natural ones
  std::vector<Layout> wanted_, gives_;
  Attributes texts_;
};

// What the attribute `axis` names of data in that natural layout. Nothing where that is in blocks,
// or no axis at all, of which the inference of shapes speaks.
std::optional<char> letter_of_axis(const LayoutChoice& c, const Layout& natural);
// Makes `axis` the place of that letter; the node keeps its text where that says so already.
void set_axis(LayoutChoice& c, const Layout& layout, char letter);

// Rules that operators share.
// Elementwise: all inputs and outputs have one layout, that which most inputs come in.
void one_layout(LayoutChoice& c);
// The same of two inputs that broadcast, aligned at their last dimension.
void broadcast_layout(LayoutChoice& c);
// The attribute `axis` names a dimension that must not be in blocks; all others may be anywhere.
void axis_layout(LayoutChoice& c);
// The same, and further inputs and outputs are vectors of that dimension; where it is in blocks,
// these are the last dimension of data and vectors.
void channel_layout(LayoutChoice& c);
// Of images: rows and columns must not be in blocks; the attribute `layout` follows the data.
void image_layout(LayoutChoice& c);

}  // namespace tw::graph
