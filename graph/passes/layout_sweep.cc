// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/layout_sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/op.h"
#include "graph/pass.h"
#include "runtime/error.h"

namespace tw::graph {
namespace {

// Layouts of a graph attribute, one for each of `count`; all unknown where it is not there.
std::vector<Layout> layouts_of(const Graph& graph, std::string_view name, size_t count,
                               bool may_be_fewer) {
  std::vector<Layout> layouts;
  if (graph.attributes.contains(name)) {
    const auto* texts = graph.find<std::vector<std::string>>(name);
    if (texts == nullptr || (may_be_fewer ? texts->size() > count : texts->size() != count)) {
      raise({.code = ErrorCode::BadArgument,
             .what = texts == nullptr
                         ? fmt::format("the graph attribute '{}' is no list of texts", name)
                         : fmt::format("{} values in '{}'", texts->size(), name),
             .legal = fmt::format("a list of {} layouts", count)});
    }
    for (const std::string& text : *texts) {
      layouts.push_back(Layout::parse(text, fmt::format("the graph attribute '{}'", name)));
    }
  }
  layouts.resize(count);
  return layouts;
}

}  // namespace

LayoutSweep::LayoutSweep(const Graph& graph)
    : index_(graph),
      natural_(layouts_of(graph, "layout", index_.num_entries(), false)),
      given_(index_.num_entries()),
      shapes_(index_.num_entries()) {
  const std::vector<Layout> inputs =
      layouts_of(graph, "layout_inputs", index_.inputs().size(), true);
  for (const std::string_view name : {"shape", "natural_shape"}) {
    const auto* shapes = graph.find<std::vector<Shape>>(name);
    if (shapes != nullptr && shapes->size() == shapes_.size()) shapes_ = *shapes;
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    const size_t entry = index_.entry_id(index_.inputs()[k], 0);
    Layout& natural = natural_[entry];
    given_[entry] = inputs[k].known() ? inputs[k] : natural;
    if (natural.known() && !given_[entry].convertible(natural)) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("input '{}' is given in layout {}, and was {}",
                                 index_.nodes()[index_.inputs()[k]]->name, given_[entry].text(),
                                 natural.text()),
             .legal = "a layout of the same dimensions"});
    }
    if (!natural.known()) natural = given_[entry];
  }
  for (const NodeRef& node : index_.nodes()) {
    attributes_.emplace_back();
    if (!node->is_variable()) {
      attributes_.back().emplace(node->op->attributes, node->attributes, node->name);
    }
  }
}

LayoutChoice LayoutSweep::choose(uint32_t id) {
  const Node& node = *index_.nodes()[id];
  std::vector<LayoutChoice::Input> inputs;
  std::vector<Layout> outputs;
  for (const Entry& e : node.inputs) {
    const size_t entry = index_.entry_id(e);
    const Shape& shape = shapes_[entry];
    const bool fits =
        !natural_[entry].known() || !shape.has_rank() || shape.rank() == natural_[entry].rank();
    inputs.push_back({given_[entry], natural_[entry], fits ? shape : Shape()});
  }
  for (size_t entry = index_.entry_id(id, 0); entry < index_.first_entries()[id + 1]; ++entry) {
    outputs.push_back(natural_[entry]);
  }
  LayoutChoice choice(node, *attributes_[id], std::move(inputs), std::move(outputs));
  if (node.op->layout) node.op->layout(choice);
  for (size_t k = 0; k < choice.num_inputs(); ++k) {
    const Layout &wanted = choice.wanted()[k], &given = choice.given(k);
    if (!wanted.known() || !given.known() || wanted.convertible(given)) continue;
    if (choice.natural(k).has_blocks()) {
      raise({.code = ErrorCode::BadGraph,
             .what = fmt::format("{} is in layout {}", place_of(node, true, k), given.text()),
             .legal = fmt::format("one of the dimensions of {}", wanted.text())});
    }
    choice.want(k, choice.natural(k));
  }
  return choice;
}

bool LayoutSweep::visit(uint32_t id) {
  const Node& node = *index_.nodes()[id];
  if (node.is_variable()) return false;
  const LayoutChoice choice = choose(id);
  bool learned = false;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    const size_t entry = index_.entry_id(node.inputs[k]);
    if (natural_[entry].known() || !choice.wanted()[k].known()) continue;
    natural_[entry] = given_[entry] = choice.wanted()[k];
    learned = true;
  }
  for (size_t k = 0; k < choice.num_outputs(); ++k) {
    const size_t entry = index_.entry_id(id, static_cast<uint32_t>(k));
    const Layout& natural = choice.natural_outputs()[k];
    learned = learned || natural_[entry] != natural;
    natural_[entry] = natural;
    given_[entry] = choice.gives()[k].known() ? choice.gives()[k] : natural;
  }
  return learned;
}

// Each round but the last names an entry, and the sweep backward takes names along chains at once.
void LayoutSweep::find_natural_layouts() {
  const auto nodes = static_cast<uint32_t>(index_.num_nodes());
  for (bool learned = true; learned;) {
    learned = false;
    for (uint32_t id = 0; id < nodes; ++id) learned |= visit(id);
    if (!learned) break;
    for (uint32_t id = nodes; id-- > 0;) learned |= visit(id);
  }
}

std::map<std::string, GraphAttribute, std::less<>> rewritten_attributes(const Graph& graph) {
  auto attributes = graph.attributes;
  for (const Pass& pass : passes()) {
    for (const std::string& name : pass.gives) attributes.erase(name);
  }
  return attributes;
}

}  // namespace tw::graph
