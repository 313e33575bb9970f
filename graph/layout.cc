// SPDX-License-Identifier: Apache-2.0
#include "graph/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ir/expr.h"
#include "runtime/error.h"

namespace tw::graph {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

// What is wrong with the dimensions; empty: nothing.
std::string fault(const std::vector<Layout::Dimension>& dimensions) {
  const auto count = [&](char letter) {
    return std::ranges::count(dimensions, letter, &Layout::Dimension::letter);
  };
  for (const Layout::Dimension& d : dimensions) {
    if (count(d.letter) > 1) return fmt::format("'{}' stands twice", d.letter);
    if (count(d.primal()) == 0)
      return fmt::format("there is no '{}' to '{}'", d.primal(), d.letter);
  }
  return {};
}

}  // namespace

Layout Layout::parse(std::string_view text, std::string_view where) {
  const auto refuse = [&](std::string_view what) {
    raise({.code = ErrorCode::BadAttribute,
           .what = fmt::format("{}: '{}' is no layout{}{}", where, text, what.empty() ? "" : ": ",
                               what),
           .legal = "dimensions in upper case, blocks as a number and that letter in lower case, "
                    "such as NCHW16c"});
  };
  if (text == kUnknown) return {};
  Layout layout;
  if (text.empty()) refuse("");
  for (size_t k = 0; k < text.size(); ++k) {
    if (is_upper(text[k])) {
      layout.dimensions_.push_back({text[k]});
      continue;
    }
    int64_t factor = 0;
    const auto [end, error] = std::from_chars(text.data() + k, text.data() + text.size(), factor);
    k = static_cast<size_t>(end - text.data());
    if (error != std::errc() || factor < 1 || factor > INT32_MAX) {
      refuse("blocks of a number from 1 on are needed before a letter in lower case");
    }
    if (k >= text.size() || !is_lower(text[k])) refuse(fmt::format("'{}' is of no letter", factor));
    layout.dimensions_.push_back({text[k], factor});
  }
  if (const std::string what = fault(layout.dimensions_); !what.empty()) refuse(what);
  return layout;
}

Layout Layout::of(std::vector<Dimension> dimensions) {
  TW_CHECK(fault(dimensions).empty(), fault(dimensions));
  Layout layout;
  layout.dimensions_ = std::move(dimensions);
  return layout;
}

std::string Layout::text() const {
  if (!known()) return std::string(kUnknown);
  std::string text;
  for (const Dimension& d : dimensions_) {
    if (!d.is_primal()) text += fmt::format("{}", d.factor);
    text += d.letter;
  }
  return text;
}

int Layout::index_of(char letter) const {
  const auto at = std::ranges::find(dimensions_, letter, &Dimension::letter);
  return at == dimensions_.end() ? -1 : static_cast<int>(at - dimensions_.begin());
}

int64_t Layout::block(char primal) const {
  const int at = index_of(subordinate(primal));
  return at < 0 ? 1 : dimensions_[static_cast<size_t>(at)].factor;
}

bool Layout::has_blocks() const { return !std::ranges::all_of(dimensions_, &Dimension::is_primal); }

bool Layout::convertible(const Layout& other) const {
  const auto within = [](const Layout& a, const Layout& b) {
    return std::ranges::all_of(a.dimensions_,
                               [&](const Dimension& d) { return b.contains(d.primal()); });
  };
  return known() && other.known() && within(*this, other) && within(other, *this);
}

Layout Layout::primal() const {
  std::vector<Dimension> kept;
  std::ranges::copy_if(dimensions_, std::back_inserter(kept), &Dimension::is_primal);
  return of(std::move(kept));
}

Layout Layout::split(char primal, size_t place, int64_t factor) const {
  TW_CHECK(place <= rank() && factor >= 1 && contains(primal));
  std::vector<Dimension> dimensions = dimensions_;
  dimensions.insert(dimensions.begin() + static_cast<ptrdiff_t>(place),
                    {subordinate(primal), factor});
  return of(std::move(dimensions));
}

Layout Layout::with_block(char primal, int64_t factor) const {
  Layout other = *this;
  other.dimensions_[static_cast<size_t>(index_of(subordinate(primal)))].factor = factor;
  return other;
}

LayoutExtents extents_of(const Shape& shape, const Layout& layout) {
  TW_CHECK(!shape.has_rank() || shape.rank() == layout.rank(), layout.text());
  LayoutExtents extents;
  for (size_t k = 0; k < layout.rank(); ++k) {
    if (!layout[k].is_primal()) continue;
    const int64_t blocks = shape.has_rank() ? shape[k] : Shape::kUnknown;
    extents[layout[k].letter] =
        blocks == Shape::kUnknown ? blocks : blocks * layout.block(layout[k].letter);
  }
  return extents;
}

std::optional<Shape> shape_in(const Layout& layout, const LayoutExtents& extents) {
  std::vector<int64_t> shape;
  for (const Layout::Dimension& d : layout.dimensions()) {
    const auto known = extents.find(d.primal());
    const int64_t extent = known == extents.end() ? Shape::kUnknown : known->second;
    const int64_t block = layout.block(d.primal());
    if (extent != Shape::kUnknown && extent % block != 0) return std::nullopt;
    shape.push_back(!d.is_primal()              ? d.factor
                    : extent == Shape::kUnknown ? extent
                                                : extent / block);
  }
  return shape;
}

te::Tensor layout_transform(const te::Tensor& tensor, const Layout& from, const Layout& to) {
  if (!from.convertible(to)) {
    raise({.code = ErrorCode::BadAttribute,
           .what = fmt::format("layout {} does not convert to {}", from.text(), to.text()),
           .legal = "layouts of the same dimensions"});
  }
  if (tensor.shape().size() != from.rank()) {
    raise({.code = ErrorCode::BadShape,
           .what = fmt::format("a tensor of rank {} in layout {}", tensor.rank(), from.text()),
           .legal = fmt::format("rank {}", from.rank())});
  }
  const auto constant = [](int64_t v) { return make_const(int_type(32), v); };
  const std::vector<Expr> in = tensor.shape();
  std::vector<Expr> shape;
  for (const Layout::Dimension& d : to.dimensions()) {
    if (!d.is_primal()) {
      shape.push_back(constant(d.factor));
      continue;
    }
    const Expr& blocks = in[static_cast<size_t>(from.index_of(d.letter))];
    const int64_t before = from.block(d.letter), after = to.block(d.letter);
    const auto known = as_const_int(blocks);
    if (known && *known * before % after != 0) {
      raise({.code = ErrorCode::BadShape,
             .what =
                 fmt::format("{} elements of {} in blocks of {}", *known * before, d.letter, after),
             .legal = "blocks that divide the extent"});
    }
    shape.push_back(before == after ? blocks
                    : known         ? constant(*known * before / after)
                                    : floor_div(blocks * constant(before), constant(after)));
  }
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> position;
        for (const Layout::Dimension& d : from.dimensions()) {
          const char primal = d.primal(), sub = Layout::subordinate(primal);
          const int64_t before = from.block(primal), after = to.block(primal);
          if (to.contains(d.letter) && before == after) {
            position.push_back(i[static_cast<size_t>(to.index_of(d.letter))]);
            continue;
          }
          // The place along the whole dimension, and of that the block or the place in it.
          Expr place = i[static_cast<size_t>(to.index_of(primal))];
          if (to.is_split(primal)) {
            place = place * constant(after) + i[static_cast<size_t>(to.index_of(sub))];
          }
          if (from.is_split(primal)) {
            place = d.is_primal() ? floor_div(place, constant(before))
                                  : floor_mod(place, constant(before));
          }
          position.push_back(place);
        }
        return tensor(position);
      },
      "T_layout_trans", "injective");
}

}  // namespace tw::graph
