// SPDX-License-Identifier: Apache-2.0
// PyTorch in a comparison, with the oneDNN it brings: the operators that its compiler calls for
// inference with oneDNN, weights packed beforehand, bias and relu fused, images with channels last.
// They return new tensors and look their primitive up at each call; what that costs is PyTorch's.
#include "bench/contestant.h"

#if TW_HAVE_PYTORCH
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

namespace tw::bench {
namespace {

using at::IntArrayRef;
using at::Tensor;
using Compute = std::function<Tensor()>;

// The array's memory as a tensor.
Tensor over(const NDArray& array) {
  const std::vector<int64_t> shape(array.shape().begin(), array.shape().end());
  return at::from_blob(array.data(), shape, at::kFloat);
}

// Operators that PyTorch's compiler calls and ATen has no functions for. What follows the sums in
// the same operator has a name, and may have numbers and a variant.
using Scalars = c10::List<std::optional<at::Scalar>>;
using PackLinear = Tensor(const Tensor&, std::optional<int64_t> rows);
using Linear = Tensor(const Tensor&, const Tensor& weights, const std::optional<Tensor>& bias,
                      std::string_view after, Scalars, std::optional<std::string_view>);
using PackConvolution = Tensor(const Tensor&, IntArrayRef padding, IntArrayRef stride,
                               IntArrayRef dilation, int64_t groups, at::OptionalIntArrayRef image);
using Convolution = Tensor(const Tensor&, const Tensor& weights, const std::optional<Tensor>& bias,
                           IntArrayRef padding, IntArrayRef stride, IntArrayRef dilation,
                           int64_t groups, std::string_view after, Scalars,
                           std::optional<std::string_view>);

template <class Signature>
c10::TypedOperatorHandle<Signature> find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

Compute product(const Problem& p, Tensor out) {
  const Tensor a = over(p.inputs[0]), b = over(p.inputs[1]);
  if (b.dim() > 2) return [=]() mutable { return at::bmm_out(out, a, b); };
  const Tensor columns = p.kind == "dense" ? b : b.t();  // as PyTorch's Linear has its weights
  if (!te::is_constant(p.workload.program.arguments[1])) {
    return [=]() mutable { return at::mm_out(out, a, columns.t()); };
  }
  const Tensor weights =
      find<PackLinear>("mkldnn::_reorder_linear_weight").call(columns.contiguous(), a.size(0));
  return [=, linear = find<Linear>("mkldnn::_linear_pointwise")] {
    return linear.call(a, weights, std::nullopt, "none", Scalars(), std::nullopt);
  };
}

Compute convolution(const Problem& p, Tensor) {
  const Tensor image = over(p.inputs[0]).contiguous(at::MemoryFormat::ChannelsLast);
  const int64_t groups = p.kind == "depthwise_conv2d" ? image.size(1) : size_or(p, "g", 1);
  const std::vector<int64_t> padding(2, size_or(p, "p", 0)), stride(2, size_or(p, "s", 1)),
      dilation(2, size_or(p, "d", 1));
  const bool fused = p.kind == "conv2d_bias_relu";
  const Tensor weights =
      find<PackConvolution>("mkldnn::_reorder_convolution_weight")
          .call(over(p.inputs[1]), padding, stride, dilation, groups, image.sizes());
  const auto bias = fused ? std::optional(over(p.inputs[2])) : std::nullopt;
  return [=, convolve = find<Convolution>("mkldnn::_convolution_pointwise")] {
    return convolve.call(image, weights, bias, padding, stride, dilation, groups,
                         fused ? "relu" : "none", Scalars(), std::nullopt);
  };
}

Compute softmax(const Problem& p, Tensor out) {
  return [x = over(p.inputs[0]), out]() mutable { return at::_softmax_out(out, x, 1, false); };
}

Compute layer_norm(const Problem& p, Tensor out) {
  const Tensor x = over(p.inputs[0]), scale = over(p.inputs[1]), shift = over(p.inputs[2]);
  return [=, mean = at::empty({x.size(0), 1}), deviation = at::empty({x.size(0), 1})]() mutable {
    at::native_layer_norm_out(out, mean, deviation, x, x.sizes().slice(1), scale, shift, 1e-5);
    return out;
  };
}

Compute transpose(const Problem& p, Tensor out) {
  return [x = over(p.inputs[0]).t(), out] { return out.copy_(x); };
}

Compute sum(const Problem& p, Tensor out) {
  return [x = over(p.inputs[0]), total = out.flatten(), along = p.kind == "row_sum" ? 1 : 0,
          out]() mutable {
    at::sum_out(total, x, along);
    return out;
  };
}

class Operator final : public Contestant {
 public:
  Operator(int threads, Tensor out, Compute compute)
      : threads_(threads), out_(std::move(out)), compute_(std::move(compute)) {}
  std::string name() const override { return "pytorch"; }
  void prepare() override { at::set_num_threads(threads_); }
  void run() override {
    const c10::InferenceMode inference;
    result_ = compute_();
  }
  void publish() override {
    const c10::InferenceMode inference;
    out_.copy_(result_);
  }

 private:
  int threads_;
  Tensor out_, result_;
  Compute compute_;
};

struct Row {
  const char* kind;
  Compute (*compute)(const Problem&, Tensor out);  // into `out`, or into a new tensor
};
// No elementwise chains: without its compiler PyTorch computes them in several passes.
constexpr Row kKinds[] = {{"gemm", product},
                          {"dense", product},
                          {"batch_gemm", product},
                          {"conv2d", convolution},
                          {"conv2d_bias_relu", convolution},
                          {"depthwise_conv2d", convolution},
                          {"softmax", softmax},
                          {"layer_norm", layer_norm},
                          {"transpose", transpose},
                          {"row_sum", sum},
                          {"column_sum", sum}};

void enter(const Problem& problem, int threads, const Options&, Contestants& list) {
  const auto* row = std::ranges::find(kKinds, problem.kind, &Row::kind);
  if (row == std::end(kKinds) || !is_float32(problem)) return;
  if (row->compute == convolution && size_or(problem, "b", 0) != 0) return;  // it takes planes
  const c10::InferenceMode inference;
  at::set_num_threads(threads);
  const Tensor out = over(problem.output);
  list.push_back(std::make_unique<Operator>(threads, out, row->compute(problem, out)));
}

}  // namespace

Library pytorch() {
  return {.name = "pytorch",
          .enter = enter,
          .version =
              [] {
                const std::string onednn = at::get_mkldnn_version();
                return fmt::format("{} with {}", TORCH_VERSION,
                                   onednn.substr(0, onednn.find(" (")));
              },
          // OpenMP's threads spin for some milliseconds before they sleep.
          .park = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }};
}

}  // namespace tw::bench

#endif
