// SPDX-License-Identifier: Apache-2.0
// What the operators share: tags, names of shapes that fit, normalised axes and window arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/te/operation.h"

namespace tw::topi {

using te::Tensor;

// Tags say what kind of index function a compute is; schedules and fusion may read them.
inline constexpr char kElementwise[] = "elemwise";  // out(i) from in(i)
inline constexpr char kBroadcast[] = "broadcast";   // out(i) from in(some of i)
inline constexpr char kInjective[] = "injective";   // out(i) from in(f(i)), f one to one
inline constexpr char kReduction[] = "comm_reduce";
inline constexpr char kIndexReduction[] = "comm_reduce_idx";

// True when both are one constant or structurally equal.
bool same_extent(const Expr& a, const Expr& b);

// Where an operator and its argument are named in errors: "conv2d_nchw", "weight".
struct Place {
  std::string_view op;
  std::string_view argument;
};
[[noreturn]] void bad_shape(const Place& place, const std::string& what, std::string legal);
[[noreturn]] void bad_argument(const Place& place, const std::string& what, std::string legal);
// BadShape unless `t` has `rank` dimensions.
void require_rank(const Place& place, const Tensor& t, int rank);
// BadShape unless extent `dimension` of `t` is `extent`.
void require_extent(const Place& place, const Tensor& t, int dimension, const Expr& extent);
// TypeMismatch unless elements are floating.
void require_float(const Place& place, const Tensor& t);

// Axes counted from the end (-1) become plain; BadArgument outside [-rank, rank).
int normalize_axis(const Place& place, int axis, int rank);
// The same for a list, sorted; empty means all. BadArgument when one stands twice.
std::vector<int> normalize_axes(const Place& place, const std::vector<int>& axes, int rank);

// One value for both spatial dimensions, or two. BadArgument for other lengths or values below
// `least`.
struct Pair {
  int64_t h, w;
};
Pair normalize_pair(const Place& place, const std::vector<int64_t>& values, int64_t least);
// Padding as one value, (vertical, horizontal) or (top, left, bottom, right).
struct Padding {
  int64_t top, left, bottom, right;
  bool any() const { return top != 0 || left != 0 || bottom != 0 || right != 0; }
};
Padding normalize_padding(const Place& place, const std::vector<int64_t>& values);

// Positions of a window of `kernel` taps, `dilation` apart, over `extent` elements plus padding.
Expr window_positions(const Expr& extent, const Expr& kernel, int64_t stride, int64_t padding,
                      int64_t dilation);

std::vector<Expr> to_exprs(const std::vector<Var>& vars);
// "[1, n, 3]", for messages.
std::string shape_text(const std::vector<Expr>& shape);

}  // namespace tw::topi
