// SPDX-License-Identifier: Apache-2.0
// What the operators share: tags, names of shapes that fit, normalised axes and window arguments.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "schedule/te/operation.h"

namespace tw::topi {

using te::Tensor;
// What arithmetic is between: a tensor, or one expression for all of its elements.
using Operand = std::variant<Tensor, Expr>;

struct Operator;  // a row of the table in operator.h

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
// BadShape unless `t` has `spatial` dimensions behind the first two: [N, C, H, W] where it is 2, or
// with blocks behind these such as [N, C / c, H, W, c].
void require_images(const Place& place, const Tensor& t, size_t spatial = 2);
// BadShape unless extent `dimension` of `t` is `extent`.
void require_extent(const Place& place, const Tensor& t, int dimension, const Expr& extent);
// BadShape unless `t` has an element for each channel of data: [C] for its dimension `axis`, or
// [C / c, c] where blocks of c channels are the last dimension of data.
void require_channels(const Place& place, const Tensor& t, const Tensor& data, size_t axis);
// The element of such a tensor for a position of data.
Expr read_channel(const Tensor& t, const std::vector<Var>& position, size_t axis);
// BadArgument unless the layout is that one, such as "NCHW".
void require_layout(const Place& place, std::string_view layout, std::string_view wanted);
// BadArgument unless the word is one of those.
void require_word(const Place& place, std::string_view word,
                  std::initializer_list<std::string_view> legal);
// TypeMismatch unless elements are floating.
void require_float(const Place& place, const Tensor& t);

// Axes counted from the end (-1) become plain; BadArgument outside [-rank, rank).
int normalize_axis(const Place& place, int axis, int rank);
// The same for a list, sorted; empty means all. BadArgument when one stands twice.
std::vector<int> normalize_axes(const Place& place, const std::vector<int>& axes, int rank);

// One value for each of `count` spatial dimensions, of one for all or of so many. BadArgument for
// other lengths or values below `least`.
std::vector<int64_t> normalize_steps(const Place& place, const std::vector<int64_t>& values,
                                     size_t count, int64_t least);
// Padding around images: one amount in elements, one for each spatial dimension, those before all
// dimensions and then those behind ((top, left, bottom, right) of two), or a name. Same gives as
// many windows of stride 1 as there are elements, with one element more in front where it is odd;
// Valid is none. TVM's get_pad_tuple.
class Padding {
 public:
  enum class Name : uint8_t { Amounts, Valid, Same };
  Padding() = default;  // none
  Padding(Name name) : name(name) {}
  Padding(std::vector<int64_t> amounts) : amounts(std::move(amounts)) {}
  Padding(std::initializer_list<int64_t> amounts) : amounts(amounts) {}

  Name name = Name::Amounts;
  std::vector<int64_t> amounts = {0};
};
// Amounts for each spatial dimension.
struct Border {
  std::vector<int64_t> before, after;
  bool any() const;
};
// `spans`: what a window spans of each spatial dimension. BadArgument for other numbers of amounts
// or amounts below 0; BadShape for Same where a span is not constant.
Border normalize_padding(const Place& place, const Padding& padding,
                         const std::vector<Expr>& spans);

// Elements from the first to the last of `kernel` taps, `dilation` apart.
Expr window_span(const Expr& kernel, int64_t dilation);
// Positions of a window that spans `span` elements over `extent` elements plus padding.
Expr window_positions(const Expr& extent, const Expr& span, int64_t stride, int64_t padding);

Expr number(int64_t value);  // int32
std::vector<Expr> to_exprs(const std::vector<Var>& vars);
// "[1, n, 3]", for messages.
std::string shape_text(const std::vector<Expr>& shape);

}  // namespace tw::topi
