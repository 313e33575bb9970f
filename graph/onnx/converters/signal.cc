// SPDX-License-Identifier: Apache-2.0
// Fourier transforms, as products with matrices of cosines and sines, and the bands of hearing.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/onnx/converter.h"

namespace tw::graph::onnx {
namespace {

// Of the matrices: beyond that another algorithm is worth its name.
constexpr int64_t kMostElements = int64_t{1} << 26;

// Numbers are real, or real and imaginary parts side by side.
struct Transform {
  int64_t given, length;  // elements that there are, and that are transformed: cut off or zeros
  int64_t parts;          // of an element of the input
  bool inverse, onesided;

  int64_t bins() const { return onesided && !inverse ? length / 2 + 1 : length; }
  // Of the output: the inverse of one side is real.
  int64_t out_parts() const { return onesided && inverse ? 1 : 2; }
  // How often an element of the input counts: one side stands for both.
  double times(int64_t k) const {
    if (!inverse) return 1;
    const auto n = static_cast<double>(length);
    if (!onesided) return 1 / n;
    if (k > length / 2) return 0;
    return (k == 0 || 2 * k == length ? 1 : 2) / n;
  }

  // (given * parts, bins * out_parts): with w = exp(-+2 pi i k t / length) the part (re, im) of
  // (re, im) times w.
  std::vector<double> matrix() const {
    std::vector<double> values(static_cast<size_t>(given * parts * bins() * out_parts()), 0);
    for (int64_t t = 0; t < std::min(given, length); ++t) {
      for (int64_t k = 0; k < bins(); ++k) {
        const double angle = (inverse ? 2 : -2) * std::numbers::pi *
                             static_cast<double>(t * k % length) / static_cast<double>(length);
        const double cosine = std::cos(angle) * times(t), sine = std::sin(angle) * times(t);
        const double entries[2][2] = {{cosine, sine}, {-sine, cosine}};
        for (int64_t p = 0; p < parts; ++p) {
          for (int64_t q = 0; q < out_parts(); ++q) {
            values[static_cast<size_t>(((t * parts + p) * bins() + k) * out_parts() + q)] =
                entries[p][q];
          }
        }
      }
    }
    return values;
  }
};

// Of (…, given, parts): (…, bins, parts of the output).
Value transformed(Call& c, const Value& data, const Transform& t) {
  const int64_t rows = t.given * t.parts, columns = t.bins() * t.out_parts();
  if (rows * columns > kMostElements) {
    c.unsupported("a transform of " + text(t.given) + " elements to " + text(t.bins()));
  }
  int64_t lines = 1;
  Extents shape(data.shape().begin(), data.shape().end() - 2);
  for (int64_t e : shape) lines *= e;
  shape.push_back(t.bins());
  shape.push_back(t.out_parts());
  const Value matrix = c.constant(array_of_reals(t.matrix(), {rows, columns}, data.dtype()));
  return c.reshaped(c("matmul", {c.reshaped(data, {lines, rows}), matrix}), shape);
}

void require_signal(Call& c, const Value& data) {
  const bool legal = data.rank() >= 2 && (data.shape().back() == 1 || data.shape().back() == 2);
  if (!legal) {
    c.bad("a signal of shape " + text(data.shape()), "real, or real and imaginary parts behind");
  }
}

int64_t length_of(Call& c, size_t k) {
  const Extents length = c.integers_of(k);
  if (length.size() != 1 || length[0] < 1 || length[0] > kMostElements) {
    c.bad("a length of " + text(length), "1 to 2^26");
  }
  return length[0];
}

Values dft(Call& c) {
  const Value& data = c.input(0);
  require_signal(c, data);
  int64_t axis = c.opset() < 20 ? c.integer("axis", 1) : -2;
  if (c.opset() >= 20 && c.has(2)) axis = static_cast<int64_t>(c.number_of(2));
  axis = c.axis(axis, data.rank());
  if (axis == data.rank() - 1) c.bad("a transform along parts of numbers", "another axis");
  Transform t{.given = data.extent(static_cast<size_t>(axis)),
              .length = 0,
              .parts = data.shape().back(),
              .inverse = c.flag("inverse", false),
              .onesided = c.flag("onesided", false)};
  t.length = t.inverse && t.onesided ? 2 * (t.given - 1) : t.given;
  if (c.has(1)) t.length = length_of(c, 1);
  if (t.length < 1) c.bad("a transform of " + text(t.length) + " elements", "1 or more");
  if (t.onesided && !t.inverse && t.parts == 2) c.bad("one side of complex numbers", "real ones");
  Extents axes;
  for (int64_t d = 0; d + 1 < data.rank(); ++d) {
    if (d != axis) axes.push_back(d);
  }
  axes.push_back(axis);
  axes.push_back(data.rank() - 1);
  Extents back(axes.size());
  for (size_t d = 0; d < axes.size(); ++d) {
    back[static_cast<size_t>(axes[d])] = static_cast<int64_t>(d);
  }
  return {c.transposed(transformed(c, c.transposed(data, axes), t), back)};
}

// Frames of the signal, (n, frames, length, parts), times a window, transformed.
Values stft(Call& c) {
  const Value& data = c.input(0);
  require_signal(c, data);
  if (data.rank() != 3) c.bad("a signal of shape " + text(data.shape()), "(n, length, 1 or 2)");
  const int64_t step = length_of(c, 1), whole = data.extent(1), parts = data.extent(2);
  int64_t length = whole;
  if (c.has(2)) length = c.input(2).elements();
  if (c.has(3)) length = length_of(c, 3);
  if (c.has(2) && c.input(2).elements() != length) {
    c.bad("a window of " + text(c.input(2).shape()), text(length) + " elements");
  }
  if (length < 1 || length > whole) {
    c.bad("frames of " + text(length) + " elements of " + text(whole), "1 to all of them");
  }
  const int64_t frames = (whole - length) / step + 1;
  Extents places;
  for (int64_t f = 0; f < frames; ++f) {
    for (int64_t k = 0; k < length; ++k) places.push_back(f * step + k);
  }
  Value framed = c("take", {data, c.constant(array_of(places, {frames, length}, int_type(32)))},
                   {{"axis", "1"}});
  if (c.has(2)) {
    framed =
        c("broadcast_mul", {framed, c.cast(c.reshaped(c.input(2), {length, 1}), data.dtype())});
  }
  const Transform t{.given = length,
                    .length = length,
                    .parts = parts,
                    .inverse = false,
                    .onesided = c.flag("onesided", true)};
  if (t.onesided && parts == 2) c.bad("one side of complex numbers", "real ones");
  return {transformed(c, framed, t)};
}

// For each band a triangle over the bins of a spectrum; bands are equally wide in mel.
Values mel_weight_matrix(Call& c) {
  const auto bands = static_cast<int64_t>(c.number_of(0));
  const double length = c.number_of(1), rate = c.number_of(2);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(c.number_of(3)), high = mel(c.number_of(4));
  const int64_t bins = static_cast<int64_t>(length) / 2 + 1;
  if (bands < 1 || length < 1 || !(rate > 0) || bands * bins > kMostElements) {
    c.bad(text(bands) + " bands of " + text(length) + " elements", "1 or more of both");
  }
  const auto edge = [&](int64_t k) {
    const double at = low + static_cast<double>(k) * (high - low) / static_cast<double>(bands + 2);
    const double bin = std::floor((length + 1) * 700 * (std::pow(10, at / 2595) - 1) / rate);
    if (!(bin >= 0) || bin >= static_cast<double>(bins)) {
      c.bad("a band at bin " + text(bin), "edges within the spectrum");
    }
    return static_cast<int64_t>(bin);
  };
  std::vector<double> values(static_cast<size_t>(bins * bands), 0);
  for (int64_t b = 0; b < bands; ++b) {
    const int64_t left = edge(b), center = edge(b + 1), right = edge(b + 2);
    const auto put = [&](int64_t bin, int64_t share, int64_t of) {
      values[static_cast<size_t>(bin * bands + b)] =
          of == 0 ? 1 : static_cast<double>(share) / static_cast<double>(of);
    };
    for (int64_t j = left; j <= center; ++j) put(j, j - left, center - left);
    for (int64_t j = center; j < right; ++j) put(j, right - j, right - center);
  }
  return {c.constant(array_of_reals(values, {bins, bands}, c.dtype("output_datatype", 1)))};
}

}  // namespace

std::vector<Converter> signal_converters() {
  return {{"DFT", 17, 1, 2, "axis:int inverse:int onesided:int", dft},
          {"DFT", 20, 1, 3, "inverse:int onesided:int", dft},
          {"STFT", 17, 2, 4, "onesided:int", stft},
          {"MelWeightMatrix", 17, 5, 5, "output_datatype:int", mel_weight_matrix}};
}

}  // namespace tw::graph::onnx
