// SPDX-License-Identifier: Apache-2.0
// What a region of one operator costs beyond oneDNN itself: the kernel that `byoc` builds, called
// as the executor calls it, against the same primitives called directly. Both read and write
// row-major tensors, so both reorder them where the primitive wants another layout; weights are
// packed before.
#include "bench/sections.h"

#if TW_HAVE_ONEDNN
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>

#include "bench/google_benchmark.h"
#include "bench/onednn.h"
#include "graph/byoc/build_regions.h"
#include "graph/byoc/function.h"
#include "graph/pass.h"
#include "graph/symbol.h"
#include "runtime/error.h"
#include "runtime/module.h"
#include "runtime/thread_pool.h"

namespace tw::bench {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using graph::Symbol;
using Dims = memory::dims;
using Desc = memory::desc;
using Arguments = std::unordered_map<int, memory>;

constexpr auto kFloat = memory::data_type::f32;
constexpr auto kAny = memory::format_tag::any;
constexpr auto kInference = dnnl::prop_kind::forward_inference;
// Sums are rounded in another order: in parts of the largest element.
constexpr double kTolerance = 1e-5;

const dnnl::engine& engine() { return onednn_engine(); }

Dims dims_of(const NDArray& array) { return {array.shape().begin(), array.shape().end()}; }
Desc row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return {dims, kFloat, strides};
}
Desc any(const Dims& dims) { return {dims, kFloat, kAny}; }

// Calls of primitives in their order, as a program that uses oneDNN has them.
class Direct {
 public:
  memory plain(const NDArray& array) const {
    return {row_major(dims_of(array)), engine(), array.data()};
  }
  // A constant in this layout, computed now.
  memory packed(memory from, const Desc& desc) {
    if (from.get_desc() == desc) return from;
    memory to(desc, engine());
    dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
    return to;
  }
  memory in_layout(const memory& from, const Desc& desc) {
    if (from.get_desc() == desc) return from;
    const memory to(desc, engine());
    call(dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
    return to;
  }
  void call(dnnl::primitive primitive, Arguments arguments) {
    calls_.emplace_back(std::move(primitive), std::move(arguments));
  }
  // The primitive leaves its result in this layout, from where it goes to `to`.
  void call_into(dnnl::primitive primitive, Arguments arguments, const Desc& desc,
                 const memory& to) {
    const memory result = to.get_desc() == desc ? to : memory(desc, engine());
    arguments[DNNL_ARG_DST] = result;
    call(std::move(primitive), std::move(arguments));
    finish(result, to);
  }
  void finish(const memory& result, const memory& to) {
    if (result.get_desc() == to.get_desc()) return;
    call(dnnl::reorder(result, to), {{DNNL_ARG_FROM, result}, {DNNL_ARG_TO, to}});
  }
  void run() {
    for (const auto& [primitive, arguments] : calls_) primitive.execute(stream_, arguments);
    stream_.wait();
  }

 private:
  dnnl::stream stream_{engine()};
  std::vector<std::pair<dnnl::primitive, Arguments>> calls_;
};

using Arrays = std::vector<NDArray>;  // those of variables, in order, and the output
struct Operator {
  std::string name;
  // Shapes of its variables, of which the first `inputs` are no parameters; "_var" are positive.
  std::vector<std::pair<std::string, Dims>> variables;
  size_t inputs;
  std::function<Symbol(const std::vector<Symbol>&)> network;
  std::function<void(Direct&, const Arrays&)> direct;
};

std::string text_of(const Dims& dims) { return fmt::format("({},)", fmt::join(dims, ", ")); }
Symbol call(const char* op, const std::vector<Symbol>& inputs, graph::Attributes attributes = {}) {
  return Symbol::call(op, op, inputs, {}, std::move(attributes));
}

struct Convolution {
  int64_t channels, image, outputs, kernel, groups = 1, dilation = 1;
  bool residual = false;
};

Operator convolution(const std::string& name, const Convolution& c) {
  const int64_t pad = c.kernel / 2 * c.dilation;
  const Dims x{1, c.channels, c.image, c.image}, y{1, c.outputs, c.image, c.image};
  const Dims w{c.outputs, c.channels / c.groups, c.kernel, c.kernel};
  Operator op{.name = name, .variables = {{"x", x}}, .inputs = 1};
  if (c.residual) {
    op.variables.emplace_back("r", y);
    ++op.inputs;
  }
  op.variables.emplace_back("w", w);
  op.variables.emplace_back("b", Dims{c.outputs});
  op.network = [c, pad](const std::vector<Symbol>& v) {
    const size_t weight = c.residual ? 2 : 1;
    Symbol s = call("conv2d", {v[0], v[weight], v[weight + 1]},
                    {{"channels", std::to_string(c.outputs)},
                     {"kernel_size", fmt::format("({0}, {0})", c.kernel)},
                     {"padding", fmt::format("({0}, {0})", pad)},
                     {"dilation", fmt::format("({0}, {0})", c.dilation)},
                     {"groups", std::to_string(c.groups)}});
    if (c.residual) s = call("elemwise_add", {s, v[1]});
    return call("relu", {s});
  };
  op.direct = [c, pad, w, y](Direct& d, const Arrays& a) {
    const size_t weight = c.residual ? 2 : 1;
    const Dims grouped = c.groups == 1 ? w : Dims{c.groups, w[0] / c.groups, w[1], w[2], w[3]};
    dnnl::post_ops after;
    if (c.residual) after.append_sum();
    after.append_eltwise(1, algorithm::eltwise_relu, 0, 0);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(after);
    const dnnl::convolution_forward::desc desc(
        kInference, algorithm::convolution_auto, any(dims_of(a[0])), any(grouped),
        row_major(dims_of(a[weight + 1])), any(y), Dims{1, 1}, Dims{c.dilation - 1, c.dilation - 1},
        Dims{pad, pad}, Dims{pad, pad});
    const dnnl::convolution_forward::primitive_desc p(desc, attributes, engine());
    Arguments arguments{
        {DNNL_ARG_SRC, d.in_layout(d.plain(a[0]), p.src_desc())},
        {DNNL_ARG_WEIGHTS,
         d.packed(memory(row_major(grouped), engine(), a[weight].data()), p.weights_desc())},
        {DNNL_ARG_BIAS, d.plain(a[weight + 1])}};
    const memory out = d.plain(a.back());
    if (!c.residual) {
      return d.call_into(dnnl::convolution_forward(p), arguments, p.dst_desc(), out);
    }
    // The sum is added to what stands in the place of the result.
    const memory result = out.get_desc() == p.dst_desc() ? out : memory(p.dst_desc(), engine());
    const memory residual = d.plain(a[1]);
    d.call(dnnl::reorder(residual, result), {{DNNL_ARG_FROM, residual}, {DNNL_ARG_TO, result}});
    arguments[DNNL_ARG_DST] = result;
    d.call(dnnl::convolution_forward(p), arguments);
    d.finish(result, out);
  };
  return op;
}

// "_var": of positive elements.
Operator eltwise(const char* name, algorithm how, const char* input = "x",
                 const graph::Attributes& attributes = {}, float alpha = 0, float beta = 0) {
  return {.name = name,
          .variables = {{input, {1, 64, 56, 56}}},
          .inputs = 1,
          .network = [=](const std::vector<Symbol>& v) { return call(name, {v[0]}, attributes); },
          .direct =
              [=](Direct& d, const Arrays& a) {
                const memory x = d.plain(a[0]);
                const dnnl::eltwise_forward::primitive_desc p(
                    dnnl::eltwise_forward::desc(kInference, how, x.get_desc(), alpha, beta),
                    engine());
                d.call_into(dnnl::eltwise_forward(p), {{DNNL_ARG_SRC, x}}, p.dst_desc(),
                            d.plain(a.back()));
              }};
}

Operator pooling(const std::string& name, const char* op, algorithm how, const Dims& image,
                 const Dims& window, int64_t stride, int64_t pad, graph::Attributes attributes) {
  return {.name = name,
          .variables = {{"x", image}},
          .inputs = 1,
          .network = [op, attributes](
                         const std::vector<Symbol>& v) { return call(op, {v[0]}, attributes); },
          .direct =
              [=](Direct& d, const Arrays& a) {
                const memory x = d.plain(a[0]);
                const Dims out = dims_of(a.back());
                const auto behind = [&](size_t k) {
                  return (out[k] - 1) * stride + window[k - 2] - image[k] - pad;
                };
                const dnnl::pooling_forward::desc desc(kInference, how, x.get_desc(), any(out),
                                                       Dims{stride, stride}, window, Dims{pad, pad},
                                                       Dims{behind(2), behind(3)});
                const dnnl::pooling_forward::primitive_desc p(desc, engine());
                d.call_into(dnnl::pooling_forward(p), {{DNNL_ARG_SRC, x}}, p.dst_desc(),
                            d.plain(a.back()));
              }};
}

Operator dense() {
  return {
      .name = "dense 1×1024 to 1000",
      .variables = {{"x", {1, 1024}}, {"w", {1000, 1024}}, {"b", {1000}}},
      .inputs = 1,
      .network = [](const std::vector<Symbol>& v) { return call("dense", v, {{"units", "1000"}}); },
      .direct =
          [](Direct& d, const Arrays& a) {
            const dnnl::inner_product_forward::desc desc(
                kInference, any(dims_of(a[0])), any(dims_of(a[1])), row_major(dims_of(a[2])),
                row_major(dims_of(a[3])));
            const dnnl::inner_product_forward::primitive_desc p(desc, engine());
            d.call_into(dnnl::inner_product_forward(p),
                        {{DNNL_ARG_SRC, d.in_layout(d.plain(a[0]), p.src_desc())},
                         {DNNL_ARG_WEIGHTS, d.packed(d.plain(a[1]), p.weights_desc())},
                         {DNNL_ARG_BIAS, d.plain(a[2])}},
                        p.dst_desc(), d.plain(a[3]));
          }};
}

Operator matmul() {
  return {.name = "matmul 128×768×768",
          .variables = {{"x", {128, 768}}, {"y", {768, 768}}},
          .inputs = 2,
          .network = [](const std::vector<Symbol>& v) { return call("matmul", v); },
          .direct =
              [](Direct& d, const Arrays& a) {
                const memory x = d.plain(a[0]), y = d.plain(a[1]), out = d.plain(a[2]);
                const dnnl::matmul::primitive_desc p(
                    dnnl::matmul::desc(x.get_desc(), y.get_desc(), out.get_desc()), engine());
                d.call_into(dnnl::matmul(p), {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, y}},
                            p.dst_desc(), out);
              }};
}

Operator batch_norm() {
  const Dims c{64};
  return {.name = "batch_norm 64 at 56×56",
          .variables = {{"x", {1, 64, 56, 56}}, {"g", c}, {"b", c}, {"m", c}, {"bn_var", c}},
          .inputs = 1,
          .network = [](const std::vector<Symbol>& v) { return call("batch_norm", v).output(0); },
          .direct =
              [](Direct& d, const Arrays& a) {
                using Flags = dnnl::normalization_flags;
                const memory x = d.plain(a[0]);
                const dnnl::batch_normalization_forward::desc desc(
                    kInference, x.get_desc(), 1e-5F,
                    Flags::use_global_stats | Flags::use_scale | Flags::use_shift);
                const dnnl::batch_normalization_forward::primitive_desc p(desc, engine());
                d.call_into(dnnl::batch_normalization_forward(p),
                            {{DNNL_ARG_SRC, x},
                             {DNNL_ARG_SCALE, d.plain(a[1])},
                             {DNNL_ARG_SHIFT, d.plain(a[2])},
                             {DNNL_ARG_MEAN, d.plain(a[3])},
                             {DNNL_ARG_VARIANCE, d.plain(a[4])}},
                            p.dst_desc(), d.plain(a.back()));
              }};
}

Operator softmax() {
  return {.name = "softmax 1536×128",
          .variables = {{"x", {1536, 128}}},
          .inputs = 1,
          .network = [](const std::vector<Symbol>& v) { return call("softmax", v); },
          .direct =
              [](Direct& d, const Arrays& a) {
                const memory x = d.plain(a[0]);
                const dnnl::softmax_forward::primitive_desc p(
                    dnnl::softmax_forward::desc(kInference, x.get_desc(), 1), engine());
                d.call_into(dnnl::softmax_forward(p), {{DNNL_ARG_SRC, x}}, p.dst_desc(),
                            d.plain(a.back()));
              }};
}

// Over the last dimension, spelled as networks have it.
Operator layer_norm() {
  const Dims c{768};
  return {.name = "layer_norm 128×768",
          .variables = {{"x", {128, 768}}, {"g", c}, {"b", c}},
          .inputs = 1,
          .network =
              [](const std::vector<Symbol>& v) {
                const auto mean = [](const Symbol& s) {
                  return call("mean", {s}, {{"axis", "(-1,)"}, {"keepdims", "True"}});
                };
                const Symbol centred = call("broadcast_sub", {v[0], mean(v[0])});
                const Symbol variance = mean(call("elemwise_mul", {centred, centred}));
                const Symbol deviation =
                    call("sqrt", {call("__add_scalar__", {variance}, {{"scalar", "1e-5"}})});
                const Symbol normal = call("broadcast_div", {centred, deviation});
                return call("broadcast_add", {call("broadcast_mul", {normal, v[1]}), v[2]});
              },
          .direct =
              [](Direct& d, const Arrays& a) {
                using Flags = dnnl::normalization_flags;
                const memory x = d.plain(a[0]);
                const dnnl::layer_normalization_forward::primitive_desc p(
                    dnnl::layer_normalization_forward::desc(kInference, x.get_desc(), 1e-5F,
                                                            Flags::use_scale | Flags::use_shift),
                    engine());
                d.call_into(dnnl::layer_normalization_forward(p),
                            {{DNNL_ARG_SRC, x},
                             {DNNL_ARG_SCALE, d.plain(a[1])},
                             {DNNL_ARG_SHIFT, d.plain(a[2])}},
                            p.dst_desc(), d.plain(a.back()));
              }};
}

Operator concat() {
  const Dims shape{1, 64, 56, 56};
  return {.name = "concat 64 and 64 at 56×56",
          .variables = {{"x", shape}, {"y", shape}},
          .inputs = 2,
          .network =
              [](const std::vector<Symbol>& v) { return call("concatenate", v, {{"axis", "1"}}); },
          .direct =
              [](Direct& d, const Arrays& a) {
                const memory x = d.plain(a[0]), y = d.plain(a[1]);
                const dnnl::concat::primitive_desc p(1, {x.get_desc(), y.get_desc()}, engine());
                d.call_into(dnnl::concat(p),
                            {{DNNL_ARG_MULTIPLE_SRC, x}, {DNNL_ARG_MULTIPLE_SRC + 1, y}},
                            p.dst_desc(), d.plain(a.back()));
              }};
}

Operator addition() {
  const Dims shape{1, 64, 56, 56};
  return {
      .name = "add 64 at 56×56",
      .variables = {{"x", shape}, {"y", shape}},
      .inputs = 2,
      .network = [](const std::vector<Symbol>& v) { return call("elemwise_add", v); },
      .direct =
          [](Direct& d, const Arrays& a) {
            const memory x = d.plain(a[0]), y = d.plain(a[1]);
            const dnnl::binary::primitive_desc p(
                dnnl::binary::desc(algorithm::binary_add, x.get_desc(), y.get_desc(), x.get_desc()),
                engine());
            d.call_into(dnnl::binary(p), {{DNNL_ARG_SRC_0, x}, {DNNL_ARG_SRC_1, y}}, p.dst_desc(),
                        d.plain(a[2]));
          }};
}

std::vector<Operator> operators() {
  using enum algorithm;
  return {
      convolution("3×3 convolution 64 at 56×56, relu",
                  {.channels = 64, .image = 56, .outputs = 64, .kernel = 3}),
      convolution("1×1 convolution 256 to 64 at 56×56, relu",
                  {.channels = 256, .image = 56, .outputs = 64, .kernel = 1}),
      convolution("depthwise 3×3 128 at 56×56, relu",
                  {.channels = 128, .image = 56, .outputs = 128, .kernel = 3, .groups = 128}),
      convolution("3×3 convolution 256 at 14×14, residual, relu",
                  {.channels = 256, .image = 14, .outputs = 256, .kernel = 3, .residual = true}),
      convolution("3×3 convolution 128 at 28×28, 4 groups, relu",
                  {.channels = 128, .image = 28, .outputs = 128, .kernel = 3, .groups = 4}),
      convolution("3×3 convolution 64 at 28×28, dilation 2, relu",
                  {.channels = 64, .image = 28, .outputs = 64, .kernel = 3, .dilation = 2}),
      dense(),
      matmul(),
      pooling("max_pool 3×3/2 64 at 112×112", "max_pool2d", pooling_max, {1, 64, 112, 112}, {3, 3},
              2, 1, {{"pool_size", "(3, 3)"}, {"strides", "(2, 2)"}, {"padding", "(1, 1)"}}),
      pooling("global_avg_pool 1024 at 7×7", "global_avg_pool2d", pooling_avg_exclude_padding,
              {1, 1024, 7, 7}, {7, 7}, 1, 0, {}),
      pooling("avg_pool 3×3 64 at 56×56", "avg_pool2d", pooling_avg_exclude_padding,
              {1, 64, 56, 56}, {3, 3}, 1, 1, {{"pool_size", "(3, 3)"}, {"padding", "(1, 1)"}}),
      pooling("global_max_pool 1024 at 7×7", "global_max_pool2d", pooling_max, {1, 1024, 7, 7},
              {7, 7}, 1, 0, {}),
      batch_norm(),
      layer_norm(),
      softmax(),
      concat(),
      eltwise("relu", eltwise_relu),
      eltwise("tanh", eltwise_tanh),
      eltwise("sigmoid", eltwise_logistic),
      eltwise("exp", eltwise_exp),
      eltwise("sqrt", eltwise_sqrt, "x_var"),
      eltwise("abs", eltwise_abs),
      eltwise("clip", eltwise_clip, "x", {{"a_min", "-0.5"}, {"a_max", "0.5"}}, -0.5F, 0.5F),
      addition()};
}

// A region of one operator as the executor has it.
struct Built {
  Function function;
  std::vector<CallArgument> arguments;
};

Built build_region(const Operator& op, const Arrays& arrays, int threads) {
  std::vector<Symbol> variables;
  std::vector<std::string> parameters;
  graph::Parameters values;
  for (size_t k = 0; k < op.variables.size(); ++k) {
    const auto& [name, dims] = op.variables[k];
    variables.push_back(Symbol::variable(name, {{"shape", text_of(dims)}, {"dtype", "float32"}}));
    if (k < op.inputs) continue;
    parameters.push_back(name);
    values[name] = arrays[k];
  }
  graph::Graph network{.outputs = op.network(variables).outputs()};
  network.attributes["param_name_list"] = parameters;
  network.attributes["compiler"] = std::string("onednn");
  for (const char* pass : {"InferShape", "InferType", "MergeComposite", "AnnotateTarget",
                           "MergeCompilerRegions", "PartitionGraph", "InferShape", "InferType"})
    network = graph::apply(std::move(network), pass);
  const graph::BuiltRegions built = graph::build_regions(network, values, threads);
  if (!built.refused.empty()) raise({.code = ErrorCode::Internal, .what = built.refused.front()});
  Built result;
  for (const graph::NodeRef& node : graph::nodes_of(built.graph.outputs)) {
    if (node->is_variable()) continue;
    if (!node->function) raise({.code = ErrorCode::Internal, .what = op.name + " is no region"});
    const std::string& name = graph::text_of(*node, "ExternalSymbol");
    result.function = node->function->module->get_function(name).unchecked();
    for (size_t k = 0; k < node->inputs.size(); ++k) {
      if (node->function->is_constant[k]) continue;
      for (size_t v = 0; v < op.variables.size(); ++v) {
        if (op.variables[v].first == node->inputs[k].node->name)
          result.arguments.emplace_back(arrays[v]);
      }
    }
  }
  result.arguments.emplace_back(arrays.back());
  return result;
}

NDArray random_array(const Dims& dims, bool positive, std::mt19937& rng) {
  NDArray array = NDArray::zeros(dims, float_type(32));
  std::uniform_real_distribution<float> draw(positive ? 0.5F : -1.0F, 1.0F);
  auto* elements = static_cast<float*>(array.data());
  for (int64_t k = 0; k < array.byte_size() / 4; ++k) elements[k] = draw(rng);
  return array;
}

Dims output_shape(const Operator& op) {
  std::vector<Symbol> variables;
  for (const auto& [name, dims] : op.variables)
    variables.push_back(Symbol::variable(name, {{"shape", text_of(dims)}, {"dtype", "float32"}}));
  const graph::Graph g = graph::apply({.outputs = op.network(variables).outputs()}, "InferShape");
  const graph::GraphIndex index(g);
  return *g.find<std::vector<graph::Shape>>("shape")->at(index.entry_id(g.outputs[0])).extents;
}

// In parts of the largest element.
double difference(const std::vector<float>& a, const NDArray& b) {
  const auto* elements = static_cast<const float*>(b.data());
  double apart = 0, largest = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    apart = std::max(apart, std::abs(static_cast<double>(a[k]) - elements[k]));
    largest = std::max(largest, std::abs(static_cast<double>(a[k])));
  }
  return apart / largest;
}

// Calls on a stack that begins elsewhere each time, at all multiples of 16 bytes within a page in
// turn. oneDNN's code keeps vector registers of 64 bytes on the stack, which are slow to read where
// they cross a line, and a read waits for a store that lies a multiple of a page from it; so how
// deep a caller stands would decide who is faster, by up to 40 %.
template <class Call>
std::function<void()> on_each_stack(Call call) {
  return [call = std::move(call), turn = 0U]() mutable {
    constexpr unsigned kPlaces = 4096 / 16;
    turn = (turn + 101) % kPlaces;  // a few calls in a row are already spread over the page
    auto* const below = static_cast<volatile char*>(__builtin_alloca(16 * (turn + 1)));
    below[0] = 0;
    call();
    below[0] = 1;  // else the call is the lambda's last act, and takes the place of its frame
  };
}

}  // namespace

void measure_vendor_operators(const Options& options, Results& results) {
  const bool quick = options.flag("quick");
  const Repetition repetition{.count = options.count("repetitions", quick ? 31 : 101),
                              .seconds = quick ? 0.01 : 0.02};
  nlohmann::json wrong = nlohmann::json::array();
  std::mt19937 rng(1);
  for (const Operator& op : operators()) {
    Arrays arrays;
    for (const auto& [name, dims] : op.variables)
      arrays.push_back(random_array(dims, name.ends_with("_var"), rng));
    arrays.push_back(random_array(output_shape(op), false, rng));
    for (const int threads : options.thread_counts()) {
      ThreadPool::global().set_num_threads(threads);
      set_openmp_threads(threads);
      const Built region = build_region(op, arrays, threads);
      Direct direct;
      op.direct(direct, arrays);
      direct.run();
      const auto* first = static_cast<const float*>(arrays.back().data());
      const std::vector<float> expected(first, first + arrays.back().byte_size() / 4);
      region.function.call(region.arguments);
      const double apart = difference(expected, arrays.back());
      if (!(apart <= kTolerance)) {
        wrong.push_back({{"name", op.name}, {"difference", apart}});
        continue;
      }
      const auto subject = [&](const char* contestant, std::function<void()> run) {
        return Subject{
            .name = fmt::format("{}/{}/{}", op.name, contestant, threads),
            .run = std::move(run),
            .prepare =
                [threads] {
                  ThreadPool::global().set_num_threads(threads);
                  set_openmp_threads(threads);
                },
            .threads = threads,
            .labels = {{"operator", op.name}, {"contestant", contestant}, {"threads", threads}}};
      };
      ThreadPool::global().park();
      time_interleaved(
          {subject("region", on_each_stack([&] { region.function.call(region.arguments); })),
           subject("direct", on_each_stack([&] { direct.run(); }))},
          repetition, results);
    }
  }
  const dnnl_version_t* v = dnnl::version();
  results.fact("onednn", fmt::format("{}.{}.{}", v->major, v->minor, v->patch));
  results.fact("wrong", wrong);
}

}  // namespace tw::bench
#else
#include "runtime/error.h"

namespace tw::bench {
void measure_vendor_operators(const Options&, Results&) {
  raise({.code = ErrorCode::BadArgument,
         .what = "this build is without oneDNN",
         .legal = "libdnnl-dev installed when it is configured"});
}
}  // namespace tw::bench
#endif
