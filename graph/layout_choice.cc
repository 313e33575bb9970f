// SPDX-License-Identifier: Apache-2.0
#include "graph/layout_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "graph/node.h"

namespace tw::graph {
namespace {

// The layout that most of them have; of equally many one with blocks, and of these the first.
Layout most_common(const std::vector<Layout>& layouts) {
  const auto rank = [&](const Layout& l) {
    return std::pair(std::ranges::count(layouts, l), l.has_blocks());
  };
  Layout best;
  for (const Layout& l : layouts) {
    if (!best.known() || rank(l) > rank(best)) best = l;
  }
  return best;
}

// The number of dimensions that an input naturally has, as far as that is known.
std::optional<size_t> rank_of(const LayoutChoice& c, size_t k) {
  if (c.natural(k).known()) return c.natural(k).rank();
  if (c.shape(k).has_rank()) return c.shape(k).rank();
  return std::nullopt;
}

bool ends_with(const Layout& layout, const Layout& end) {
  const auto& all = layout.dimensions();
  return end.rank() <= all.size() &&
         std::ranges::equal(all.end() - static_cast<ptrdiff_t>(end.rank()), all.end(),
                            end.dimensions().begin(), end.dimensions().end(), {},
                            &Layout::Dimension::letter, &Layout::Dimension::letter);
}

// The last dimensions of a layout without blocks; unknown where it has some.
Layout last_of(const Layout& layout, size_t rank) {
  if (layout.has_blocks() || rank == 0 || rank > layout.rank()) return {};
  const auto& all = layout.dimensions();
  return Layout::of({all.end() - static_cast<ptrdiff_t>(rank), all.end()});
}

// An operand that broadcasts against data in layout `whole`: its dimensions as they stand there,
// blocks of those that it has once being blocks of one. Nothing where they would not be aligned
// with the data's, or that cannot be known.
std::optional<Layout> aligned(const LayoutChoice& c, size_t k, const Layout& whole) {
  const Layout& natural = c.natural(k);
  const Shape& shape = c.shape(k);
  if (!shape.has_rank()) return std::nullopt;
  if (shape.known() && shape.elements() == 1 && shape.rank() <= whole.rank()) return natural;
  if (!natural.known()) return std::nullopt;
  const LayoutExtents extents = extents_of(shape, natural);
  std::vector<Layout::Dimension> dimensions;
  for (Layout::Dimension d : whole.dimensions()) {
    const auto extent = extents.find(d.primal());
    if (extent == extents.end()) continue;
    if (extent->second == Shape::kUnknown && !d.is_primal()) return std::nullopt;
    if (extent->second == 1) d.factor = 1;
    dimensions.push_back(d);
  }
  const Layout layout = Layout::of(std::move(dimensions));
  if (!ends_with(whole, layout) || !layout.convertible(natural)) return std::nullopt;
  return layout;
}

}  // namespace

LayoutChoice::LayoutChoice(const Node& node, const AttributeValues& attributes,
                           std::vector<Input> inputs, std::vector<Layout> outputs)
    : node_(node),
      attributes_(attributes),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      gives_(outputs_),
      texts_(node.attributes) {
  for (const Input& input : inputs_) wanted_.push_back(input.natural);
}

Layout LayoutChoice::attribute(std::string_view name) const {
  return Layout::parse(attributes_.text(name), fmt::format("node '{}', {}", node_.name, name));
}

void LayoutChoice::give(size_t k, const Layout& layout, const Layout& natural) {
  Layout& known = outputs_[k];
  if (!known.known()) known = natural;
  gives_[k] = layout;
  const bool names = !natural.has_blocks() && !known.has_blocks() && natural.rank() == known.rank();
  if (known == natural || !names) return;
  std::vector<Layout::Dimension> renamed = layout.dimensions();
  for (Layout::Dimension& d : renamed) {
    const char name = known[static_cast<size_t>(natural.index_of(d.primal()))].letter;
    d.letter = d.is_primal() ? name : Layout::subordinate(name);
  }
  gives_[k] = Layout::of(std::move(renamed));
}

void LayoutChoice::set_attribute(std::string name, std::string text) {
  texts_.set(std::move(name), std::move(text));
}

std::optional<char> letter_of_axis(const LayoutChoice& c, const Layout& natural) {
  const auto rank = static_cast<int64_t>(natural.rank());
  const int64_t axis = c.attributes().integer("axis");
  if (axis < -rank || axis >= rank) return std::nullopt;
  const char letter = natural[static_cast<size_t>(axis < 0 ? axis + rank : axis)].letter;
  if (natural.is_split(Layout::Dimension{letter}.primal())) return std::nullopt;
  return letter;
}

void set_axis(LayoutChoice& c, const Layout& layout, char letter) {
  const auto rank = static_cast<int64_t>(layout.rank());
  const int64_t axis = c.attributes().integer("axis"), place = layout.index_of(letter);
  if (axis != place && axis + rank != place) {
    c.set_attribute("axis", fmt::format("{}", place));
  }
}

void one_layout(LayoutChoice& c) {
  Layout natural;
  std::vector<Layout> given;
  for (size_t k = 0; k < c.num_inputs(); ++k) {
    if (!natural.known()) natural = c.natural(k);
    given.push_back(c.given(k));
  }
  for (size_t k = 0; k < c.num_outputs() && !natural.known(); ++k) natural = c.natural_output(k);
  if (!natural.known()) return;
  for (size_t k = 0; k < c.num_outputs(); ++k) c.give(k, natural);
  for (size_t k = 0; k < c.num_inputs(); ++k) {
    if (!c.natural(k).known()) c.want(k, natural);
  }
  // An input of unknown layout was written to go with the others as they were. So were layouts of
  // other dimensions, whose names come from somewhere else.
  if (given.empty() ||
      !std::ranges::all_of(given, [&](const Layout& l) { return l.convertible(natural); })) {
    return;
  }
  const Layout common = most_common(given);
  for (size_t k = 0; k < c.num_inputs(); ++k) c.want(k, common);
  for (size_t k = 0; k < c.num_outputs(); ++k) c.give(k, common, natural);
}

void broadcast_layout(LayoutChoice& c) {
  const auto lhs = rank_of(c, 0), rhs = rank_of(c, 1);
  if (!lhs || !rhs) return;
  const size_t larger = *lhs >= *rhs ? 0 : 1, smaller = 1 - larger;
  const Layout &l = c.natural(0), &r = c.natural(1);
  if (l != r && l.rank() == r.rank() && l.convertible(r)) {  // dimensions meet by their names
    c.want(1, l);
    c.give(0, l);
    return;
  }
  Layout whole = c.natural(larger);
  if (!whole.known() && *lhs == *rhs) whole = c.natural(smaller);
  if (!whole.known()) whole = c.natural_output(0);
  if (!whole.known()) return;
  for (size_t k = 0; k < 2; ++k) {
    if (!c.natural(k).known()) c.want(k, last_of(whole, *rank_of(c, k)));
  }
  c.give(0, whole);
  std::vector<Layout> candidates;
  for (size_t k = 0; k < 2; ++k) {
    if (rank_of(c, k) == whole.rank() && c.given(k).known()) candidates.push_back(c.given(k));
  }
  if (candidates.empty()) return;
  const Layout common = most_common(candidates);
  if (common == whole) return;
  const auto left = aligned(c, 0, common), right = aligned(c, 1, common);
  if (!left || !right) return;
  c.want(0, *left);
  c.want(1, *right);
  c.give(0, common, whole);
}

void axis_layout(LayoutChoice& c) {
  if (!c.natural(0).known()) {
    c.want(0, c.natural_output(0));
    return;
  }
  c.give(0, c.natural(0));
  const auto letter = letter_of_axis(c, c.natural(0));
  if (!letter || c.given(0).is_split(*letter)) return;
  c.want(0, c.given(0));
  c.give(0, c.given(0), c.natural(0));
  set_axis(c, c.given(0), *letter);
}

void channel_layout(LayoutChoice& c) {
  if (!c.natural(0).known()) {
    c.want(0, c.natural_output(0));
    return;
  }
  c.give(0, c.natural(0));
  const auto letter = letter_of_axis(c, c.natural(0));
  if (!letter) return;
  Layout data = c.given(0), vector = Layout::of({{*letter}});
  for (size_t k = 1; k < c.num_inputs(); ++k) {
    if (c.natural(k).known() && c.natural(k) != vector) return;
    c.want(k, vector);
  }
  for (size_t k = 1; k < c.num_outputs(); ++k) c.give(k, vector);
  if (data.is_split(*letter)) {
    // Before vectors are asked for in blocks it must be known how they were.
    for (size_t k = 1; k < c.num_inputs(); ++k) {
      if (!c.given(k).known()) return;
    }
    const Layout::Dimension block{Layout::subordinate(*letter), data.block(*letter)};
    std::vector<Layout::Dimension> dimensions = data.dimensions();
    std::erase(dimensions, block);
    dimensions.push_back(block);
    data = Layout::of(std::move(dimensions));
    vector = vector.split(*letter, 1, block.factor);
  }
  c.want(0, data);
  c.give(0, data, c.natural(0));
  for (size_t k = 1; k < c.num_inputs(); ++k) c.want(k, vector);
  for (size_t k = 1; k < c.num_outputs(); ++k) c.give(k, vector, Layout::of({{*letter}}));
  set_axis(c, data, *letter);
}

void image_layout(LayoutChoice& c) {
  const Layout own = c.attribute("layout");
  Layout layout = c.given(0);
  const bool split = layout.is_split('D') || layout.is_split('H') || layout.is_split('W');
  if (!layout.convertible(own) || split) layout = own;
  c.want(0, layout);
  c.give(0, layout, own);
  if (layout != own) c.set_attribute("layout", layout.text());
}

}  // namespace tw::graph
