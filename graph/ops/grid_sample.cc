// SPDX-License-Identifier: Apache-2.0
// Images read at positions that a tensor gives, and such positions. What grid_sample computes is an
// expression too, of which its gradients follow: pixels taken, times weights that depend on
// positions.
#include "graph/ops/arithmetic.h"
#include "graph/ops/families.h"
#include "graph/ops/image.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

using enum AttributeType;

const AttributeSpec kAlignCorners{"align_corners", Bool, "True",
                                  "whether -1 and 1 are centers of pixels, and not their edges"};

topi::image::GridSample sampling_of(const AttributeValues& a) {
  return {a.text("method"), a.text("padding_mode"), a.flag("align_corners")};
}

// Shapes (n, a, s…) and (n, b, t…) agree in n; the first's n is what the second's is.
Shape with_batch(size_t rank, int64_t batch) {
  Shape shape = Shape::of_rank(rank);
  (*shape.extents)[0] = batch;
  return shape;
}

void infer_grid_sample(ShapeInference& s) {
  require_word(s, "method", {"bilinear", "nearest", "bicubic"});
  require_word(s, "padding_mode", {"zeros", "border", "reflection"});
  require_word(s, "layout", {"NCHW", "NCDHW"});
  const size_t rank = s.attributes().text("layout").size();
  if (rank == 5 && s.attributes().text("method") == "bicubic") {
    s.fail("method 'bicubic' of three dimensions", "bilinear, nearest");
  }
  s.narrow_input(0, Shape::of_rank(rank));
  Shape grid = with_batch(rank, s.input(0)[0]);
  (*grid.extents)[1] = static_cast<int64_t>(rank) - 2;
  s.narrow_input(1, grid);
  Shape out = s.input(1);
  (*out.extents)[1] = s.input(0)[1];
  s.narrow_output(0, out);
  Shape positions = s.output(0);
  (*positions.extents)[1] = kUnknown;
  s.narrow_input(1, positions);
  Shape images = with_batch(rank, s.output(0)[0]);
  (*images.extents)[1] = s.output(0)[1];
  s.narrow_input(0, images);
  for (size_t d = 2; d < rank; ++d) {
    if (s.input(0)[d] == 0) {
      s.fail(fmt::format("images of shape {}", to_string(s.input(0))),
             "spatial extents of 1 or more");
    }
  }
}

// The expression of one spatial dimension, of entries (n, 1, …).
class Line {
 public:
  Line(const Arithmetic& n, const AttributeValues& a, int64_t extent)
      : n_(n),
        method_(a.text("method")),
        padding_(a.text("padding_mode")),
        corners_(a.flag("align_corners")),
        extent_(static_cast<double>(extent)) {}

  // For each tap, along dimension 1: its weight, 0 where there is no pixel, and the pixel's place.
  struct Taps {
    Entry weights, places;
  };
  Taps taps(const Entry& normalized) const {
    const Entry x = position(normalized);
    if (method_ == "nearest") {
      const Entry pixel = n_("rint", {inside(x)});
      return {masked(n_.like(pixel, 1), pixel), place(pixel)};
    }
    const bool cubic = method_ == "bicubic";
    const Entry at = cubic ? x : inside(x), first = n_("floor", {at}), t = n_.sub(at, first);
    std::vector<Entry> weights, places;
    for (int64_t k = 0; k < (cubic ? 4 : 2); ++k) {
      const Entry tap = n_.add(first, static_cast<double>(cubic ? k - 1 : k));
      const Entry pixel = cubic ? n_("round", {inside(tap)}) : tap;
      weights.push_back(masked(cubic ? cubic_weight(t, k) : k == 0 ? n_.rsub(1, t) : t, pixel));
      places.push_back(place(pixel));
    }
    const auto joined = [&](const std::vector<Entry>& e) {
      return n_("concatenate", e, {{"axis", "1"}});
    };
    return {joined(weights), joined(places)};
  }

 private:
  Entry position(const Entry& normalized) const {
    const Entry from = n_.add(normalized, 1);
    if (corners_) return n_.mul(from, (extent_ - 1) / 2);
    return n_.mul(n_.add(n_.mul(from, extent_), -1), 0.5);
  }
  Entry clipped(const Entry& x, double low, double high) const {
    return n_("clip", {x}, {{"a_min", n_.text(low)}, {"a_max", n_.text(high)}});
  }
  Entry inside(const Entry& x) const {
    if (padding_ == "zeros") return x;
    return clipped(padding_ == "border" ? x : reflected(x), 0, extent_ - 1);
  }
  Entry reflected(const Entry& x) const {
    const double low = corners_ ? 0 : -0.5, span = corners_ ? extent_ - 1 : extent_;
    if (span == 0) return n_("zeros_like", {x});
    const Entry from = n_.add(x, -low);
    const Entry turns = n_("floor", {n_.mul(from, 1 / (2 * span))});
    const Entry wave = n_.sub(from, n_.mul(turns, 2 * span));
    return n_.add(n_.rsub(span, n_("abs", {n_.add(wave, -span)})), low);
  }
  Entry cubic_weight(const Entry& t, int64_t k) const {
    constexpr double a = -0.75;  // Keys' cubic convolution, 1981
    const Entry d = k == 0 ? n_.add(t, 1) : k == 1 ? t : n_.rsub(static_cast<double>(k) - 1, t);
    if (k == 1 || k == 2) {
      return n_.add(n_.mul(n_.mul(n_.add(n_.mul(d, a + 2), -(a + 3)), d), d), 1);
    }
    const Entry inner = n_.add(n_.mul(n_.add(n_.mul(d, a), -5 * a), d), 8 * a);
    return n_.add(n_.mul(inner, d), -4 * a);
  }
  Entry masked(const Entry& weight, const Entry& pixel) const {
    return n_.mul(weight, n_.mul(n_.above(pixel, -0.5), n_.below(pixel, extent_ - 0.5)));
  }
  Entry place(const Entry& pixel) const {
    return n_("cast", {clipped(pixel, 0, extent_ - 1)}, {{"dtype", "int32"}});
  }

  const Arithmetic& n_;
  std::string method_, padding_;
  bool corners_;
  double extent_;
};

// Pixels (n, c, taps…, …) of images whose pixels stand along one dimension, times the weights of
// their taps, summed up.
Entries expand_grid_sample(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const Extents& images = n.known(shapes, 0);
  const size_t spatial = images.size() - 2;
  // One dimension of taps for each spatial one, in front of those of positions.
  const auto spread = [&](Entry e, size_t d) {
    const auto more = [&](size_t axis, size_t count) {
      if (count == 0) return;
      e = n("expand_dims", {e},
            {{"axis", fmt::format("{}", axis)}, {"num_newaxis", fmt::format("{}", count)}});
    };
    more(2, spatial - 1 - d);
    more(1, d);
    return e;
  };
  Entry weights, places;
  for (size_t d = 0; d < spatial; ++d) {
    const auto channel = static_cast<int64_t>(spatial - 1 - d);
    const Line::Taps taps =
        Line(n, a, images[d + 2]).taps(n.slice(n.input(1), 1, channel, channel + 1));
    const Entry w = spread(taps.weights, d), p = spread(taps.places, d);
    weights = d == 0 ? w : n.mul(weights, w);
    places = d == 0 ? p : n.add(n.mul(places, static_cast<double>(images[d + 2])), p);
  }
  const Entry pixels = pixels_in_line(n, n.input(0), spatial);
  const Entry taken = n("take", {pixels, places}, {{"axis", "2"}, {"batch_dims", "1"}});
  std::vector<int64_t> axes;
  for (size_t d = 0; d < spatial; ++d) axes.push_back(static_cast<int64_t>(d) + 2);
  return {n("sum", {n.mul(taken, n("expand_dims", {weights}, {{"axis", "1"}}))},
            {{"axis", tuple_text(axes)}})};
}

std::vector<int64_t> target_of(const ShapeInference& s) {
  const std::vector<int64_t>& target = s.attributes().tuple("target_shape");
  const bool legal = (target.size() == 2 || target.size() == 3) &&
                     std::all_of(target.begin(), target.end(), [](int64_t e) { return e >= 0; });
  if (!legal) s.fail(fmt::format("target_shape {}", tuple_text(target)), "2 or 3 extents");
  return target;
}

void infer_affine_grid(ShapeInference& s) {
  const std::vector<int64_t> target = target_of(s);
  const auto spatial = static_cast<int64_t>(target.size());
  Extents out = {kUnknown, spatial};
  out.insert(out.end(), target.begin(), target.end());
  s.narrow_input(0,
                 Shape({s.output(0).has_rank() ? s.output(0)[0] : kUnknown, spatial, spatial + 1}));
  out[0] = s.input(0)[0];
  s.narrow_output(0, out);
  s.narrow_input(0, with_batch(3, s.output(0)[0]));
}

void infer_affine_grid_grad(ShapeInference& s) {
  if (!s.input(0).has_rank()) return;
  const size_t rank = s.input(0).rank();
  if (rank != 4 && rank != 5) s.fail(fmt::format("rank {}", rank), "(n, 2, h, w), (n, 3, d, h, w)");
  const auto spatial = static_cast<int64_t>(rank) - 2;
  s.narrow_output(0, Shape({s.input(0)[0], spatial, spatial + 1}));
  Shape grid = with_batch(rank, s.output(0)[0]);
  (*grid.extents)[1] = spatial;
  s.narrow_input(0, grid);
}

}  // namespace

std::vector<Op> grid_sample_ops() {
  return {
      {.name = "grid_sample",
       .doc = "Images at the positions of a grid, (n, c, …) with the spatial extents of grid.",
       .inputs = {{"data", "(n, c, h, w) or (n, c, d, h, w), floating"},
                  {"grid",
                   "(n, 2, …) or (n, 3, …): positions from -1 to 1, those of the last "
                   "dimension first"}},
       .attributes = {{"method", Text, "bilinear",
                       "bilinear, nearest, or, of two dimensions, bicubic"},
                      {"layout", Text, "NCHW", "of data: NCHW or NCDHW"},
                      {"padding_mode", Text, "zeros",
                       "what lies outside of images: zeros, border (the nearest pixel) or "
                       "reflection"},
                      kAlignCorners},
       .infer_shape = infer_grid_sample,
       .infer_type = same_type,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::image::grid_sample(in[0], in[1], sampling_of(a))};
           },
       .expand = expand_grid_sample},
      {.name = "affine_grid",
       .doc = "The positions of pixels, moved by matrices: a grid (n, 2, h, w) or (n, 3, d, h, w) "
              "for grid_sample.",
       .inputs = {{"data", "(n, 2, 3) or (n, 3, 4): matrices, floating"}},
       .attributes = {{"target_shape", Tuple, {}, "(h, w) or (d, h, w)"}, kAlignCorners},
       .infer_shape = infer_affine_grid,
       .infer_type = same_type,
       .pattern = Pattern::OutEWiseFusable,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{
                 topi::image::affine_grid(in[0], a.tuple("target_shape"), a.flag("align_corners"))};
           },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const Arithmetic n(node);
             return Entries{n("_affine_grid_grad", {g[0]},
                              {{"target_shape", tuple_text(n.attributes().tuple("target_shape"))},
                               {"align_corners", n.text(n.attributes().flag("align_corners"))}})};
           }},
      {.name = "_affine_grid_grad",
       .doc = "The gradient of affine_grid's data, (n, 2, 3) or (n, 3, 4).",
       .inputs = {{"grad", "the gradient of the grid"}},
       .attributes = {{"target_shape", Tuple, {}, "as affine_grid has it"}, kAlignCorners},
       .infer_shape = infer_affine_grid_grad,
       .infer_type = same_type,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::image::affine_grid_grad(in[0], a.flag("align_corners"))};
           },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return Entries{n("affine_grid", {g[0]}, Attributes(node->attributes))};
           }},
  };
}

}  // namespace tw::graph
