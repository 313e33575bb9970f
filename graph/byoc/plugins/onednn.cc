// SPDX-License-Identifier: Apache-2.0
// Regions by oneDNN. Each composite is one primitive, with what follows it as post-operations.
// Primitives, their scratchpads and weights in the layouts that they want are made at build; values
// between two primitives stay in the layout that the first one chose. A run executes primitives.
#include <algorithm>
#include <cmath>
#include <dnnl.hpp>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/byoc/plugins/facts.h"
#include "graph/byoc/plugins/openmp.h"
#include "runtime/codegen.h"

namespace {

using namespace tw::vendor;
using dnnl::algorithm;
using dnnl::memory;
using Dims = memory::dims;
using Desc = memory::desc;

constexpr auto kInference = dnnl::prop_kind::forward_inference;
constexpr auto kF32 = memory::data_type::f32;
constexpr auto kAny = memory::format_tag::any;
constexpr int64_t kLine = 64;  // bytes

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}
dnnl::stream& stream() {
  thread_local dnnl::stream s(engine());
  return s;
}

Desc row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(dims[d], 1);
  return {dims, kF32, strides};
}

[[noreturn]] void refuse(const std::string& why) { throw std::runtime_error("oneDNN: " + why); }

std::pair<int64_t, int64_t> pair_of(const Step& s, const std::string& name) {
  const auto& v = s.tuple(name);
  return {v.front(), v.size() > 1 ? v[1] : v.front()};
}
struct Border {
  int64_t top, left, bottom, right;
};
Border border_of(const Step& s) {
  const auto& v = s.tuple("padding");
  if (v.size() == 4) return {v[0], v[1], v[2], v[3]};
  const auto [h, w] = pair_of(s, "padding");
  return {h, w, h, w};
}

class Builder;

class Network final : public Kernel {
 public:
  explicit Network(const Region& region);
  int64_t workspace_bytes() const override { return workspace_; }

  // Primitives and constants are shared, memory that a run sets is not.
  Kernel* clone() const override {
    auto other = std::make_unique<Network>(*this);
    std::unordered_map<dnnl_memory_t, memory> fresh;  // look-ups only
    const auto renew = [&](memory& m) {
      m = fresh.try_emplace(m.get(), m.get_desc(), engine(), nullptr).first->second;
    };
    for (Tensor& t : other->external_) renew(t.m);
    for (Tensor& t : other->scratch_) renew(t.m);
    for (Call& c : other->calls_) {
      for (dnnl_exec_arg_t& a : c.arguments) {
        const auto at = fresh.find(a.memory);
        if (at != fresh.end()) a.memory = at->second.get();
      }
    }
    return other.release();
  }

  void run(void* const* tensors, void* workspace) override {
    for (Tensor& t : external_) t.lies_at(tensors[t.place]);
    for (Tensor& t : scratch_) t.lies_at(static_cast<char*>(workspace) + t.place);
    set_threads(threads_);
    dnnl_stream_t s = stream().get();
    for (const Call& c : calls_) {
      dnnl::error::wrap_c_api(
          dnnl_primitive_execute(c.primitive.get(), s, static_cast<int>(c.arguments.size()),
                                 c.arguments.data()),
          "could not execute a primitive");
    }
    stream().wait();
  }

 private:
  friend class Builder;
  // Arguments as the C interface takes them: that of C++ makes such a list anew in each call.
  struct Call {
    dnnl::primitive primitive;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  // Memory that a run places. It mostly lies where it lay in the run before.
  struct Tensor {
    memory m;
    size_t place;  // number of an argument, or bytes into the workspace
    void lies_at(void* data) {
      if (data != m.get_data_handle()) m.set_data_handle(data);
    }
  };
  std::vector<Call> calls_;
  std::vector<memory> memories_;  // of all arguments
  std::vector<Tensor> external_;  // inputs and outputs
  std::vector<Tensor> scratch_;
  std::vector<std::shared_ptr<std::vector<float>>> weights_;  // that were computed here
  int64_t workspace_ = 0;
  int threads_ = 1;
};

class Builder {
 public:
  Builder(const Region& region, Network& network) : region_(region), network_(network) {
    set_threads(region.threads);
    require(kOneDnnFacts, region);
    for (size_t k = 0; k < region.inputs.size(); ++k)
      values_[region.inputs[k]] = external(region.inputs[k], k);
    for (size_t v = 0; v < region.values.size(); ++v) {
      void* constant = const_cast<void*>(region.values[v].constant);
      if (constant != nullptr) values_[v] = memory(plain(v), engine(), constant);
    }
    const auto count = [&](const Composite& c, int change) {
      for (const Step& s : c.steps) {
        for (size_t v : s.inputs) readers_[v] += change;
      }
    };
    for (const Composite& c : region.composites) count(c, 1);
    for (const Composite& c : region.composites) {
      count(c, -1);
      build(c);
    }
    for (size_t k = 0; k < region.outputs.size(); ++k) finish(region.outputs[k], k);
    place_scratch();
    network.threads_ = region.threads;
  }

 private:
  using Arguments = std::unordered_map<int, memory>;

  // oneDNN has no tensors of rank 0.
  const Dims& dims(size_t v) const {
    static const Dims kOne{1};
    return region_.values[v].shape.empty() ? kOne : region_.values[v].shape;
  }
  Desc plain(size_t v) const { return row_major(dims(v)); }
  bool is_constant(size_t v) const { return region_.values[v].constant != nullptr; }

  memory external(size_t v, size_t argument) {
    const memory m(plain(v), engine(), nullptr);
    network_.external_.push_back({m, argument});
    return m;
  }

  // ---- values and their layouts

  memory scratch(const Desc& desc) {
    const memory m(desc, engine(), nullptr);
    live_[m.get()] = scratch_.size();
    scratch_.push_back({m, network_.calls_.size(), network_.calls_.size()});
    return m;
  }

  void call(dnnl::primitive primitive, const Arguments& arguments) {
    Network::Call made{.primitive = std::move(primitive), .arguments = {}};
    for (const auto& [id, m] : arguments) {
      const auto at = live_.find(m.get());
      if (at != live_.end()) scratch_[at->second].last = network_.calls_.size();
      network_.memories_.push_back(m);
      made.arguments.push_back({.arg = id, .memory = m.get()});
    }
    network_.calls_.push_back(std::move(made));
  }

  // The value in a layout: as it is, converted once now where it is constant, else in each run.
  memory take(size_t v, const Desc& desc) {
    memory& known = values_.at(v);
    return is_constant(v) ? constant_in(known, desc) : in_layout(known, desc);
  }
  static memory constant_in(memory from, const Desc& desc) {
    if (from.get_desc() == desc) return from;
    memory to(desc, engine());
    dnnl::reorder(from, to).execute(stream(), from, to);
    stream().wait();
    return to;
  }
  memory in_layout(const memory& from, const Desc& desc) {
    if (from.get_desc() == desc) return from;
    const memory to = scratch(desc);
    call(dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
    return to;
  }

  // Where a primitive leaves a value: an output of the region at once where the layout is its own.
  memory give(size_t v, const Desc& desc) {
    const auto at = std::ranges::find(region_.outputs, v);
    const bool direct = at != region_.outputs.end() && desc == plain(v);
    memory m;
    if (direct) {
      const auto k = static_cast<size_t>(at - region_.outputs.begin());
      m = external(v, region_.inputs.size() + k);
      finished_.push_back(k);
    } else {
      m = scratch(desc);
    }
    values_[v] = m;
    return m;
  }

  void finish(size_t v, size_t k) {
    if (std::ranges::find(finished_, k) != finished_.end()) return;
    const memory from = values_.at(v), to = external(v, region_.inputs.size() + k);
    call(dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  }

  // Memory that no two live values share, first fit by the order in which they come.
  void place_scratch() {
    std::vector<int64_t> offsets;
    for (size_t k = 0; k < scratch_.size(); ++k) {
      const auto bytes_of = [&](size_t i) {
        return (static_cast<int64_t>(scratch_[i].m.get_desc().get_size()) + kLine - 1) / kLine *
               kLine;
      };
      std::vector<std::pair<int64_t, int64_t>> taken;
      for (size_t i = 0; i < k; ++i) {
        if (scratch_[i].last >= scratch_[k].first && scratch_[k].last >= scratch_[i].first)
          taken.emplace_back(offsets[i], offsets[i] + bytes_of(i));
      }
      std::ranges::sort(taken);
      int64_t offset = 0;
      for (const auto& [begin, end] : taken) {
        if (begin >= offset + bytes_of(k)) break;
        offset = std::max(offset, end);
      }
      offsets.push_back(offset);
      network_.workspace_ = std::max(network_.workspace_, offset + bytes_of(k));
      network_.scratch_.push_back({scratch_[k].m, static_cast<size_t>(offset)});
    }
    for (const auto& [view, k] : views_)
      network_.scratch_.push_back({view, static_cast<size_t>(offsets[k])});
  }

  // ---- primitives

  dnnl::primitive_attr attributes(dnnl::post_ops after = {}) const {
    dnnl::primitive_attr a;
    a.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    a.set_post_ops(after);
    return a;
  }
  // Of a primitive that nothing follows. One without scratch memory is made as a program by itself
  // would make it, so that oneDNN's cache gives both the same code.
  template <class Primitive>
  typename Primitive::primitive_desc alone(const typename Primitive::desc& d) const {
    const typename Primitive::primitive_desc p(d, engine());
    if (p.query_s64(dnnl::query::memory_consumption_s64) == 0) return p;
    return {d, attributes(), engine()};
  }
  template <class PrimitiveDesc>
  void add_scratchpad(const PrimitiveDesc& p, Arguments& arguments) {
    if (p.scratchpad_desc().get_size() > 0)
      arguments[DNNL_ARG_SCRATCHPAD] = scratch(p.scratchpad_desc());
  }

  // What follows the first step of a composite.
  struct After {
    const Step* norm = nullptr;
    size_t residual = ~size_t{0};
    const Step* activation = nullptr;
    size_t out;  // value

    bool has_residual() const { return residual != ~size_t{0}; }
  };
  static After after_of(const Composite& c) {
    After after{.out = c.steps.front().outputs[0]};
    for (size_t k = 1; k < c.steps.size(); ++k) {
      const Step& s = c.steps[k];
      if (s.op == "batch_norm") {
        after.norm = &s;
      } else if (s.op == "elemwise_add" || s.op == "broadcast_add") {
        after.residual = s.inputs[s.inputs[0] == after.out ? 1 : 0];
      } else if (s.op == "relu" || s.op == "clip") {
        after.activation = &s;
      } else {
        refuse("no " + s.op + " behind " + c.steps.front().op);
      }
      after.out = s.outputs[0];
    }
    return after;
  }
  static void append(dnnl::post_ops& ops, const Step* activation) {
    if (activation == nullptr) return;
    const bool relu = activation->op == "relu";
    ops.append_eltwise(1, relu ? algorithm::eltwise_relu : algorithm::eltwise_clip,
                       relu ? 0 : static_cast<float>(activation->real("a_min")),
                       relu ? 0 : static_cast<float>(activation->real("a_max")));
  }

  void build(const Composite& c) {
    const Step& s = c.steps.front();
    if (s.op == "conv2d") return convolution(s, after_of(c));
    if (s.op == "dense") return dense(s, after_of(c));
    if (s.op == "matmul") return matmul(s, after_of(c));
    if (s.op == "batch_norm") return batch_norm(s, after_of(c));
    if (s.op == "mean") return layer_norm(c);
    for (const Step& step : c.steps) single(step);
  }

  void single(const Step& s) {
    static const std::map<std::string, algorithm> kEltwise = {
        {"relu", algorithm::eltwise_relu},        {"tanh", algorithm::eltwise_tanh},
        {"sigmoid", algorithm::eltwise_logistic}, {"exp", algorithm::eltwise_exp},
        {"sqrt", algorithm::eltwise_sqrt},        {"abs", algorithm::eltwise_abs},
        {"clip", algorithm::eltwise_clip}};
    if (const auto e = kEltwise.find(s.op); e != kEltwise.end()) return eltwise(s, e->second);
    if (s.op == "elemwise_add" || s.op == "broadcast_add") return sum(s);
    if (s.op == "softmax") return softmax(s);
    if (s.op == "concatenate") return concatenate(s);
    if (s.op.ends_with("pool2d")) return pool(s);
    refuse("no " + s.op);
  }

  // A convolution's weight and bias with a normalization behind it folded into them.
  std::pair<memory, memory> folded(const Step& s, const Step& norm) {
    const size_t w = s.inputs[1];
    const auto at = [&](size_t v) { return static_cast<const float*>(region_.values[v].constant); };
    const int64_t channels = dims(w)[0], each = region_.values[w].elements() / channels;
    std::vector<float> weight(at(w), at(w) + channels * each), bias(static_cast<size_t>(channels));
    for (int64_t c = 0; c < channels; ++c) {
      const float gamma = norm.flag("scale") ? at(norm.inputs[1])[c] : 1;
      const float beta = norm.flag("center") ? at(norm.inputs[2])[c] : 0;
      const float scale =
          gamma / std::sqrt(at(norm.inputs[4])[c] + static_cast<float>(norm.real("epsilon")));
      for (int64_t i = 0; i < each; ++i) weight[static_cast<size_t>(c * each + i)] *= scale;
      const float before = s.inputs.size() > 2 ? at(s.inputs[2])[c] : 0;
      bias[static_cast<size_t>(c)] = (before - at(norm.inputs[3])[c]) * scale + beta;
    }
    network_.weights_.push_back(std::make_shared<std::vector<float>>(std::move(weight)));
    network_.weights_.push_back(std::make_shared<std::vector<float>>(std::move(bias)));
    const auto kept = [&](size_t back, const Dims& d) {
      auto& data = *network_.weights_[network_.weights_.size() - back];
      return constant_in(memory(row_major(d), engine(), data.data()), row_major(d));
    };
    return {kept(2, dims(w)), kept(1, {channels})};
  }

  void convolution(const Step& s, const After& after) {
    const size_t x = s.inputs[0], w = s.inputs[1];
    const int64_t groups = s.integer("groups");
    const auto [sh, sw] = pair_of(s, "strides");
    const auto [dh, dw] = pair_of(s, "dilation");
    const Border pad = border_of(s);
    Dims wd = dims(w);
    if (groups > 1) wd = {groups, wd[0] / groups, wd[1], wd[2], wd[3]};
    memory weight = values_.at(w), bias;
    if (after.norm != nullptr) {
      std::tie(weight, bias) = folded(s, *after.norm);
    } else if (s.inputs.size() > 2) {
      bias = take(s.inputs[2], plain(s.inputs[2]));
    }
    const bool constant = is_constant(w);
    const auto describe = [&](const dnnl::post_ops& ops) {
      const Desc src(dims(x), kF32, kAny), weights(wd, kF32, kAny),
          dst(dims(s.outputs[0]), kF32, kAny);
      const dnnl::convolution_forward::desc d(kInference, algorithm::convolution_auto, src, weights,
                                              bias ? row_major({dims(w)[0]}) : Desc(), dst,
                                              {sh, sw}, {dh - 1, dw - 1}, {pad.top, pad.left},
                                              {pad.bottom, pad.right});
      return dnnl::convolution_forward::primitive_desc(d, attributes(ops), engine());
    };
    dnnl::post_ops ops;
    if (after.has_residual()) ops.append_sum();
    append(ops, after.activation);
    const auto p = describe(ops);
    Arguments arguments;
    arguments[DNNL_ARG_SRC] = take(x, p.src_desc());
    if (constant) {
      const memory grouped(row_major(wd), engine(), weight.get_data_handle());
      arguments[DNNL_ARG_WEIGHTS] = constant_in(grouped, p.weights_desc());
    } else {
      if (groups > 1) weight = seen_as(take(w, plain(w)), row_major(wd));
      arguments[DNNL_ARG_WEIGHTS] = in_layout(weight, p.weights_desc());
    }
    if (bias) arguments[DNNL_ARG_BIAS] = bias;
    arguments[DNNL_ARG_DST] =
        after.has_residual()
            ? on_top_of(after.residual, after.out, p.dst_desc(), arguments[DNNL_ARG_SRC])
            : give(after.out, p.dst_desc());
    add_scratchpad(p, arguments);
    call(dnnl::convolution_forward(p), arguments);
  }

  // Where a sum is left that is added to a residual: in its place where nobody, the
  // convolution itself included, reads that again.
  memory on_top_of(size_t residual, size_t out, const Desc& desc, const memory& source) {
    const memory from = values_.at(residual);
    const bool is_last = readers_[residual] == 0 && live_.contains(from.get()) &&
                         from.get() != source.get() &&
                         std::ranges::find(region_.outputs, residual) == region_.outputs.end() &&
                         std::ranges::find(region_.outputs, out) == region_.outputs.end();
    if (is_last && from.get_desc() == desc) return values_[out] = from;
    const memory to = give(out, desc);
    call(dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
    return to;
  }

  // All dimensions of data but the last are rows.
  Dims rows(size_t v) const {
    const int64_t last = dims(v).back();
    return {region_.values[v].elements() / last, last};
  }

  void dense(const Step& s, const After& after) {
    const size_t x = s.inputs[0];
    const bool bias = s.inputs.size() > 2, is_matrix = dims(x).size() == 2;
    dnnl::post_ops ops;
    append(ops, after.activation);
    const Desc out = row_major(rows(after.out));
    const dnnl::inner_product_forward::desc d(kInference, Desc(rows(x), kF32, kAny),
                                              Desc(dims(s.inputs[1]), kF32, kAny),
                                              bias ? plain(s.inputs[2]) : Desc(), out);
    const dnnl::inner_product_forward::primitive_desc p(d, attributes(ops), engine());
    const memory src =
        is_matrix ? take(x, p.src_desc()) : in_layout(viewed(x, row_major(rows(x))), p.src_desc());
    Arguments arguments{{DNNL_ARG_SRC, src},
                        {DNNL_ARG_WEIGHTS, take(s.inputs[1], p.weights_desc())}};
    if (bias) arguments[DNNL_ARG_BIAS] = take(s.inputs[2], plain(s.inputs[2]));
    arguments[DNNL_ARG_DST] = seen_as(give(after.out, plain(after.out)), out);
    add_scratchpad(p, arguments);
    call(dnnl::inner_product_forward(p), arguments);
  }

  // A matrix, or a batch of them, with as many dimensions as the product.
  Desc factor(size_t v, bool transposed, size_t rank) const {
    Dims d = dims(v);
    d.insert(d.begin(), rank - d.size(), 1);
    std::vector<int> places(rank);
    std::iota(places.begin(), places.end(), 0);
    if (transposed) std::swap(places[rank - 2], places[rank - 1]);
    return row_major(d).permute_axes(places);
  }

  void matmul(const Step& s, const After& after) {
    const size_t rank = dims(after.out).size();
    const Desc a = factor(s.inputs[0], s.flag("transpose_a"), rank),
               b = factor(s.inputs[1], s.flag("transpose_b"), rank);
    dnnl::post_ops ops;
    append(ops, after.activation);
    const dnnl::matmul::primitive_desc p(dnnl::matmul::desc(a, b, plain(after.out)),
                                         attributes(ops), engine());
    Arguments arguments{{DNNL_ARG_SRC, viewed(s.inputs[0], a)},
                        {DNNL_ARG_WEIGHTS, viewed(s.inputs[1], b)},
                        {DNNL_ARG_DST, give(after.out, p.dst_desc())}};
    add_scratchpad(p, arguments);
    call(dnnl::matmul(p), arguments);
  }

  memory viewed(size_t v, const Desc& desc) { return seen_as(take(v, plain(v)), desc); }

  // The same elements under another description.
  memory seen_as(const memory& of, const Desc& desc) {
    if (of.get_desc() == desc) return of;
    const memory view(desc, engine(), of.get_data_handle());
    for (size_t k = 0; k < network_.external_.size(); ++k) {
      if (network_.external_[k].m.get() == of.get()) {
        network_.external_.push_back({view, network_.external_[k].place});
        return view;
      }
    }
    if (const auto at = live_.find(of.get()); at != live_.end()) {
      views_.emplace_back(view, at->second);
      live_[view.get()] = at->second;
    }
    return view;
  }

  void pool(const Step& s) {
    const size_t x = s.inputs[0], y = s.outputs[0];
    const Dims &in = dims(x), &out = dims(y);
    const bool global = s.op.starts_with("global"), max = s.op.find("max") != std::string::npos;
    Dims kernel{in[2], in[3]}, strides{1, 1}, before{0, 0}, behind{0, 0};
    auto how = max ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding;
    if (!global) {
      const auto [kh, kw] = pair_of(s, "pool_size");
      const auto [sh, sw] = pair_of(s, "strides");
      const Border pad = border_of(s);
      kernel = {kh, kw};
      strides = {sh, sw};
      before = {pad.top, pad.left};
      behind = {(out[2] - 1) * sh + kh - in[2] - pad.top,
                (out[3] - 1) * sw + kw - in[3] - pad.left};
      if (!max && s.flag("count_include_pad")) how = algorithm::pooling_avg_include_padding;
    }
    const memory src = values_.at(x);
    const dnnl::pooling_forward::desc d(kInference, how, src.get_desc(), Desc(out, kF32, kAny),
                                        strides, kernel, before, behind);
    const auto p = alone<dnnl::pooling_forward>(d);
    Arguments arguments{{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, give(y, p.dst_desc())}};
    add_scratchpad(p, arguments);
    call(dnnl::pooling_forward(p), arguments);
  }

  void eltwise(const Step& s, algorithm how) {
    const bool clip = how == algorithm::eltwise_clip;
    const memory src = values_.at(s.inputs[0]);
    const dnnl::eltwise_forward::desc d(kInference, how, src.get_desc(),
                                        clip ? static_cast<float>(s.real("a_min")) : 0,
                                        clip ? static_cast<float>(s.real("a_max")) : 0);
    const auto p = alone<dnnl::eltwise_forward>(d);
    Arguments arguments{{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, give(s.outputs[0], p.dst_desc())}};
    add_scratchpad(p, arguments);
    call(dnnl::eltwise_forward(p), arguments);
  }

  void sum(const Step& s) {
    const memory a = values_.at(s.inputs[0]), b = take(s.inputs[1], a.get_desc());
    const dnnl::binary::desc d(algorithm::binary_add, a.get_desc(), b.get_desc(), a.get_desc());
    const auto p = alone<dnnl::binary>(d);
    Arguments arguments{
        {DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, give(s.outputs[0], p.dst_desc())}};
    add_scratchpad(p, arguments);
    call(dnnl::binary(p), arguments);
  }

  int axis_of(const Step& s) const {
    const int64_t axis = s.integer("axis"), rank = static_cast<int64_t>(dims(s.inputs[0]).size());
    return static_cast<int>(axis < 0 ? axis + rank : axis);
  }

  void softmax(const Step& s) {
    const memory src = values_.at(s.inputs[0]);
    const dnnl::softmax_forward::desc d(kInference, src.get_desc(), axis_of(s));
    const auto p = alone<dnnl::softmax_forward>(d);
    Arguments arguments{{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, give(s.outputs[0], p.dst_desc())}};
    add_scratchpad(p, arguments);
    call(dnnl::softmax_forward(p), arguments);
  }

  void batch_norm(const Step& s, const After& after) {
    using Flags = dnnl::normalization_flags;
    const memory src = values_.at(s.inputs[0]);
    Flags flags = Flags::use_global_stats;
    if (s.flag("scale")) flags |= Flags::use_scale;
    if (s.flag("center")) flags |= Flags::use_shift;
    if (after.activation != nullptr) flags |= Flags::fuse_norm_relu;
    const dnnl::batch_normalization_forward::desc d(kInference, src.get_desc(),
                                                    static_cast<float>(s.real("epsilon")), flags);
    const auto p = alone<dnnl::batch_normalization_forward>(d);
    Arguments arguments{{DNNL_ARG_SRC, src},
                        {DNNL_ARG_MEAN, values_.at(s.inputs[3])},
                        {DNNL_ARG_VARIANCE, values_.at(s.inputs[4])},
                        {DNNL_ARG_DST, give(after.out, p.dst_desc())}};
    if (s.flag("scale")) arguments[DNNL_ARG_SCALE] = values_.at(s.inputs[1]);
    if (s.flag("center")) arguments[DNNL_ARG_SHIFT] = values_.at(s.inputs[2]);
    add_scratchpad(p, arguments);
    call(dnnl::batch_normalization_forward(p), arguments);
  }

  void layer_norm(const Composite& c) {
    using Flags = dnnl::normalization_flags;
    const facts::LayerNorm norm = facts::layer_norm_of(region_, c).value();
    Flags flags = Flags::none;
    if (!norm.vectors.empty()) flags |= Flags::use_scale;
    if (norm.vectors.size() > 1) flags |= Flags::use_shift;
    const dnnl::layer_normalization_forward::desc d(kInference, plain(norm.x),
                                                    static_cast<float>(norm.epsilon), flags);
    const auto p = alone<dnnl::layer_normalization_forward>(d);
    Arguments arguments{{DNNL_ARG_SRC, viewed(norm.x, plain(norm.x))}};
    static constexpr int kVectors[] = {DNNL_ARG_SCALE, DNNL_ARG_SHIFT};
    for (size_t k = 0; k < norm.vectors.size(); ++k)
      arguments[kVectors[k]] = viewed(norm.vectors[k], row_major({dims(norm.x).back()}));
    arguments[DNNL_ARG_DST] = give(norm.out, p.dst_desc());
    add_scratchpad(p, arguments);
    call(dnnl::layer_normalization_forward(p), arguments);
  }

  // Values stay as they are where all are without blocks, or all of full blocks, which stay blocks.
  void concatenate(const Step& s) {
    constexpr int64_t kBlock = 16;
    const auto blocks = [&](size_t v) {
      return values_.at(v).get_desc().data.format_desc.blocking.inner_nblks;
    };
    const bool blocked = blocks(s.inputs[0]) > 0;
    const bool as_they_are = std::ranges::all_of(s.inputs, [&](size_t v) {
      return (blocks(v) > 0) == blocked && (!blocked || dims(v)[1] % kBlock == 0);
    });
    std::vector<Desc> sources;
    Arguments arguments;
    for (size_t k = 0; k < s.inputs.size(); ++k) {
      const size_t v = s.inputs[k];
      const memory m = as_they_are ? values_.at(v) : take(v, plain(v));
      sources.push_back(m.get_desc());
      arguments[DNNL_ARG_MULTIPLE_SRC + static_cast<int>(k)] = m;
    }
    const dnnl::concat::primitive_desc p(axis_of(s), sources, engine(), attributes());
    arguments[DNNL_ARG_DST] = give(s.outputs[0], p.dst_desc());
    add_scratchpad(p, arguments);
    call(dnnl::concat(p), arguments);
  }

  struct Scratch {
    memory m;
    size_t first, last;  // calls
  };
  const Region& region_;
  Network& network_;
  std::map<size_t, memory> values_;
  std::map<size_t, int> readers_;  // of each value, steps that are not built yet
  std::vector<Scratch> scratch_;
  std::vector<std::pair<memory, size_t>> views_;    // of scratch memory, by number
  std::unordered_map<dnnl_memory_t, size_t> live_;  // scratch memory, by number; look-ups only
  std::vector<size_t> finished_;                    // outputs that a primitive writes at once
};

Network::Network(const Region& region) { Builder(region, *this); }

Kernel* build(const Region& region, std::string_view) {
  try {
    return new Network(region);
  } catch (const dnnl::error& e) {
    refuse(e.message);
  }
}

const char* version_text() {
  const dnnl_version_t& v = *dnnl_version();
  static const std::string text = "oneDNN " + std::to_string(v.major) + "." +
                                  std::to_string(v.minor) + "." + std::to_string(v.patch);
  return text.c_str();
}

}  // namespace

TILEWRIGHT_CODEGEN(build, version_text())
