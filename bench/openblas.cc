// SPDX-License-Identifier: Apache-2.0
// OpenBLAS in a comparison: sgemm, and convolutions as a matrix of windows times the weights, which
// is how a BLAS computes them.
#include "bench/contestant.h"

#if TW_HAVE_OPENBLAS
#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/thread_pool.h"

namespace tw::bench {
namespace {

void multiply(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(m), static_cast<int>(n),
              static_cast<int>(k), 1.0F, a, static_cast<int>(k), b, static_cast<int>(n), 0.0F, c,
              static_cast<int>(n));
}

class Gemm final : public Contestant {
 public:
  Gemm(const Problem& problem, int threads)
      : threads_(threads),
        m_(problem.size.at("m")),
        n_(problem.size.at("n")),
        k_(problem.size.at("k")),
        a_(problem.inputs[0]),
        b_(problem.inputs[1]),
        output_(problem.output) {}
  std::string name() const override { return "openblas"; }
  void prepare() override { openblas_set_num_threads(threads_); }
  void run() override {
    multiply(m_, n_, k_, a_.data_as<float>(), b_.data_as<float>(), output_.data_as<float>());
  }

 private:
  int threads_;
  int64_t m_, n_, k_;
  NDArray a_, b_, output_;
};

// Convolution, bias and relu, NCHW. Windows are gathered, and bias and relu applied, by as many
// threads as the product may use, from a pool that sleeps at once so as not to disturb it.
class Convolution final : public Contestant {
 public:
  Convolution(const Problem& problem, int threads)
      : threads_(threads),
        size_(problem.size),
        fused_(problem.inputs.size() > 2),
        data_(problem.inputs[0]),
        weight_(problem.inputs[1]),
        output_(problem.output),
        height_(problem.output.shape()[2]),
        width_(problem.output.shape()[3]),
        pool_({.num_threads = threads, .spin_microseconds = 0}) {
    if (fused_) bias_ = problem.inputs[2];
    if (!is_matrix_product()) {
      const int64_t window = size_.at("k") * size_.at("k");
      columns_ = NDArray::zeros({size_.at("ci") * window, height_ * width_}, data_.dtype());
    }
  }
  std::string name() const override { return "openblas"; }
  void prepare() override { openblas_set_num_threads(threads_); }
  void run() override {
    const int64_t channels = size_.at("ci"), features = size_.at("co"), points = height_ * width_;
    const int64_t window = size_.at("k") * size_.at("k");
    for (int64_t image = 0; image < size_.at("n"); ++image) {
      const float* data = data_.data_as<float>() + image * channels * size_.at("h") * size_.at("w");
      float* out = output_.data_as<float>() + image * features * points;
      if (!is_matrix_product()) {
        each(channels, [&](int64_t channel) { gather(data, channel); });
        data = columns_.data_as<float>();
      }
      multiply(features, points, channels * window, weight_.data_as<float>(), data, out);
      if (fused_) each(features, [&](int64_t feature) { finish(out + feature * points, feature); });
    }
  }

 private:
  bool is_matrix_product() const {
    return size_.at("k") == 1 && size_.at("s") == 1 && size_.at("p") == 0;
  }

  template <class Body>
  void each(int64_t count, const Body& body) {
    if (threads_ == 1) {
      for (int64_t i = 0; i < count; ++i) body(i);
      return;
    }
    struct Job {
      const Body& body;
      int64_t count;
    } job{body, count};
    pool_.parallel_for(
        [](int32_t task, int32_t tasks, void* closure) -> int32_t {
          const Job& j = *static_cast<Job*>(closure);
          for (int64_t i = j.count * task / tasks; i < j.count * (task + 1) / tasks; ++i) j.body(i);
          return 0;
        },
        &job);
  }

  // One channel's rows of the matrix of windows: row (channel, ky, kx), column (y, x).
  void gather(const float* data, int64_t channel) {
    const int64_t k = size_.at("k"), stride = size_.at("s"), pad = size_.at("p");
    const int64_t h = size_.at("h"), w = size_.at("w");
    const float* plane = data + channel * h * w;
    float* row = columns_.data_as<float>() + channel * k * k * height_ * width_;
    for (int64_t ky = 0; ky < k; ++ky) {
      for (int64_t kx = 0; kx < k; ++kx) {
        for (int64_t y = 0; y < height_; ++y, row += width_) {
          const int64_t in_y = y * stride + ky - pad;
          if (in_y < 0 || in_y >= h) {
            std::fill_n(row, width_, 0.0F);
            continue;
          }
          // Columns whose window lies inside; the rest is padding.
          const int64_t first =
              std::min(std::max<int64_t>(0, (pad - kx + stride - 1) / stride), width_);
          const int64_t last = std::clamp<int64_t>((w - 1 + pad - kx) / stride + 1, first, width_);
          const float* in = plane + in_y * w + kx - pad;
          std::fill(row, row + first, 0.0F);
          if (stride == 1) {
            std::copy(in + first, in + last, row + first);
          } else {
            for (int64_t x = first; x < last; ++x) row[x] = in[x * stride];
          }
          std::fill(row + last, row + width_, 0.0F);
        }
      }
    }
  }

  void finish(float* row, int64_t feature) const {
    const float bias = bias_.data_as<float>()[feature];
    for (int64_t i = 0; i < height_ * width_; ++i) row[i] = std::max(row[i] + bias, 0.0F);
  }

  int threads_;
  std::map<std::string, int64_t> size_;
  bool fused_;
  NDArray data_, weight_, bias_, columns_, output_;
  int64_t height_, width_;
  ThreadPool pool_;
};

void enter(const Problem& problem, int threads, const Options&, Contestants& list) {
  if (!is_float32(problem)) return;
  if (problem.kind == "gemm") list.push_back(std::make_unique<Gemm>(problem, threads));
  const bool convolution = problem.kind == "conv2d" || problem.kind == "conv2d_bias_relu";
  const bool plain = size_or(problem, "g", 1) == 1 && size_or(problem, "d", 1) == 1 &&
                     size_or(problem, "b", 0) == 0;
  if (convolution && plain) {
    list.push_back(std::make_unique<Convolution>(problem, threads));
  }
}

}  // namespace

Library openblas() {
  return {.name = "openblas",
          .enter = enter,
          .version =
              [] {
                return fmt::format("{}, kernels for {}", openblas_get_config(),
                                   openblas_get_corename());
              },
          // Its threads spin for 2^26 cycles after a product before they sleep, and nothing
          // shortens that.
          .park = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }};
}

}  // namespace tw::bench

#endif
