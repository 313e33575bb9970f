// SPDX-License-Identifier: Apache-2.0
// Matrix products by OpenBLAS, with a bias and a relu behind them: the worked example of
// docs/byoc.md.
#include <cblas.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "graph/byoc/plugins/facts.h"
#include "runtime/codegen.h"

extern "C" void openblas_set_num_threads(int);

namespace {

using namespace tw::vendor;

// data (..., k), which are m rows, times weight (n, k), transposed, or a product of matrices that
// may both be transposed.
struct Product {
  int m = 0, n = 0, k = 0;
  bool transpose_a, transpose_b;
  size_t a, b, out;  // values
  size_t bias;       // value, kNone without one
  bool relu;
};
constexpr size_t kNone = ~size_t{0};

class Products final : public Kernel {
 public:
  explicit Products(const Region& region) : region_(region) {
    require(kOpenblasFacts, region);
    for (const Composite& c : region.composites) products_.push_back(product_of(c));
    places_.resize(region.values.size());
    for (size_t v = 0; v < region.values.size(); ++v)
      places_[v] = static_cast<float*>(const_cast<void*>(region.values[v].constant));
    for (const Product& p : products_) {  // what is no output lies in the workspace
      if (std::ranges::find(region.outputs, p.out) != region.outputs.end()) continue;
      offsets_.emplace_back(p.out, floats_);
      floats_ += (region.values[p.out].elements() + 15) / 16 * 16;
    }
  }

  int64_t workspace_bytes() const override { return floats_ * 4; }
  Kernel* clone() const override { return new Products(*this); }

  void run(void* const* tensors, void* workspace) override {
    size_t next = 0;
    for (size_t v : region_.inputs) places_[v] = static_cast<float*>(tensors[next++]);
    for (size_t v : region_.outputs) places_[v] = static_cast<float*>(tensors[next++]);
    for (const auto& [v, offset] : offsets_) places_[v] = static_cast<float*>(workspace) + offset;
    openblas_set_num_threads(region_.threads);
    for (const Product& p : products_) compute(p);
  }

 private:
  Product product_of(const Composite& composite) const {
    const Step& s = composite.steps.front();
    const bool dense = s.op == "dense";
    if (!dense && s.op != "matmul") throw std::runtime_error("OpenBLAS here has no " + s.op);
    const auto &a = region_.values[s.inputs[0]].shape, &b = region_.values[s.inputs[1]].shape;
    Product p{.transpose_a = !dense && s.flag("transpose_a"),
              .transpose_b = dense || s.flag("transpose_b"),
              .a = s.inputs[0],
              .b = s.inputs[1],
              .out = s.outputs[0],
              .bias = s.inputs.size() > 2 ? s.inputs[2] : kNone,
              .relu = false};
    p.k = static_cast<int>(p.transpose_a ? a.front() : a.back());
    p.m = static_cast<int>(region_.values[p.a].elements() / p.k);
    p.n = static_cast<int>(b[p.transpose_b ? 0 : 1]);
    for (size_t k = 1; k < composite.steps.size(); ++k) {
      if (composite.steps[k].op != "relu") throw std::runtime_error("only relu follows a product");
      p.relu = true;
      p.out = composite.steps[k].outputs[0];
    }
    return p;
  }

  void compute(const Product& p) const {
    float* const out = places_[p.out];
    const float* const bias = p.bias == kNone ? nullptr : places_[p.bias];
    for (int i = 0; bias != nullptr && i < p.m; ++i)
      std::memcpy(out + int64_t{i} * p.n, bias, static_cast<size_t>(p.n) * sizeof(float));
    cblas_sgemm(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans,
                p.transpose_b ? CblasTrans : CblasNoTrans, p.m, p.n, p.k, 1, places_[p.a],
                p.transpose_a ? p.m : p.k, places_[p.b], p.transpose_b ? p.k : p.n,
                bias != nullptr ? 1 : 0, out, p.n);
    for (int64_t i = 0; p.relu && i < int64_t{p.m} * p.n; ++i) out[i] = std::max(out[i], 0.0F);
  }

  const Region region_;
  std::vector<Product> products_;
  std::vector<float*> places_;  // of values, in the present call
  std::vector<std::pair<size_t, int64_t>> offsets_;
  int64_t floats_ = 0;
};

Kernel* build(const Region& region, std::string_view) { return new Products(region); }

}  // namespace

// It names OpenBLAS itself, its version and the kernels that it chose for this machine.
TILEWRIGHT_CODEGEN(build, openblas_get_config())
