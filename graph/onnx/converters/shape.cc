// SPDX-License-Identifier: Apache-2.0
// Other shapes and orders of the same elements, and parts of tensors.
#include <algorithm>
#include <numeric>
#include <optional>

#include "graph/onnx/converter.h"

namespace tw::graph::onnx {
namespace {

// -1 where it does not fit.
int64_t product(Extents::const_iterator begin, Extents::const_iterator end) {
  int64_t result = 1;
  for (; begin != end; ++begin) {
    if (__builtin_mul_overflow(result, *begin, &result)) return -1;
  }
  return result;
}

Values reshape(Call& c) {
  const Value& data = c.input(0);
  Extents shape = c.integers_of(1);
  const bool zero_is_zero = c.opset() >= 14 && c.flag("allowzero", false);
  for (size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] != 0 || zero_is_zero) continue;
    if (k >= data.shape().size()) {
      c.bad("extent " + text(k) + " is copied from " + text(data.shape()), "one that there is");
    }
    shape[k] = data.shape()[k];
  }
  const auto open = std::ranges::find(shape, -1);
  if (open != shape.end()) {
    *open = 1;
    const int64_t known = product(shape.begin(), shape.end());
    if (known > 0) *open = data.elements() / known;
  }
  const bool whole = std::ranges::all_of(shape, [](int64_t e) { return e >= 0; });
  if (!whole || product(shape.begin(), shape.end()) != data.elements()) {
    c.bad("the elements of " + text(data.shape()) + " under " + text(c.integers_of(1)),
          "a shape of as many elements");
  }
  return {c.reshaped(data, shape)};
}

Values flatten(Call& c) {
  const Extents& shape = c.input(0).shape();
  const int64_t rank = c.input(0).rank(), given = c.integer("axis", 1);
  const int64_t axis = given == rank ? rank : c.axis(given, rank);
  const auto middle = shape.begin() + axis;
  return {c.reshaped(c.input(0), {product(shape.begin(), middle), product(middle, shape.end())})};
}

// Axes are an attribute, from opset 13 on an input.
std::optional<Extents> axes_of(Call& c) {
  if (c.opset() < 13) {
    if (!c.has_attribute("axes")) return std::nullopt;
    return c.integers("axes");
  }
  if (!c.has(1)) return std::nullopt;
  return c.integers_of(1);
}

Values squeeze(Call& c) {
  const Value& data = c.input(0);
  Extents shape, gone;
  if (const auto axes = axes_of(c)) {
    gone = c.axes(*axes, data.rank());
  } else {
    for (int64_t k = 0; k < data.rank(); ++k) {
      if (data.shape()[static_cast<size_t>(k)] == 1) gone.push_back(k);
    }
  }
  for (int64_t k = 0; k < data.rank(); ++k) {
    const int64_t extent = data.shape()[static_cast<size_t>(k)];
    if (std::ranges::find(gone, k) == gone.end()) {
      shape.push_back(extent);
    } else if (extent != 1) {
      c.bad("dimension " + text(k) + " of " + text(data.shape()), "an extent of 1");
    }
  }
  return {c.reshaped(data, shape)};
}

Values unsqueeze(Call& c) {
  const Value& data = c.input(0);
  const auto given = axes_of(c);
  if (!given) c.bad("no axes", "axes of new dimensions");
  const int64_t rank = data.rank() + static_cast<int64_t>(given->size());
  const Extents added = c.axes(*given, rank);
  Extents shape;
  for (int64_t k = 0, next = 0; k < rank; ++k) {
    const bool is_new = std::ranges::find(added, k) != added.end();
    shape.push_back(is_new ? 1 : data.shape()[static_cast<size_t>(next++)]);
  }
  return {c.reshaped(data, shape)};
}

Values transpose(Call& c) {
  const int64_t rank = c.input(0).rank();
  Extents axes(static_cast<size_t>(rank));
  for (int64_t k = 0; k < rank; ++k) axes[static_cast<size_t>(k)] = rank - 1 - k;
  if (c.has_attribute("perm")) axes = c.axes(c.integers("perm"), rank);
  if (static_cast<int64_t>(axes.size()) != rank) c.bad("perm of " + text(axes), "each axis once");
  return {c.transposed(c.input(0), axes)};
}

Values concat(Call& c) {
  const int64_t axis = c.axis(c.integer("axis"), c.input(0).rank());
  Values parts;
  for (size_t k = 0; k < c.num_inputs(); ++k) parts.push_back(c.input(k));
  if (parts.size() == 1) return parts;
  return {c("concatenate", parts, {{"axis", text(axis)}})};
}

// Parts of these sizes along an axis.
Values parts_of(Call& c, const Value& data, int64_t axis, const Extents& sizes) {
  Extents begins;
  int64_t end = 0;
  for (int64_t size : sizes) {
    if (size < 0 || __builtin_add_overflow(end, size, &end)) {
      c.bad("parts of " + text(sizes), "sizes of 0 or more");
    }
    begins.push_back(end);
  }
  if (end != data.extent(static_cast<size_t>(axis))) {
    c.bad("parts of " + text(sizes) + " along axis " + text(axis) + " of " + text(data.shape()),
          "parts that are together the whole");
  }
  begins.pop_back();
  if (begins.empty()) return {data};
  return c.all("split", {data}, {{"indices_or_sections", text(begins)}, {"axis", text(axis)}});
}

Values split(Call& c) {
  const Value& data = c.input(0);
  const int64_t axis = c.axis(c.integer("axis", 0), data.rank());
  Extents sizes;
  if (c.opset() < 13 && c.has_attribute("split")) {
    sizes = c.integers("split");
  } else if (c.has(1)) {
    sizes = c.integers_of(1);
  } else {
    auto count = static_cast<int64_t>(c.num_outputs());
    if (c.opset() >= 18) count = c.integer("num_outputs", count);
    if (count != static_cast<int64_t>(c.num_outputs()))
      c.bad(text(count) + " parts", "an output each");
    const int64_t whole = data.extent(static_cast<size_t>(axis));
    const int64_t part = (whole + count - 1) / count;
    if (c.opset() < 18 && part * count != whole) c.bad("parts of different sizes", "equal parts");
    for (int64_t k = 0; k < count; ++k) {
      sizes.push_back(std::clamp(whole - k * part, int64_t{0}, part));
    }
  }
  if (sizes.size() != c.num_outputs()) c.bad(text(sizes.size()) + " parts", "an output each");
  return parts_of(c, data, axis, sizes);
}

// begin:end:step along some axes, as NumPy has it.
Value sliced(Call& c, const Value& data, const Extents& starts, const Extents& ends,
             const Extents& axes, const Extents& steps) {
  const auto rank = static_cast<size_t>(data.rank());
  Extents begin(rank, 0), end = data.shape(), stride(rank, 1);
  bool is_whole = true;
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<size_t>(axes[k]);
    const int64_t extent = data.extent(axis), step = steps[k];
    if (step == 0) c.bad("a step of 0", "another");
    const auto from_begin = [&](int64_t place, int64_t least, int64_t most) {
      if (place < 0) place = place < -extent ? least : place + extent;
      return std::clamp(place, least, most);
    };
    const bool up = step > 0;
    begin[axis] = from_begin(starts[k], 0, up ? extent : std::max(extent - 1, int64_t{0}));
    end[axis] = from_begin(ends[k], up ? 0 : -1, up ? extent : std::max(extent - 1, int64_t{-1}));
    stride[axis] = std::clamp<int64_t>(step, -INT32_MAX, INT32_MAX);
    is_whole = is_whole && begin[axis] == 0 && end[axis] == extent && step == 1;
    // What ends before the first element; -1 would be the last one.
    if (end[axis] < 0) end[axis] = -extent - 1;
  }
  if (is_whole) return data;
  return c("strided_slice", {data},
           {{"begin", text(begin)}, {"end", text(end)}, {"stride", text(stride)}});
}

Values slice(Call& c) {
  const Value& data = c.input(0);
  const bool inputs = c.opset() >= 10;
  const Extents starts = inputs ? c.integers_of(1) : c.integers("starts");
  const Extents ends = inputs ? c.integers_of(2) : c.integers("ends");
  Extents axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (inputs ? c.has(3) : c.has_attribute("axes"))
    axes = inputs ? c.integers_of(3) : c.integers("axes");
  if (inputs && c.has(4)) steps = c.integers_of(4);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    c.bad("starts " + text(starts) + ", ends " + text(ends) + ", axes " + text(axes) + ", steps " +
              text(steps),
          "as many of each");
  }
  return {sliced(c, data, starts, ends, c.axes(axes, data.rank()), steps)};
}

// By NumPy's rule in both directions.
Values expand(Call& c) {
  const Value& data = c.input(0);
  const Extents wanted = c.integers_of(1);
  Extents shape = wanted;
  while (shape.size() < data.shape().size()) shape.insert(shape.begin(), 1);
  const size_t added = shape.size() - data.shape().size();
  for (size_t k = added; k < shape.size(); ++k) {
    const int64_t own = data.shape()[k - added];
    if (shape[k] == 1) shape[k] = own;
    if (own != 1 && own != shape[k]) {
      c.bad("shape " + text(data.shape()) + " expanded to " + text(wanted),
            "extents that are equal or 1");
    }
  }
  for (int64_t extent : shape) {
    if (extent < 0) c.bad("a shape of " + text(wanted), "extents of 0 or more");
  }
  return {c.broadcast(data, shape)};
}

// Each dimension, and before it one of how often it is repeated; then the two as one.
Values tile(Call& c) {
  const Value& data = c.input(0);
  const Extents repeats = c.integers_of(1);
  if (static_cast<int64_t>(repeats.size()) != data.rank()) {
    c.bad(text(repeats.size()) + " repeats of rank " + text(data.rank()), "one for each dimension");
  }
  Extents shape;
  for (size_t k = 0; k < repeats.size(); ++k) {
    int64_t extent = 0;
    if (repeats[k] < 0 || __builtin_mul_overflow(repeats[k], data.extent(k), &extent)) {
      c.bad("repeats " + text(repeats), "0 or more, and what fits into memory");
    }
    shape.push_back(extent);
  }
  if (shape == data.shape()) return {data};
  return {c("tile", {data}, {{"reps", text(repeats)}})};
}

Value in_blocks(Call& c, std::string_view op, int64_t block) {
  const std::string mode = c.knows("mode") ? c.string("mode", "DCR") : "DCR";
  if (mode != "DCR" && mode != "CRD") c.bad("mode '" + mode + "'", "DCR, CRD");
  return c(op, {c.input(0)}, {{"block_size", text(block)}, {"mode", mode}});
}

Values space_to_depth(Call& c) {
  const Value& data = c.input(0);
  const int64_t block = c.integer("blocksize");
  if (data.rank() != 4 || block < 1 || data.extent(2) % block != 0 || data.extent(3) % block != 0) {
    c.bad("blocks of " + text(block) + " in " + text(data.shape()),
          "images whose height and width are multiples");
  }
  return {in_blocks(c, "space_to_depth", block)};
}

Values depth_to_space(Call& c) {
  const Value& data = c.input(0);
  const int64_t block = c.integer("blocksize");
  int64_t area = 0;
  if (data.rank() != 4 || block < 1 || __builtin_mul_overflow(block, block, &area) ||
      data.extent(1) % area != 0) {
    c.bad("blocks of " + text(block) + " from " + text(data.shape()),
          "channels that are a multiple of the block");
  }
  return {in_blocks(c, "depth_to_space", block)};
}

// Elements at places that are known, one after the other.
Values gather(Call& c) {
  const Value &data = c.input(0), &indices = c.input(1);
  const int64_t axis = c.axis(c.integer("axis", 0), data.rank());
  const int64_t extent = data.extent(static_cast<size_t>(axis));
  const Extents places = indices.is_constant() ? c.integers_of(1) : Extents();
  for (int64_t place : places) {
    if (place < -extent || place >= extent) {
      c.bad("index " + text(place) + " along an extent of " + text(extent), "one that there is");
    }
  }
  // One place is a slice, which other operators are computed with.
  if (places.size() != 1)
    return {c("take", {data, indices}, {{"axis", text(axis)}, {"mode", "fast"}})};
  const int64_t from = places[0] < 0 ? places[0] + extent : places[0];
  Extents shape = data.shape();
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, indices.shape().begin(), indices.shape().end());
  return {c.reshaped(sliced(c, data, {from}, {from + 1}, {axis}, {1}), shape)};
}

}  // namespace

std::vector<Converter> shape_converters() {
  return {
      {"Reshape", 1, 2, 2, "", reshape},
      {"Reshape", 14, 2, 2, "allowzero:int", reshape},
      {"Flatten", 1, 1, 1, "axis:int", flatten},
      {"Squeeze", 1, 1, 1, "axes:ints", squeeze},
      {"Squeeze", 13, 1, 2, "", squeeze},
      {"Unsqueeze", 1, 1, 1, "axes:ints", unsqueeze},
      {"Unsqueeze", 13, 2, 2, "", unsqueeze},
      {"Transpose", 1, 1, 1, "perm:ints", transpose},
      {"Concat", 1, 1, kAny, "axis:int", concat},
      {"Split", 1, 1, 1, "axis:int split:ints", split},
      {"Split", 13, 1, 2, "axis:int", split},
      {"Split", 18, 1, 2, "axis:int num_outputs:int", split},
      {"Slice", 1, 1, 1, "axes:ints ends:ints starts:ints", slice},
      {"Slice", 10, 3, 5, "", slice},
      {"Expand", 8, 2, 2, "", expand},
      {"Tile", 1, 2, 2, "", tile},
      {"SpaceToDepth", 1, 1, 1, "blocksize:int", space_to_depth},
      {"SpaceToDepth", 28, 1, 1, "blocksize:int mode:string", space_to_depth},
      {"DepthToSpace", 1, 1, 1, "blocksize:int", depth_to_space},
      {"DepthToSpace", 11, 1, 1, "blocksize:int mode:string", depth_to_space},
      {"Gather", 1, 2, 2, "axis:int", gather},
  };
}

}  // namespace tw::graph::onnx
