// SPDX-License-Identifier: Apache-2.0
// Layouts: which dimension of a tensor stands where, and which of them are stored in blocks. NNVM's
// Layout.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/shape.h"
#include "schedule/te/operation.h"

namespace tw::graph {

// Text such as "NCHW16c". An upper-case letter is a primal dimension; a number and a lower-case
// letter, a subordinate one, are blocks of so many elements of that primal dimension, whose own
// extent is then the number of blocks. Each letter stands once, and no block without its primal
// dimension; blocks stand anywhere ("H20wW"). Without dimensions a layout is unknown, "__undef__".
class Layout {
 public:
  struct Dimension {
    char letter;         // upper-case: primal
    int64_t factor = 1;  // elements of a block; of primal dimensions 1
    bool is_primal() const { return letter >= 'A' && letter <= 'Z'; }
    char primal() const { return is_primal() ? letter : static_cast<char>(letter - 'a' + 'A'); }
    bool operator==(const Dimension&) const = default;
  };
  static constexpr std::string_view kUnknown = "__undef__";

  Layout() = default;
  // BadAttribute for what is no layout; `where` goes into the message.
  static Layout parse(std::string_view text, std::string_view where = "layout");
  // Of dimensions that are one; what is inconsistent is an internal error.
  static Layout of(std::vector<Dimension> dimensions);

  bool known() const { return !dimensions_.empty(); }
  size_t rank() const { return dimensions_.size(); }
  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  const Dimension& operator[](size_t k) const { return dimensions_[k]; }
  std::string text() const;
  // The place of a letter; -1 where it is not.
  int index_of(char letter) const;
  bool contains(char letter) const { return index_of(letter) >= 0; }
  // Elements of the blocks of a primal dimension; 1 where it is not split.
  int64_t block(char primal) const;
  bool is_split(char primal) const { return index_of(subordinate(primal)) >= 0; }
  bool has_blocks() const;
  // Whether every element has a place in both: they have the same primal dimensions.
  bool convertible(const Layout& other) const;
  // The primal dimensions alone, in their order.
  Layout primal() const;
  // With the primal dimension in blocks that stand at `place` of the new layout.
  Layout split(char primal, size_t place, int64_t factor) const;
  // With other blocks of a dimension that is split.
  Layout with_block(char primal, int64_t factor) const;
  bool operator==(const Layout&) const = default;

  static char subordinate(char primal) { return static_cast<char>(primal - 'A' + 'a'); }

 private:
  std::vector<Dimension> dimensions_;
};

// Extents of primal dimensions, whatever the layout; those that are unknown are Shape::kUnknown.
using LayoutExtents = std::map<char, int64_t>;
// A shape in a layout by its primal dimensions. All are unknown where its rank is. The rank must be
// the layout's.
LayoutExtents extents_of(const Shape& shape, const Layout& layout);
// The shape of a tensor of these extents in a layout; a missing extent is unknown. Nothing where
// blocks do not divide an extent: padding would be elements that other operators take for data.
std::optional<Shape> shape_in(const Layout& layout, const LayoutExtents& extents);

// The tensor in another layout: an index map, computed where it is read. BadShape where blocks do
// not divide a constant extent, BadAttribute for layouts that do not convert into each other.
te::Tensor layout_transform(const te::Tensor& tensor, const Layout& from, const Layout& to);

}  // namespace tw::graph
