// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/nn/softmax.h"
#include "schedule/topi/operator.h"
#include "schedule/topi/slice.h"
#include "schedule/topi/statements.h"
#include "schedule/topi/transform.h"
#include "schedule/topi/vision.h"

namespace tw::topi::vision {
namespace {

int64_t constant(const Place& place, const Tensor& t, size_t dimension) {
  const auto extent = as_const_int(t.shape()[dimension]);
  if (!extent) bad_shape(place, shape_text(t.shape()), "constant extents of all but the first");
  return *extent;
}

// Which channels of an anchor become what.
struct Channels {
  int64_t num, each;
  std::function<Expr(const Expr& channel)> is_logistic;
  int64_t softmax_from;  // `each`: none
};

Tensor activated(std::string_view op, const Tensor& data, const Channels& c) {
  require_rank({op, "data"}, data, 4);
  require_float({op, "data"}, data);
  const std::vector<Expr> shape = data.shape();
  if (c.num < 1) bad_argument({op, "num"}, fmt::format("{}", c.num), "1 or more");
  require_extent({op, "data"}, data, 1, number(c.num * c.each));
  const std::vector<Expr> parts = {shape[0], number(c.num), number(c.each), shape[2], shape[3]};
  const Tensor x = reshape(data, parts);
  const auto finish = [&](const std::function<Expr(const std::vector<Var>&, const Expr&)>& rest) {
    const Tensor y = te::compute(
        parts,
        [&](const std::vector<Var>& i) {
          const Expr v = x(to_exprs(i));
          return if_then_else(c.is_logistic(i[2]), call("sigmoid", {v}), rest(i, v));
        },
        std::string(op), kInjective);
    return reshape(y, shape);
  };
  if (c.softmax_from >= c.each) return finish([](const auto&, const Expr& v) { return v; });
  const Tensor shares =
      nn::softmax(strided_slice(x, {0, 0, c.softmax_from}, {INT32_MAX, INT32_MAX, INT32_MAX}), 2);
  return finish([&](const std::vector<Var>& i, const Expr& v) {
    return if_then_else(i[2] >= number(c.softmax_from),
                        shares(i[0], i[1], i[2] - number(c.softmax_from), i[3], i[4]), v);
  });
}

// Data, regions of it, and the parts of a region.
struct Regions {
  DType type;
  Expr images, count;
  int64_t channels, height, width, rows, columns;
  double scale;

  Regions(std::string_view op, DType element, const std::vector<Expr>& data, const Tensor& rois,
          const std::vector<int64_t>& pooled_size, double spatial_scale)
      : type(accumulation_type(element)), images(data[0]), scale(spatial_scale) {
    require_rank({op, "rois"}, rois, 2);
    require_extent({op, "rois"}, rois, 1, number(5));
    const std::vector<int64_t> parts = normalize_steps({op, "pooled_size"}, pooled_size, 2, 1);
    rows = parts[0];
    columns = parts[1];
    count = rois.shape()[0];
    const auto c = as_const_int(data[1]), h = as_const_int(data[2]), w = as_const_int(data[3]);
    if (!c || !h || !w)
      bad_shape({op, "data"}, shape_text(data), "constant extents of all but the first");
    channels = *c;
    height = *h;
    width = *w;
  }
  static void require(std::string_view op, const Tensor& data) {
    require_rank({op, "data"}, data, 4);
    require_float({op, "data"}, data);
  }
  std::vector<Expr> pooled() const {
    return {count, number(channels), number(rows), number(columns)};
  }
  Expr real(double v) const { return make_const_float(type, v); }
  Expr image(const Memory& rois, const Expr& r) const {
    return cast(int_type(32), rois[r * number(5)]);
  }
  Expr has(const Expr& image) const { return number(0) <= image && image < images; }
  // A side of a region: 1 to 4.
  Expr side(const Memory& rois, const Expr& r, int64_t k) const {
    return cast(type, rois[r * number(5) + number(k)]) * real(scale);
  }
};

Expr to_int(const Expr& e) { return cast(int_type(32), e); }

// From which pixel to which part `p` of `parts` reaches, of a region between two positions.
struct Span {
  Expr begin, end;
};
Span span_of(const Regions& g, const Expr& first, const Expr& last, const Expr& p, int64_t parts,
             int64_t extent) {
  constexpr double kRounding = 1e-5;  // what divisions are off
  const Expr begin = to_int(call("round", {first})), end = to_int(call("round", {last}));
  const Expr size = cast(g.type, max(end - begin + number(1), number(1)));
  const Expr part = div(size, g.real(static_cast<double>(parts)));
  const auto cut = [&](const Expr& e) { return min(max(e, number(0)), number(extent)); };
  const Expr low = call("floor", {cast(g.type, p) * part + g.real(kRounding)});
  const Expr high = call("ceil", {cast(g.type, p + number(1)) * part - g.real(kRounding)});
  return {cut(to_int(low) + begin), cut(to_int(high) + begin)};
}

// The four pixels around a point, and their weights.
struct Corners {
  std::vector<Expr> places, weights;
};
// Of one direction: the pixels before and behind a position, and the weight of the one behind.
struct Between {
  Expr before, behind, weight, inside;
};
Between between(const Regions& g, const Expr& position, int64_t extent) {
  const Expr last = number(extent - 1);
  const Expr from = max(position, g.real(0));
  const Expr before = min(to_int(call("floor", {from})), last);
  const Expr weight = select(before >= last, g.real(0), from - cast(g.type, before));
  return {before, min(before + number(1), last), weight,
          position >= g.real(-1) && position <= g.real(static_cast<double>(extent))};
}

// What each point of each part of region r does: f(part's row, column, weight of each point,
// corners).
// Weights of a point add up to its share of the part; with `outside`, which is done for points
// outside of the image, to 1.
using PointOf = std::function<Stmt(const Expr& row, const Expr& column, const Corners& corners)>;
using PartOf = std::function<Stmt(const Expr& row, const Expr& column)>;
Stmt for_points(const Regions& g, const Alignment& a, const Memory& rois, const Expr& r,
                const PointOf& f, const PartOf& outside = {}) {
  const double shift = a.aligned ? 0.5 : 0;
  const auto axis = [&](int64_t k, int64_t parts, const auto& body) {
    const auto edge = [&](int64_t side) { return g.side(rois, r, side) - g.real(shift); };
    return let("start", edge(k), [&](const Expr& start) {
      const Expr extent = edge(k + 2) - start;
      const Expr whole = a.aligned ? extent : max(extent, g.real(1));
      return let("part", div(whole, g.real(static_cast<double>(parts))), [&](const Expr& part) {
        const Expr points = a.sample_ratio > 0 ? number(a.sample_ratio)
                                               : max(to_int(call("ceil", {part})), number(0));
        return let("points", points, [&](const Expr& p) { return body(start, part, p); });
      });
    });
  };
  return axis(2, g.rows, [&](const Expr& top, const Expr& height, const Expr& down) {
    return axis(1, g.columns, [&](const Expr& left, const Expr& width, const Expr& across) {
      const auto position = [&](const Expr& start, const Expr& part, const Expr& p, const Expr& k,
                                const Expr& points) {
        return start + cast(g.type, p) * part +
               div((cast(g.type, k) + g.real(0.5)) * part, cast(g.type, points));
      };
      const Expr share =
          outside ? g.real(1) : div(g.real(1), cast(g.type, max(down * across, number(1))));
      return loop("ph", number(g.rows), [&](const Expr& ph) {
        return loop("pw", number(g.columns), [&](const Expr& pw) {
          return loop("y", down, [&](const Expr& y) {
            return loop("x", across, [&](const Expr& x) {
              const Between v = between(g, position(top, height, ph, y, down), g.height);
              const Between h = between(g, position(left, width, pw, x, across), g.width);
              const Expr up = g.real(1) - v.weight, before = g.real(1) - h.weight;
              const Corners corners = {
                  {v.before * number(g.width) + h.before, v.before * number(g.width) + h.behind,
                   v.behind * number(g.width) + h.before, v.behind * number(g.width) + h.behind},
                  {up * before * share, up * h.weight * share, v.weight * before * share,
                   v.weight * h.weight * share}};
              return when(v.inside && h.inside, f(ph, pw, corners),
                          outside ? outside(ph, pw) : Stmt());
            });
          });
        });
      });
    });
  });
}

// The corners as values that are computed once, for a loop over channels.
Stmt with_corners(const Corners& c, const std::function<Stmt(const Corners&)>& body, size_t k = 0,
                  Corners known = {}) {
  if (k == c.places.size()) return body(known);
  return let("place", c.places[k], [&](const Expr& place) {
    return let("weight", c.weights[k], [&](const Expr& weight) {
      Corners more = known;
      more.places.push_back(place);
      more.weights.push_back(weight);
      return with_corners(c, body, k + 1, std::move(more));
    });
  });
}

}  // namespace

Tensor reorg(const Tensor& data, int64_t stride, bool inverse) {
  const Place place{"reorg", "data"};
  require_rank(place, data, 4);
  if (stride < 1) bad_argument({"reorg", "stride"}, fmt::format("{}", stride), "1 or more");
  const Expr n = data.shape()[0];
  int64_t c = constant(place, data, 1), h = constant(place, data, 2), w = constant(place, data, 3);
  const int64_t area = stride * stride;
  if (inverse) {
    c /= area;
    h *= stride;
    w *= stride;
  }
  if (c % area != 0 || h % stride != 0 || w % stride != 0) {
    bad_shape(place, shape_text(data.shape()),
              fmt::format("channels that {} divides, rows and columns that {} does", area, stride));
  }
  const Expr s = number(stride), groups = number(c / area), rows = number(h), columns = number(w);
  // Darknet takes the channels for rows and columns of a larger image, of which it takes every
  // stride-th.
  if (inverse) {
    const Tensor parts = reshape(data, {n, s, s, groups, rows, columns});
    return reshape(transpose(parts, {0, 3, 4, 1, 5, 2}), {n, number(c), rows, columns});
  }
  const Tensor parts = reshape(data, {n, groups, rows, s, columns, s});
  return reshape(transpose(parts, {0, 3, 5, 1, 2, 4}),
                 {n, number(c * area), number(h / stride), number(w / stride)});
}

Tensor region(const Tensor& data, int64_t num, int64_t classes, int64_t coords, bool background,
              bool softmax) {
  if (classes < 0 || coords < 2)
    bad_argument({"region", "coords"}, fmt::format("{} classes, {} coordinates", classes, coords),
                 "0 or more classes, 2 or more coordinates");
  const int64_t each = coords + classes + 1;
  return activated("region", data,
                   {num, each,
                    [&](const Expr& k) {
                      const Expr place = k < number(2);
                      return background ? place : place || k == number(coords);
                    },
                    softmax ? coords + (background ? 0 : 1) : each});
}

Tensor yolo(const Tensor& data, int64_t num, int64_t classes) {
  if (classes < 0) bad_argument({"yolo", "classes"}, fmt::format("{}", classes), "0 or more");
  const int64_t each = 5 + classes;
  return activated(
      "yolo", data,
      {num, each, [](const Expr& k) { return k < number(2) || k >= number(4); }, each});
}

Tensor roi_pool_source(const Tensor& data, const Tensor& rois,
                       const std::vector<int64_t>& pooled_size, double spatial_scale) {
  Regions::require("roi_pool", data);
  const Regions g("roi_pool", data.dtype(), data.shape(), rois, pooled_size, spatial_scale);
  const auto part = [&](const Memory& in, const Memory& regions, const Expr& r, const Expr& c,
                        const Expr& p, const Memory& out) {
    const Expr row = floor_div(p, number(g.columns)), column = floor_mod(p, number(g.columns));
    const Expr place = (r * number(g.channels) + c) * number(g.rows * g.columns) + p;
    const Span y = span_of(g, g.side(regions, r, 2), g.side(regions, r, 4), row, g.rows, g.height);
    const Span x =
        span_of(g, g.side(regions, r, 1), g.side(regions, r, 3), column, g.columns, g.width);
    const Expr plane = (g.image(regions, r) * number(g.channels) + c) * number(g.height * g.width);
    const auto look = [&](const Memory& best, const Expr& from) {
      const Expr is_more =
          best[number(0)] < number(0) || in[from] > in[max(best[number(0)], number(0))];
      return when(is_more, best.store(number(0), from));
    };
    return allocate(
        "best", int_type(32), number(1),
        [&](const Memory& best) {
          const Stmt found = loop("y", max(y.end - y.begin, number(0)), [&](const Expr& dy) {
            return loop("x", max(x.end - x.begin, number(0)), [&](const Expr& dx) {
              return let("from", plane + (y.begin + dy) * number(g.width) + x.begin + dx,
                         [&](const Expr& from) { return look(best, from); });
            });
          });
          return block({best.store(number(0), number(-1)), when(g.has(g.image(regions, r)), found),
                        out.store(place, best[number(0)])});
        },
        "local");
  };
  return computed_by("roi_pool_source", {data, rois}, {{g.pooled(), int_type(32)}},
                     [&](const Memories& ins, const Memories& outs) {
                       const int64_t parts = g.rows * g.columns;
                       return for_rows(
                           g.count * number(g.channels), 16 * parts,
                           [&](const Expr& first, const Expr& count) {
                             return loop("k", count, [&](const Expr& k) {
                               return let("row", first + k, [&](const Expr& row) {
                                 return loop("p", number(parts), [&](const Expr& p) {
                                   return part(ins[0], ins[1], floor_div(row, number(g.channels)),
                                               floor_mod(row, number(g.channels)), p, outs[0]);
                                 });
                               });
                             });
                           });
                     })[0];
}

Tensor roi_pool_nchw(const Tensor& data, const Tensor& rois,
                     const std::vector<int64_t>& pooled_size, double spatial_scale) {
  const Tensor source = roi_pool_source(data, rois, pooled_size, spatial_scale);
  const Tensor flat = reshape(data, {product(data.shape())});
  return te::compute(
      source.shape(),
      [&](const std::vector<Var>& i) {
        const Expr from = source(to_exprs(i));
        return if_then_else(from >= number(0), flat(from), make_zero(data.dtype()));
      },
      "roi_pool", kInjective);
}

Tensor roi_align_nchw(const Tensor& data, const Tensor& rois, const Alignment& a) {
  Regions::require("roi_align", data);
  const Regions g("roi_align", data.dtype(), data.shape(), rois, a.pooled_size, a.spatial_scale);
  const int64_t parts = g.rows * g.columns, pixels = g.height * g.width;
  const auto region_of = [&](const Memory& in, const Memory& regions, const Memory& sums,
                             const Expr& r, const Memory& out) {
    const Expr first = r * number(g.channels * parts);
    const auto of_all = [&](const StatementOf& f) {
      return loop("k", number(g.channels * parts), f);
    };
    const Stmt zeros = of_all([&](const Expr& k) { return sums.store(k, g.real(0)); });
    const Stmt add =
        for_points(g, a, regions, r, [&](const Expr& ph, const Expr& pw, const Corners& corners) {
          return with_corners(corners, [&](const Corners& c) {
            return loop("c", number(g.channels), [&](const Expr& channel) {
              const Memory plane =
                  in.from((g.image(regions, r) * number(g.channels) + channel) * number(pixels));
              Expr value = g.real(0);
              for (size_t k = 0; k < c.places.size(); ++k)
                value = value + cast(g.type, plane[c.places[k]]) * c.weights[k];
              return sums.add(channel * number(parts) + ph * number(g.columns) + pw, value);
            });
          });
        });
    const Stmt put = of_all([&](const Expr& k) { return out.store(first + k, sums[k]); });
    return block({zeros, when(g.has(g.image(regions, r)), add), put});
  };
  return computed_by(
      "roi_align", {data, rois}, {{g.pooled(), data.dtype()}},
      [&](const Memories& ins, const Memories& outs) {
        return for_rows(
            g.count, 16 * parts * g.channels, [&](const Expr& first, const Expr& count) {
              return allocate("sums", g.type, number(std::max<int64_t>(g.channels * parts, 1)),
                              [&](const Memory& sums) {
                                return loop("r", count, [&](const Expr& r) {
                                  return let("region", first + r, [&](const Expr& region) {
                                    return region_of(ins[0], ins[1], sums, region, outs[0]);
                                  });
                                });
                              });
            });
      })[0];
}

std::vector<Tensor> roi_align_source(const Tensor& data, const Tensor& rois, const Alignment& a) {
  Regions::require("roi_align", data);
  const Regions g("roi_align", data.dtype(), data.shape(), rois, a.pooled_size, a.spatial_scale);
  const int64_t parts = g.rows * g.columns, pixels = g.height * g.width;
  constexpr int64_t kNone = -2, kOutside = -1;  // before the first point, and a point outside
  struct Outputs {
    Memory places, weights;
  };
  const auto channel_of = [&](const Memory& in, const Memory& regions, const Expr& r,
                              const Expr& channel, const Outputs& out, const Memory& best) {
    const Expr first = (r * number(g.channels) + channel) * number(parts);
    const auto of_all = [&](const StatementOf& f) { return loop("k", number(parts), f); };
    const auto part = [&](const Expr& ph, const Expr& pw) { return ph * number(g.columns) + pw; };
    const auto take = [&](const Expr& k, const Expr& value, const Expr& place, const Expr& weight) {
      const Expr is_first = out.places[first + k] == number(kNone);
      return let("value", value, [&](const Expr& v) {
        return when(is_first || v > best[k],
                    block({best.store(k, v), out.places.store(first + k, place),
                           out.weights.store(first + k, cast(data.dtype(), weight))}));
      });
    };
    const Stmt start = of_all([&](const Expr& k) {
      return block({best.store(k, g.real(0)), out.places.store(first + k, number(kNone)),
                    out.weights.store(first + k, make_zero(data.dtype()))});
    });
    const Stmt points = for_points(
        g, a, regions, r,
        [&](const Expr& ph, const Expr& pw, const Corners& corners) {
          return with_corners(corners, [&](const Corners& c) {
            const Expr plane =
                (g.image(regions, r) * number(g.channels) + channel) * number(pixels);
            std::vector<Stmt> takes;
            for (size_t k = 0; k < c.places.size(); ++k) {
              const Expr place = plane + c.places[k];
              takes.push_back(
                  take(part(ph, pw), cast(g.type, in[place]) * c.weights[k], place, c.weights[k]));
            }
            return block(takes);
          });
        },
        [&](const Expr& ph, const Expr& pw) {
          return take(part(ph, pw), g.real(0), number(kOutside), g.real(0));
        });
    const Stmt none = of_all([&](const Expr& k) {
      return when(out.places[first + k] == number(kNone),
                  out.places.store(first + k, number(kOutside)));
    });
    return block({start, when(g.has(g.image(regions, r)), points), none});
  };
  return computed_by(
      "roi_align_source", {data, rois}, {{g.pooled(), int_type(32)}, {g.pooled(), data.dtype()}},
      [&](const Memories& ins, const Memories& outs) {
        return for_rows(
            g.count * number(g.channels), 16 * parts, [&](const Expr& first, const Expr& count) {
              return allocate(
                  "best", g.type, number(std::max<int64_t>(parts, 1)), [&](const Memory& best) {
                    return loop("k", count, [&](const Expr& k) {
                      return let("row", first + k, [&](const Expr& row) {
                        return channel_of(ins[0], ins[1], floor_div(row, number(g.channels)),
                                          floor_mod(row, number(g.channels)), {outs[0], outs[1]},
                                          best);
                      });
                    });
                  });
            });
      });
}

Tensor roi_align_greatest_nchw(const Tensor& data, const Tensor& rois, const Alignment& a) {
  const std::vector<Tensor> source = roi_align_source(data, rois, a);
  const Tensor flat = reshape(data, {product(data.shape())});
  const DType type = accumulation_type(data.dtype());
  return te::compute(
      source[0].shape(),
      [&](const std::vector<Var>& i) {
        const Expr from = source[0](to_exprs(i)), weight = source[1](to_exprs(i));
        const Expr value = cast(data.dtype(), cast(type, flat(from)) * cast(type, weight));
        return if_then_else(from >= number(0), value, make_zero(data.dtype()));
      },
      "roi_align_greatest", kInjective);
}

Tensor roi_align_grad(const Tensor& grad, const Tensor& rois, const std::vector<Expr>& data_shape,
                      const Alignment& a) {
  Regions::require("roi_align", grad);
  const Regions g("roi_align", grad.dtype(), data_shape, rois, a.pooled_size, a.spatial_scale);
  const int64_t parts = g.rows * g.columns, pixels = g.height * g.width;
  const auto channel_of = [&](const Memory& of_parts, const Memory& regions, const Expr& channel,
                              const Memory& out) {
    const auto plane_of = [&](const Expr& image) {
      return out.from((image * number(g.channels) + channel) * number(pixels));
    };
    const Stmt zeros = loop("n", g.images, [&](const Expr& n) {
      return loop("k", number(pixels),
                  [&](const Expr& k) { return plane_of(n).store(k, make_zero(grad.dtype())); });
    });
    const Stmt add = loop("r", g.count, [&](const Expr& r) {
      const Stmt points =
          for_points(g, a, regions, r, [&](const Expr& ph, const Expr& pw, const Corners& corners) {
            const Expr from =
                (r * number(g.channels) + channel) * number(parts) + ph * number(g.columns) + pw;
            std::vector<Stmt> stores;
            for (size_t k = 0; k < corners.places.size(); ++k) {
              stores.push_back(
                  plane_of(g.image(regions, r))
                      .add(corners.places[k],
                           cast(grad.dtype(), cast(g.type, of_parts[from]) * corners.weights[k])));
            }
            return block(stores);
          });
      return when(g.has(g.image(regions, r)), points);
    });
    return block({zeros, add});
  };
  return computed_by("roi_align_grad", {grad, rois}, {{data_shape, grad.dtype()}},
                     [&](const Memories& ins, const Memories& outs) {
                       return for_rows(
                           number(g.channels), 16 * parts + pixels,
                           [&](const Expr& first, const Expr& count) {
                             return loop("c", count, [&](const Expr& c) {
                               return let("channel", first + c, [&](const Expr& channel) {
                                 return channel_of(ins[0], ins[1], channel, outs[0]);
                               });
                             });
                           });
                     })[0];
}

std::vector<Operator> regions_rows() {
  const ParameterText images{"data", "[n, c, h, w], floating"},
      rois{"rois", "[r, 5]: the number of an image, left, top, right, bottom"},
      pooled{"pooled_size", "parts of a region: one for both directions, or (rows, columns)"},
      scale{"spatial_scale", "of positions of regions to those of data"};
  return {
      make_operator(
          "topi.vision", "reorg",
          [](const Tensor& data, int64_t stride) { return reorg(data, stride); },
          {{"data", "[n, c, h, w]; stride² divides c, stride h and w"}, {"stride", "1 or more"}},
          "Pixels as channels, [n, c * stride², h / stride, w / stride], as Darknet's reorg."),
      make_operator(
          "topi.vision", "region",
          [](const Tensor& data, int64_t num, int64_t classes, int64_t coords, bool background,
             bool softmax) { return region(data, num, classes, coords, background, softmax); },
          {{"data", "[n, num * (coords + classes + 1), h, w], floating"},
           {"num", "anchors"},
           {"classes", "of each"},
           {"coords", "coordinates of each"},
           {"background", "whether the channel behind the coordinates is a class", false},
           {"softmax", "of the classes", true}},
          "Darknet's region layer: logistic of the first two coordinates and of the objectness, "
          "softmax of the classes."),
      make_operator(
          "topi.vision", "yolo",
          [](const Tensor& data, int64_t num, int64_t classes) { return yolo(data, num, classes); },
          {{"data", "[n, num * (5 + classes), h, w], floating"},
           {"num", "anchors"},
           {"classes", "of each"}},
          "Darknet's yolo layer: logistic of all channels but width and height."),
      make_operator(
          "topi.vision", "roi_pool_nchw",
          [](const Tensor& data, const Tensor& boxes, const std::vector<int64_t>& size,
             double factor) { return roi_pool_nchw(data, boxes, size, factor); },
          {images, rois, pooled, scale},
          "The greatest of each part of a region, [r, c, rows, columns]. ONNX "
          "MaxRoiPool."),
      make_operator(
          "topi.vision", "roi_align_nchw",
          [](const Tensor& data, const Tensor& boxes, const std::vector<int64_t>& size,
             double factor, const std::string& mode, int64_t sample_ratio) {
            require_word({"roi_align", "mode"}, mode, {"avg", "max"});
            const Alignment how = {size, factor, sample_ratio, false};
            return mode == "avg" ? roi_align_nchw(data, boxes, how)
                                 : roi_align_greatest_nchw(data, boxes, how);
          },
          {images,
           rois,
           pooled,
           scale,
           {"mode",
            "\"avg\", or \"max\": the greatest of what the four pixels around points give to them, "
            "as "
            "ONNX has it; TVM's is that of points",
            std::string("avg")},
           {"sample_ratio", "points of a part in each direction; below 1: as many as pixels",
            int64_t{-1}}},
          "The mean of points of each part of a region, bilinear between pixels, [r, c, "
          "rows, columns]. ONNX RoiAlign.")};
}

}  // namespace tw::topi::vision
