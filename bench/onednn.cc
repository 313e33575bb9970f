// SPDX-License-Identifier: Apache-2.0
// oneDNN in a comparison. It chooses the layouts it likes best for everything that a network would
// keep in them: weights are packed before anything is timed, images stay in its blocked layout, and
// bias and relu are fused. Where weights are no constants, matrices stay as they are.
#include "bench/onednn.h"

#include "bench/contestant.h"

#if TW_HAVE_ONEDNN
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "runtime/error.h"

namespace tw::bench {
namespace {

using dnnl::memory;
using Dims = memory::dims;
using Tag = memory::format_tag;
constexpr auto kFloat = memory::data_type::f32;
constexpr auto kInference = dnnl::prop_kind::forward_inference;

const dnnl::engine& engine() { return onednn_engine(); }

memory::data_type type_of(const NDArray& array) {
  const DType type = array.dtype();
  if (type == bfloat_type(16)) return memory::data_type::bf16;
  if (type == float_type(16)) return memory::data_type::f16;
  if (type == int_type(8)) return memory::data_type::s8;
  if (type == uint_type(8)) return memory::data_type::u8;
  if (type == int_type(32)) return memory::data_type::s32;
  return kFloat;
}

memory::desc plain(const Dims& dims, Tag tag) { return {dims, kFloat, tag}; }
memory::desc any(const Dims& dims, memory::data_type type) { return {dims, type, Tag::any}; }

// Channels in blocks, behind the dimensions: {{1, 16}} of an image is its layout nChw16c.
struct Block {
  int dimension;
  int64_t extent;
};
memory::desc in_blocks(const Dims& dims, memory::data_type type, const std::vector<Block>& blocks) {
  memory::desc desc(dims, type, Tag::abcd);
  dnnl_blocking_desc_t& layout = desc.data.format_desc.blocking;
  Dims outer = dims;
  int64_t stride = 1;
  for (const auto& [dimension, extent] : blocks) {
    layout.inner_blks[layout.inner_nblks] = extent;
    layout.inner_idxs[layout.inner_nblks++] = dimension;
    outer[static_cast<size_t>(dimension)] /= extent;
    stride *= extent;
  }
  for (size_t d = dims.size(); d-- > 0;) {
    layout.strides[d] = stride;
    stride *= outer[d];
  }
  return desc;
}

memory over(const memory::desc& desc, const NDArray& array) {
  return {desc, engine(), array.data()};
}

// One primitive with its arguments.
class Primitive final : public Contestant {
 public:
  Primitive(const Problem& problem, int threads) : problem_(problem), threads_(threads) {
    set_openmp_threads(threads);
  }
  std::string name() const override { return "onednn"; }
  void prepare() override { set_openmp_threads(threads_); }
  void run() override {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }
  void publish() override {
    if (result_) reorder(result_, output_);
  }

  void set(const dnnl::primitive& primitive) { primitive_ = primitive; }
  void argument(int number, const memory& value) { arguments_.insert_or_assign(number, value); }
  // The values of `from`, in the layout that the primitive wants.
  void input(int number, const memory& from, const memory::desc& wanted) {
    if (from.get_desc() == wanted) return argument(number, from);
    const memory packed(wanted, engine());
    reorder(from, packed);
    argument(number, packed);
  }
  // `to` is the problem's output; results in another layout are brought there by publish.
  void output(const memory& to, const memory::desc& wanted, int number = DNNL_ARG_DST) {
    output_ = to;
    if (to.get_desc() == wanted) return argument(number, to);
    result_ = memory(wanted, engine());
    argument(number, result_);
  }

 private:
  void reorder(memory from, memory to) {
    dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
  }

  Problem problem_;  // shares its arrays
  int threads_;
  dnnl::stream stream_{engine()};
  dnnl::primitive primitive_;
  std::unordered_map<int, memory> arguments_;
  memory output_, result_;
};

void set_up_product(const Problem& p, Primitive& out) {
  const int64_t m = p.size.at("m"), n = p.size.at("n"), k = p.size.at("k");
  const int64_t batch = size_or(p, "b", 0);
  const bool transposed = p.kind == "dense";
  const auto matrix = [&](int64_t rows, int64_t columns) {
    return batch > 0 ? Dims{batch, rows, columns} : Dims{rows, columns};
  };
  const Tag tag = batch > 0 ? Tag::abc : Tag::ab;
  const memory::desc a(matrix(m, k), type_of(p.inputs[0]), tag);
  const memory::desc b(matrix(k, n), type_of(p.inputs[1]), transposed ? Tag::ba : tag);
  const memory::desc c(matrix(m, n), type_of(p.output), tag);
  const bool packs = te::is_constant(p.workload.program.arguments[1]);
  const memory::desc packed(matrix(k, n), type_of(p.inputs[1]), Tag::any);
  const dnnl::matmul::primitive_desc primitive({a, packs ? packed : b, c}, engine());
  out.set(dnnl::matmul(primitive));
  out.argument(DNNL_ARG_SRC, over(a, p.inputs[0]));
  out.input(DNNL_ARG_WEIGHTS, over(b, p.inputs[1]), primitive.weights_desc());
  out.output(over(c, p.output), primitive.dst_desc());
}

void set_up_convolution(const Problem& p, Primitive& out) {
  const bool depthwise = p.kind == "depthwise_conv2d", fused = p.kind == "conv2d_bias_relu";
  const int64_t groups = depthwise ? p.size.at("c") : size_or(p, "g", 1);
  const int64_t ci = depthwise ? groups : p.size.at("ci"), co = depthwise ? ci : p.size.at("co");
  const int64_t h = p.size.at("h"), w = size_or(p, "w", h), kernel = p.size.at("k");
  const int64_t stride = size_or(p, "s", 1), pad = size_or(p, "p", 0);
  const int64_t dilation = size_or(p, "d", 1) - 1, n = size_or(p, "n", 1);
  const Dims image = {n, ci, h, w}, bias = {co};
  const Dims result = {n, co, p.output.shape()[2], p.output.shape()[3]};
  const bool grouped = groups > 1;
  const Dims weights = grouped ? Dims{groups, co / groups, ci / groups, kernel, kernel}
                               : Dims{co, ci, kernel, kernel};
  dnnl::primitive_attr attributes;
  const memory::data_type image_type = type_of(p.inputs[0]), weights_type = type_of(p.inputs[1]);
  const memory::data_type result_type = type_of(p.output);
  const bool scaled = p.inputs.size() > 3;  // sums into bytes
  const memory::data_type sum_type = scaled ? memory::data_type::s32 : result_type;
  if (scaled) {
    const auto* scales = static_cast<const float*>(p.inputs[3].data());
    attributes.set_output_scales(1 << 1, {scales, scales + co});
  }
  if (fused) {
    dnnl::post_ops relu;
    relu.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
    attributes.set_post_ops(relu);
  }
  using Convolution = dnnl::convolution_forward;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const memory::desc from = any(image, image_type), kernels = any(weights, weights_type);
  const memory::desc to = any(result, result_type);
  const Dims strides = {stride, stride}, dilations = {dilation, dilation}, pads = {pad, pad};
  const Convolution::desc description =
      fused ? Convolution::desc(kInference, algorithm, from, kernels, any(bias, sum_type), to,
                                strides, dilations, pads, pads)
            : Convolution::desc(kInference, algorithm, from, kernels, to, strides, dilations, pads,
                                pads);
  const Convolution::primitive_desc primitive(description, attributes, engine());
  out.set(Convolution(primitive));
  // Ours have channels in planes, or in blocks: then each of the three.
  std::vector<Block> of_image, of_kernels, of_result;
  if (size_or(p, "b", 0) != 0) {
    const int64_t c = p.inputs[0].shape()[4], f = p.output.shape()[4];
    of_image = {{1, c}};
    of_kernels = {{1, c}, {0, f}};
    of_result = {{1, f}};
  }
  const memory::desc our_kernels = grouped ? memory::desc(weights, weights_type, Tag::abcde)
                                           : in_blocks(weights, weights_type, of_kernels);
  out.input(DNNL_ARG_SRC, over(in_blocks(image, image_type, of_image), p.inputs[0]),
            primitive.src_desc());
  out.input(DNNL_ARG_WEIGHTS, over(our_kernels, p.inputs[1]), primitive.weights_desc());
  if (fused) {
    out.input(DNNL_ARG_BIAS, over({bias, sum_type, Tag::a}, p.inputs[2]), primitive.bias_desc());
  }
  out.output(over(in_blocks(result, result_type, of_result), p.output), primitive.dst_desc());
}

// The gradient of data or of weights, from that of the result, all in the layouts that oneDNN
// chooses.
void set_up_convolution_gradient(const Problem& p, Primitive& out) {
  const bool of_data = p.kind == "conv2d_data_gradient";
  const int64_t groups = size_or(p, "g", 1), n = size_or(p, "n", 1);
  const int64_t ci = p.size.at("ci"), co = p.size.at("co"), kernel = p.size.at("k");
  const int64_t h = p.size.at("h"), w = size_or(p, "w", h), stride = size_or(p, "s", 1);
  const int64_t pad = size_or(p, "p", 0), dilation = size_or(p, "d", 1) - 1;
  const NDArray &grad = p.inputs[0], &other = p.inputs[1];
  const Dims image = {n, ci, h, w}, result = {n, co, grad.shape()[2], grad.shape()[3]};
  const bool grouped = groups > 1;
  const Dims weights = grouped ? Dims{groups, co / groups, ci / groups, kernel, kernel}
                               : Dims{co, ci, kernel, kernel};
  const Dims strides = {stride, stride}, dilations = {dilation, dilation}, pads = {pad, pad};
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const auto of = [](const Dims& dims) { return any(dims, kFloat); };
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, algorithm, of(image), of(weights), of(result), strides,
       dilations, pads, pads},
      engine());
  const memory ours = over(plain(result, Tag::abcd), grad);
  const auto images = [&](const NDArray& a) { return over(plain(image, Tag::abcd), a); };
  const auto kernels = [&](const NDArray& a) {
    return over(plain(weights, grouped ? Tag::abcde : Tag::abcd), a);
  };
  if (of_data) {
    const dnnl::convolution_backward_data::primitive_desc primitive(
        {algorithm, of(image), of(weights), of(result), strides, dilations, pads, pads}, engine(),
        forward);
    out.set(dnnl::convolution_backward_data(primitive));
    out.input(DNNL_ARG_DIFF_DST, ours, primitive.diff_dst_desc());
    out.input(DNNL_ARG_WEIGHTS, kernels(other), primitive.weights_desc());
    out.output(images(p.output), primitive.diff_src_desc(), DNNL_ARG_DIFF_SRC);
  } else {
    const dnnl::convolution_backward_weights::primitive_desc primitive(
        {algorithm, of(image), of(weights), of(result), strides, dilations, pads, pads}, engine(),
        forward);
    out.set(dnnl::convolution_backward_weights(primitive));
    out.input(DNNL_ARG_DIFF_DST, ours, primitive.diff_dst_desc());
    out.input(DNNL_ARG_SRC, images(other), primitive.src_desc());
    out.output(kernels(p.output), primitive.diff_weights_desc(), DNNL_ARG_DIFF_WEIGHTS);
  }
}

Dims rows_and_columns(const Problem& p) { return {p.size.at("m"), p.size.at("n")}; }

void set_up_softmax(const Problem& p, Primitive& out) {
  const memory::desc desc = plain(rows_and_columns(p), Tag::ab);
  const dnnl::softmax_forward::primitive_desc primitive({kInference, desc, 1}, engine());
  out.set(dnnl::softmax_forward(primitive));
  out.argument(DNNL_ARG_SRC, over(desc, p.inputs[0]));
  out.output(over(desc, p.output), desc);
}

void set_up_layer_norm(const Problem& p, Primitive& out) {
  const memory::desc desc = plain(rows_and_columns(p), Tag::ab);
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const dnnl::layer_normalization_forward::primitive_desc primitive(
      {kInference, desc, 1e-5F, flags}, engine());
  const memory::desc row = plain({p.size.at("n")}, Tag::a);
  out.set(dnnl::layer_normalization_forward(primitive));
  out.argument(DNNL_ARG_SRC, over(desc, p.inputs[0]));
  out.argument(DNNL_ARG_SCALE, over(row, p.inputs[1]));
  out.argument(DNNL_ARG_SHIFT, over(row, p.inputs[2]));
  out.output(over(desc, p.output), desc);
}

// relu(x * scale + shift + residual): a product with everything else fused behind it.
void set_up_elementwise(const Problem& p, Primitive& out) {
  const std::vector<te::Tensor>& arguments = p.workload.program.arguments;
  // Rows as channels: operands of one value a channel are what oneDNN has fast code for.
  const memory::desc whole = plain({1, p.size.at("m"), p.size.at("n")}, Tag::abc);
  const memory::desc column = plain({1, p.size.at("m"), 1}, Tag::abc);
  std::map<std::string, memory> named;
  for (size_t k = 0; k < p.inputs.size(); ++k) {
    named[arguments[k].name()] =
        over(arguments[k].shape().size() == 2 && p.inputs[k].shape()[1] == 1 ? column : whole,
             p.inputs[k]);
  }
  dnnl::post_ops rest;
  rest.append_binary(dnnl::algorithm::binary_add, column);
  rest.append_binary(dnnl::algorithm::binary_add, whole);
  rest.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(rest);
  const dnnl::binary::primitive_desc primitive({dnnl::algorithm::binary_mul, whole, column, whole},
                                               attributes, engine());
  out.set(dnnl::binary(primitive));
  out.argument(DNNL_ARG_SRC_0, named.at("x"));
  out.argument(DNNL_ARG_SRC_1, named.at("scale"));
  out.argument(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, named.at("shift"));
  out.argument(DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1, named.at("residual"));
  out.output(over(whole, p.output), whole);
}

void set_up_transpose(const Problem& p, Primitive& out) {
  const Dims shape = rows_and_columns(p);
  const memory from = over(plain(shape, Tag::ab), p.inputs[0]);
  const memory to = over(plain(shape, Tag::ba), p.output);
  out.set(dnnl::reorder(from, to));
  out.argument(DNNL_ARG_FROM, from);
  out.output(to, to.get_desc());
}

void set_up_sum(const Problem& p, Primitive& out) {
  const Dims shape = rows_and_columns(p);
  const bool rows = p.kind == "row_sum";
  const memory::desc from = plain(shape, Tag::ab);
  const memory::desc to = plain(rows ? Dims{shape[0], 1} : Dims{1, shape[1]}, Tag::ab);
  const dnnl::reduction::primitive_desc primitive({dnnl::algorithm::reduction_sum, from, to, 0, 0},
                                                  engine());
  out.set(dnnl::reduction(primitive));
  out.argument(DNNL_ARG_SRC, over(from, p.inputs[0]));
  out.output(over(to, p.output), to);
}

struct Row {
  const char* kind;
  void (*set_up)(const Problem&, Primitive&);
  bool any_type = false;  // otherwise of float32
};
constexpr Row kKinds[] = {{"gemm", set_up_product, true},
                          {"dense", set_up_product, true},
                          {"batch_gemm", set_up_product, true},
                          {"conv2d", set_up_convolution, true},
                          {"conv2d_bias_relu", set_up_convolution, true},
                          {"conv2d_data_gradient", set_up_convolution_gradient},
                          {"conv2d_weight_gradient", set_up_convolution_gradient},
                          {"depthwise_conv2d", set_up_convolution},
                          {"softmax", set_up_softmax},
                          {"layer_norm", set_up_layer_norm},
                          {"elementwise", set_up_elementwise},
                          {"transpose", set_up_transpose},
                          {"row_sum", set_up_sum},
                          {"column_sum", set_up_sum}};

// oneDNN decides once in a process which instructions it may use; --onednn-isa makes them fewer, by
// the names of its own variable ONEDNN_MAX_CPU_ISA.
struct Isa {
  const char* name;
  dnnl::cpu_isa isa;
};
constexpr Isa kIsas[] = {{"avx2", dnnl::cpu_isa::avx2},
                         {"avx512_core", dnnl::cpu_isa::avx512_core},
                         {"avx512_core_vnni", dnnl::cpu_isa::avx512_core_vnni},
                         {"avx512_core_bf16", dnnl::cpu_isa::avx512_core_bf16},
                         {"avx512_core_amx", dnnl::cpu_isa::avx512_core_amx}};

void limit_instructions(const std::string& name) {
  if (name.empty()) return;
  const auto* row = std::ranges::find(kIsas, name, &Isa::name);
  if (row == std::end(kIsas)) {
    std::vector<const char*> names;
    for (const Isa& isa : kIsas) names.push_back(isa.name);
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("--onednn-isa={}", name),
           .legal = fmt::format("{}", fmt::join(names, ", "))});
  }
  dnnl::set_max_cpu_isa(row->isa);
}

std::string effective_instructions() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  const auto* row = std::ranges::find(kIsas, isa, &Isa::isa);
  return row == std::end(kIsas) ? "other instructions" : row->name;
}

// Without instructions for sums of four products, oneDNN adds pairs of products in 16 bits, which
// saturate: another result than the problem's.
bool saturates(const Problem& problem) {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  const bool old = isa == dnnl::cpu_isa::sse41 || isa == dnnl::cpu_isa::avx ||
                   isa == dnnl::cpu_isa::avx2 || isa == dnnl::cpu_isa::avx512_core;
  return old && problem.inputs.at(0).dtype() == uint_type(8);
}

void enter(const Problem& problem, int threads, const Options&, Contestants& list) {
  if (saturates(problem)) return;
  for (const Row& row : kKinds) {
    if (problem.kind != row.kind || !(row.any_type || is_float32(problem))) continue;
    auto contestant = std::make_unique<Primitive>(problem, threads);
    try {
      row.set_up(problem, *contestant);
    } catch (const dnnl::error& error) {
      if (error.status != dnnl_unimplemented) throw;
      continue;  // not of these types
    }
    list.push_back(std::move(contestant));
  }
}

}  // namespace

Library onednn() {
  return {.name = "onednn",
          .start = [](const Options& options) { limit_instructions(options.text("onednn-isa")); },
          .enter = enter,
          .version =
              [] {
                const dnnl_version_t* v = dnnl::version();
                return fmt::format("{}.{}.{}, {}", v->major, v->minor, v->patch,
                                   effective_instructions());
              },
          // OpenMP's threads spin for some milliseconds before they sleep.
          .park = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }};
}

}  // namespace tw::bench

#endif
