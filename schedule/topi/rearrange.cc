// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/rearrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ir/expr.h"
#include "runtime/error.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/gather.h"
#include "schedule/topi/operator.h"
#include "schedule/topi/statements.h"
#include "schedule/topi/transform.h"

namespace tw::topi {
namespace {

// Elements that follow each other in a tensor: where, and where in what is taken of it.
struct Run {
  int64_t begin, place, count;
};

std::vector<Run> runs_of(const std::vector<int64_t>& condition) {
  std::vector<Run> runs;
  int64_t place = 0;
  for (size_t k = 0; k < condition.size(); ++k) {
    if (condition[k] == 0) continue;
    const auto at = static_cast<int64_t>(k);
    if (runs.empty() || runs.back().begin + runs.back().count != at) runs.push_back({at, place, 0});
    ++runs.back().count;
    ++place;
  }
  return runs;
}

constexpr size_t kMostRuns = 1024;  // what code is made of
void require_few(const std::vector<Run>& runs) {
  if (runs.size() <= kMostRuns) return;
  bad_argument({"compress", "condition"}, fmt::format("{} runs of elements", runs.size()),
               fmt::format("at most {}; or take, with their positions", kMostRuns));
}

// What is read for place i, found by halves.
Expr found_in(const std::vector<Run>& runs, size_t first, size_t last, const Var& i,
              const std::function<Expr(size_t run, const Expr& place)>& read) {
  const auto constant = [&](int64_t v) { return make_const(i.dtype(), v); };
  if (last - first == 1) return read(first, i + constant(runs[first].begin - runs[first].place));
  const size_t middle = (first + last) / 2;
  return if_then_else(i < constant(runs[middle].place), found_in(runs, first, middle, i, read),
                      found_in(runs, middle, last, i, read));
}

// Which dimensions of images are channels, rows and columns.
struct ImageDimensions {
  size_t channels, rows, columns;
};
ImageDimensions image_dimensions(const Place& place, std::string_view layout) {
  if (layout == "NCHW") return {1, 2, 3};
  if (layout == "NHWC") return {3, 1, 2};
  bad_argument(place, fmt::format("layout '{}'", layout), "NCHW, NHWC");
}

// Where in b·b·channels the channel of a pixel of a block is.
Expr channel_in_block(std::string_view op, std::string_view mode, const Expr& channel,
                      const Expr& channels, const Expr& pixel, const Expr& pixels) {
  if (mode == "DCR") return pixel * channels + channel;
  if (mode == "CRD") return channel * pixels + pixel;
  bad_argument({op, "mode"}, fmt::format("'{}'", mode), "DCR, CRD");
}

void require_divisible(const Place& place, const Tensor& t, size_t dimension, int64_t by) {
  const auto extent = as_const_int(t.shape()[dimension]);
  if (extent && *extent % by != 0) {
    bad_shape(place, fmt::format("extent {} of {}", *extent, shape_text(t.shape())),
              fmt::format("a multiple of {}", by));
  }
}

void require_block(std::string_view op, const Tensor& data, int64_t block_size) {
  require_rank({op, "data"}, data, 4);
  if (block_size < 1) {
    bad_argument({op, "block_size"}, fmt::format("{}", block_size), "1 or more");
  }
}

}  // namespace

Tensor tile(const Tensor& a, const std::vector<int64_t>& reps, const std::string& name,
            const std::string& tag) {
  for (int64_t r : reps) {
    if (r < 0) bad_argument({"tile", "reps"}, fmt::format("{}", r), "0 or more each");
  }
  const std::vector<Expr> from = a.shape();
  const size_t rank = std::max(from.size(), reps.size());
  std::vector<Expr> shape;
  for (size_t d = 0; d < rank; ++d) {
    const Expr extent = d + from.size() < rank ? Expr(1) : from[d + from.size() - rank];
    const int64_t times = d + reps.size() < rank ? 1 : reps[d + reps.size() - rank];
    shape.push_back(extent * make_const(extent.dtype(), times));
  }
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at;
        for (size_t d = 0; d < from.size(); ++d) {
          const Var& p = i[d + rank - from.size()];
          const bool once = same_extent(shape[d + rank - from.size()], from[d]);
          at.push_back(is_one(from[d]) || is_zero(from[d]) ? make_zero(p.dtype())
                       : once                              ? Expr(p)
                                                           : floor_mod(p, from[d]));
        }
        return a(at);
      },
      name, tag);
}

Tensor repeat(const Tensor& a, int64_t repeats, int axis, const std::string& name,
              const std::string& tag) {
  if (repeats < 0) bad_argument({"repeat", "repeats"}, fmt::format("{}", repeats), "0 or more");
  const auto along = static_cast<size_t>(normalize_axis({"repeat", "axis"}, axis, a.rank()));
  std::vector<Expr> shape = a.shape();
  const Expr times = make_const(shape[along].dtype(), repeats);
  const bool one = is_one(shape[along]);
  shape[along] = shape[along] * times;
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i);
        if (one) {
          at[along] = make_zero(i[along].dtype());
        } else if (repeats > 1) {
          at[along] = floor_div(i[along], times);
        }
        return a(at);
      },
      name, tag);
}

Tensor stack(const std::vector<Tensor>& tensors, int axis, const std::string& name,
             const std::string& tag) {
  const Place place{"stack", "tensors"};
  if (tensors.empty()) bad_argument(place, "no tensors", "at least one");
  const Tensor& first = tensors[0];
  const int along = normalize_axis({"stack", "axis"}, axis, first.rank() + 1);
  for (const Tensor& t : tensors) {
    require_rank(place, t, first.rank());
    if (t.dtype() != first.dtype()) {
      raise({.code = ErrorCode::TypeMismatch,
             .what = fmt::format("stack: elements of types {} and {}", to_string(first.dtype()),
                                 to_string(t.dtype())),
             .legal = "tensors of one type; cast the others"});
    }
    for (int d = 0; d < first.rank(); ++d) {
      require_extent(place, t, d, first.shape()[static_cast<size_t>(d)]);
    }
  }
  std::vector<Expr> shape = first.shape();
  shape.insert(shape.begin() + along,
               make_const(int_type(32), static_cast<int64_t>(tensors.size())));
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i);
        at.erase(at.begin() + along);
        const Var& which = i[static_cast<size_t>(along)];
        Expr value = tensors.back()(at);
        for (size_t k = tensors.size() - 1; k-- > 0;) {
          const Expr here = which == make_const(which.dtype(), static_cast<int64_t>(k));
          value = if_then_else(here, tensors[k](at), value);
        }
        return value;
      },
      name, tag);
}

Tensor roll(const Tensor& a, const std::vector<int64_t>& shift, const std::vector<int>& axis,
            const std::string& name, const std::string& tag) {
  if (shift.size() != axis.size()) {
    bad_argument({"roll", "shift"},
                 fmt::format("{} shifts along {} axes", shift.size(), axis.size()),
                 "one for each axis");
  }
  // Shifts along one dimension add up.
  std::vector<Expr> places(static_cast<size_t>(a.rank()));
  const std::vector<int64_t> shape = constant_shape({"roll", "a"}, a);
  std::vector<int64_t> total(shape.size());
  for (size_t k = 0; k < axis.size(); ++k) {
    const auto d = static_cast<size_t>(normalize_axis({"roll", "axis"}, axis[k], a.rank()));
    if (shape[d] == 0) continue;
    total[d] = ((total[d] + shift[k]) % shape[d] + shape[d]) % shape[d];
  }
  return te::compute(
      a.shape(),
      [&](const std::vector<Var>& i) {
        // Of each combination of wrapped dimensions an element, the outermost test first.
        std::vector<Expr> at = to_exprs(i);
        const std::function<Expr(size_t)> from = [&](size_t d) -> Expr {
          if (d == at.size()) return a(at);
          if (total[d] == 0) return from(d + 1);
          const auto constant = [&](int64_t v) { return make_const(i[d].dtype(), v); };
          at[d] = i[d] + constant(shape[d] - total[d]);
          const Expr wrapped = from(d + 1);
          at[d] = i[d] - constant(total[d]);
          const Expr plain = from(d + 1);
          return if_then_else(i[d] < constant(total[d]), wrapped, plain);
        };
        return from(0);
      },
      name, tag);
}

Tensor reverse_sequence(const Tensor& a, const Tensor& seq_lengths, int seq_axis, int batch_axis,
                        const std::string& name, const std::string& tag) {
  const std::string_view op = "reverse_sequence";
  require_integers({op, "seq_lengths"}, seq_lengths);
  const auto along = static_cast<size_t>(normalize_axis({op, "seq_axis"}, seq_axis, a.rank()));
  const auto batch = static_cast<size_t>(normalize_axis({op, "batch_axis"}, batch_axis, a.rank()));
  if (along == batch) {
    bad_argument({op, "batch_axis"}, "the axis of sequences", "another dimension");
  }
  require_rank({op, "seq_lengths"}, seq_lengths, 1);
  require_extent({op, "seq_lengths"}, seq_lengths, 0, a.shape()[batch]);
  return te::compute(
      a.shape(),
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i);
        const Var& t = i[along];
        const Expr extent = a.shape()[along];
        // A length is a place among one more than there are elements.
        const Expr length =
            cast(t.dtype(), place_of(seq_lengths(i[batch]), extent + 1, IndexMode::Clip));
        at[along] = select(t < length, length - 1 - t, t);
        return a(at);
      },
      name, tag);
}

Tensor compress(const Tensor& a, const std::vector<int64_t>& condition, std::optional<int> axis,
                const std::string& name, const std::string& tag) {
  if (!axis) {
    return compress(a.rank() == 1 ? a : reshape(a, {product(a.shape())}), condition, 0, name, tag);
  }
  const auto along = static_cast<size_t>(normalize_axis({"compress", "axis"}, *axis, a.rank()));
  const std::vector<int64_t> whole = constant_shape({"compress", "a"}, a);
  const std::vector<Run> runs = runs_of(condition);
  if (static_cast<int64_t>(condition.size()) > whole[along]) {
    bad_argument({"compress", "condition"},
                 fmt::format("{} conditions for {} elements", condition.size(), whole[along]),
                 "at most one for each");
  }
  require_few(runs);
  std::vector<Expr> shape = a.shape();
  shape[along] = make_const(shape[along].dtype(), compressed_extent(condition));
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i);
        if (runs.empty()) return make_zero(a.dtype());
        return found_in(runs, 0, runs.size(), i[along], [&](size_t, const Expr& place) {
          at[along] = place;
          return a(at);
        });
      },
      name, tag);
}

int64_t compressed_extent(const std::vector<int64_t>& condition) {
  return std::ranges::count_if(condition, [](int64_t c) { return c != 0; });
}

Tensor compress_grad(const Tensor& grad, const std::vector<Expr>& shape,
                     const std::vector<int64_t>& condition, std::optional<int> axis,
                     const std::string& name, const std::string& tag) {
  if (!axis) {
    const Expr count = product(shape);
    return reshape(compress_grad(grad, {count}, condition, 0, name, tag), shape);
  }
  const auto along =
      static_cast<size_t>(normalize_axis({"compress_grad", "axis"}, *axis, grad.rank()));
  // Runs of what is taken, and of what is not, in turn: where each begins among all elements.
  std::vector<Run> taken = runs_of(condition), all;
  require_few(taken);
  std::vector<bool> is_taken;
  int64_t at = 0;
  const auto add = [&](const Run& run, bool held) {
    all.push_back(run);
    is_taken.push_back(held);
    at = run.place + run.count;
  };
  for (const Run& run : taken) {
    if (run.begin > at || all.empty()) add({0, at, run.begin - at}, false);
    add({run.place, run.begin, run.count}, true);
  }
  add({0, at, 0}, false);
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> indices = to_exprs(i);
        return found_in(all, 0, all.size(), i[along], [&](size_t run, const Expr& place) {
          indices[along] = place;
          return is_taken[run] ? grad(indices) : make_zero(grad.dtype());
        });
      },
      name, tag);
}

Tensor tile_grad(const Tensor& grad, const std::vector<Expr>& shape, const std::string& name) {
  const std::vector<Expr> whole = grad.shape();
  const size_t added = whole.size() - shape.size();
  std::vector<IterVar> copies;
  for (size_t d = 0; d < whole.size(); ++d) {
    const bool once = d >= added && same_extent(whole[d], shape[d - added]);
    if (once) continue;
    const Expr extent = d < added                   ? whole[d]
                        : is_zero(shape[d - added]) ? make_zero(whole[d].dtype())
                                                    : floor_div(whole[d], shape[d - added]);
    copies.push_back(te::reduce_axis({make_zero(extent.dtype()), extent}, fmt::format("k{}", d)));
  }
  const DType type = accumulation_type(grad.dtype());
  const Tensor sums = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at;
        size_t next = 0;
        for (size_t d = 0; d < whole.size(); ++d) {
          if (d >= added && same_extent(whole[d], shape[d - added])) {
            at.push_back(i[d - added]);
          } else {
            const Expr copy = copies[next++].var();
            at.push_back(d < added ? copy : copy * shape[d - added] + i[d - added]);
          }
        }
        return copies.empty() ? grad(at) : te::sum(tw::cast(type, grad(at)), copies);
      },
      name, copies.empty() ? kInjective : kReduction);
  return converted(sums, grad.dtype());
}

Tensor repeat_grad(const Tensor& grad, const std::vector<Expr>& shape, int64_t repeats, int axis,
                   const std::string& name) {
  const auto along =
      static_cast<size_t>(normalize_axis({"repeat_grad", "axis"}, axis, grad.rank()));
  const Expr times = make_const(shape[along].dtype(), repeats);
  const IterVar copy = te::reduce_axis({make_zero(times.dtype()), times}, "k");
  const DType type = accumulation_type(grad.dtype());
  const Tensor sums = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i);
        at[along] = i[along] * times + copy.var();
        return te::sum(tw::cast(type, grad(at)), {copy});
      },
      name, kReduction);
  return converted(sums, grad.dtype());
}

namespace nn {

Tensor depth_to_space(const Tensor& data, int64_t block_size, std::string_view layout,
                      std::string_view mode, const std::string& name, const std::string& tag) {
  const std::string_view op = "depth_to_space";
  require_block(op, data, block_size);
  const auto [c, h, w] = image_dimensions({op, "layout"}, layout);
  const std::vector<Expr> from = data.shape();
  require_divisible({op, "data"}, data, c, block_size * block_size);
  const Expr block = make_const(from[c].dtype(), block_size), pixels = block * block;
  std::vector<Expr> shape = from;
  shape[c] = floor_div(from[c], pixels);
  shape[h] = from[h] * block;
  shape[w] = from[w] * block;
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i);
        const Expr pixel = floor_mod(i[h], block) * block + floor_mod(i[w], block);
        at[c] = channel_in_block(op, mode, i[c], shape[c], pixel, pixels);
        at[h] = floor_div(i[h], block);
        at[w] = floor_div(i[w], block);
        return data(at);
      },
      name, tag);
}

Tensor space_to_depth(const Tensor& data, int64_t block_size, std::string_view layout,
                      std::string_view mode, const std::string& name, const std::string& tag) {
  const std::string_view op = "space_to_depth";
  require_block(op, data, block_size);
  const auto [c, h, w] = image_dimensions({op, "layout"}, layout);
  const std::vector<Expr> from = data.shape();
  require_divisible({op, "data"}, data, h, block_size);
  require_divisible({op, "data"}, data, w, block_size);
  channel_in_block(op, mode, 0, 1, 0, 1);  // refuses other modes
  const Expr block = make_const(from[c].dtype(), block_size), pixels = block * block;
  std::vector<Expr> shape = from;
  shape[c] = from[c] * pixels;
  shape[h] = floor_div(from[h], block);
  shape[w] = floor_div(from[w], block);
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i);
        const bool block_first = mode == "DCR";
        const Expr pixel = is_zero(from[c]) ? make_zero(i[c].dtype())
                           : block_first    ? floor_div(i[c], from[c])
                                            : floor_mod(i[c], pixels);
        at[c] = is_zero(from[c]) ? make_zero(i[c].dtype())
                : block_first    ? floor_mod(i[c], from[c])
                                 : floor_div(i[c], pixels);
        at[h] = i[h] * block + floor_div(pixel, block);
        at[w] = i[w] * block + floor_mod(pixel, block);
        return data(at);
      },
      name, tag);
}

}  // namespace nn

std::vector<Operator> rearrange_rows() {
  using Ints = std::vector<int64_t>;
  using Axes = std::vector<int>;
  const ParameterText layout{"layout", "NCHW or NHWC", "NCHW"};
  const ParameterText mode{"mode", "DCR: blocks before channels; CRD: behind", "DCR"};
  return {
      make_operator(
          "topi", "tile", [](const Tensor& a, const Ints& reps) { return tile(a, reps); },
          {{"a"}, {"reps", "how often along each dimension, aligned at the last"}},
          "a repeated as a whole. NumPy tile."),
      make_operator(
          "topi", "repeat",
          [](const Tensor& a, int64_t repeats, int64_t axis) {
            return repeat(a, repeats, static_cast<int>(axis));
          },
          {{"a"}, {"repeats", "how often"}, {"axis", "a dimension"}},
          "Each element along axis several times, one beside the other. NumPy repeat."),
      make_operator(
          "topi", "stack",
          [](const std::vector<Tensor>& tensors, int64_t axis) {
            return stack(tensors, static_cast<int>(axis));
          },
          {{"a", "of one shape and type"}, {"axis", "the new dimension", 0}},
          "Tensors along a new dimension. NumPy stack."),
      make_operator(
          "topi", "roll",
          [](const Tensor& a, const Ints& shift, const Axes& axis) { return roll(a, shift, axis); },
          {{"a", "of constant shape"},
           {"shift", "by how many places along each axis"},
           {"axis", "dimensions"}},
          "Elements moved along dimensions, from the end to the beginning. NumPy roll."),
      make_operator(
          "topi", "reverse_sequence",
          [](const Tensor& a, const Tensor& lengths, int64_t seq, int64_t batch) {
            return reverse_sequence(a, lengths, static_cast<int>(seq), static_cast<int>(batch));
          },
          {{"a"},
           {"seq_lengths", "[b], integers; the nearest legal ones where outside of the extent"},
           {"seq_axis", "along which elements change places", 1},
           {"batch_axis", "along which lengths differ", 0}},
          "The first seq_lengths[b] elements along seq_axis in reverse. ONNX ReverseSequence."),
      make_operator(
          "topi", "compress",
          [](const Tensor& a, const Ints& condition, std::optional<int64_t> axis) {
            return compress(a, condition,
                            axis ? std::optional(static_cast<int>(*axis)) : std::nullopt);
          },
          {{"a", "of constant shape"},
           {"condition", "what is not 0 holds; missing ones do not"},
           {"axis", "a dimension; None: all elements in row-major order", Value()}},
          "The elements where the condition holds. NumPy compress."),
      make_operator(
          "topi.nn", "depth_to_space",
          [](const Tensor& data, int64_t block, const std::string& layout,
             const std::string& mode) { return nn::depth_to_space(data, block, layout, mode); },
          {{"data", "images"}, {"block_size", "rows and columns of a block"}, layout, mode},
          "Channels as rows and columns of blocks. ONNX DepthToSpace."),
      make_operator(
          "topi.nn", "space_to_depth",
          [](const Tensor& data, int64_t block, const std::string& layout,
             const std::string& mode) { return nn::space_to_depth(data, block, layout, mode); },
          {{"data", "images"}, {"block_size", "rows and columns of a block"}, layout, mode},
          "Rows and columns of blocks as channels. ONNX SpaceToDepth."),
  };
}

}  // namespace tw::topi
