// SPDX-License-Identifier: Apache-2.0
// What lowering prints.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/parse.h"
#include "ir/print.h"
#include "lower/passes.h"
#include "lower/pipeline.h"
#include "schedule/topi/broadcast.h"
#include "schedule/topi/nn/conv.h"
#include "schedule/topi/transform.h"
#include "tests/support/golden.h"

namespace tw {
namespace {

// The second convolution of the network in the seed, fused with the addition of its bias and of its
// own input, under the schedule that the seed's output shows.
Kernel seed_convolution(const LowerOptions& options) {
  const te::Tensor data = te::placeholder({7, 3, 7, 9}, float_type(32), "input0");
  const te::Tensor weight = te::placeholder({3, 3, 5, 5}, float_type(32), "input1");
  const te::Tensor bias = te::placeholder({3}, float_type(32), "input2");
  const te::Tensor conv = topi::nn::conv2d_nchw(data, weight, {1}, {2});
  const te::Tensor biased = topi::add(conv, topi::expand_dims(bias, 1, 2));
  const te::Tensor sum = topi::add(data, biased);

  const Schedule s = Schedule::create({sum});
  for (const Stage& stage : s.stages()) {
    if (stage.op().name() == "pad_temp") {
      stage.parallel(stage.fuse({stage.axis(0), stage.axis(1)}));
    } else if (stage.op().name() == "T_expand_dims" || stage.op().get() == biased.op().get()) {
      stage.compute_inline();
    }
  }
  const Stage c = s[conv];
  const IterVar fused = c.fuse({c.axis(0), c.axis(1)});
  const auto [outer, inner] = c.split(c.axis(3), 16);
  c.reorder({fused, c.reduce_axis(0), c.axis(2), outer, c.reduce_axis(1), c.reduce_axis(2), inner});
  c.parallel(fused);
  c.vectorize(inner);
  c.unroll(c.reduce_axis(1));
  c.unroll(c.reduce_axis(2));
  const Stage out = s[sum];
  out.parallel(out.fuse({out.axis(0), out.axis(1)}));
  return lower(s, {data, weight, bias, sum}, Target{}, options);
}

TEST(Golden, SeedConvolution) {
  LowerOptions options{.name = "fuse_conv2d_broadcast_add", .simple_mode = true, .verify = true};
  options.schedule.clamp_split_factor = false;
  options.passes.predicate_tail = false;
  const std::string text = to_string(seed_convolution(options).body);
  // The document cuts the output at a fixed number of characters.
  const std::string seed = read_golden("seed_conv2d_broadcast_add.txt");
  ASSERT_FALSE(seed.empty());
  EXPECT_EQ(text.substr(0, seed.size()), seed);
  expect_golden("conv2d_broadcast_add.txt", text);
}

// Text after every pass, in one file.
std::string text_after_each_pass(const std::function<Kernel(const PassObserver&)>& lowered) {
  std::string text;
  lowered([&](std::string_view pass, const KernelModule& module) {
    text += "// after " + std::string(pass) + "\n" + to_string(module.entry().body) + "\n";
  });
  return text;
}

TEST(Golden, TiledMatmul) {
  const te::Tensor a = te::placeholder({20, 24}, float_type(32), "A");
  const te::Tensor b = te::placeholder({24, 40}, float_type(32), "B");
  const IterVar k = te::reduce_axis({0, 24}, "k");
  const te::Tensor c = te::compute(
      {20, 40},
      [&](const std::vector<Var>& i) { return te::sum(a(i[0], k.var()) * b(k.var(), i[1]), {k}); },
      "C", "", {}, {"y", "x"});
  const Schedule s = Schedule::create({c});
  const te::Tensor local = s.cache_write(c, "local");
  const Stage out = s[c], acc = s[local];
  const auto [yo, xo, yi, xi] = out.tile(out.axis(0), out.axis(1), 4, 16);
  out.parallel(yo);
  out.vectorize(xi);
  acc.compute_at(out, xo);
  const auto [ko, ki] = acc.split(acc.reduce_axis(0), 2);
  acc.reorder({ko, ki, acc.axis(0), acc.axis(1)});
  acc.unroll(ki);
  acc.unroll(acc.axis(0));
  acc.vectorize(acc.axis(1));
  for (const bool masks : {false, true}) {
    LowerOptions options{.name = "matmul", .verify = true};
    options.passes.predicate_tail = options.passes.partition_const_loop = masks;
    expect_golden(masks ? "matmul_passes_masked.txt" : "matmul_passes.txt",
                  text_after_each_pass([&](const PassObserver& observer) {
                    return lower(s, {a, b, c}, Target{}, options, nullptr, observer);
                  }));
  }
}

// What functions become where there are multiply-adds, a scalar and a vector.
TEST(Golden, Mathematics) {
  const Target target = Target::parse("llvm -mcpu=x86-64-v3");
  std::string text;
  for (const char* name : {"exp", "log", "sigmoid", "tanh", "erf"}) {
    const Kernel kernel{.body = parse_stmt(fmt::format("declare A: float32*\nA[0] = {0}(A[0])\n"
                                                       "A[ramp(0, 1, 8)] = {0}(A[ramp(0, 1, 8)])\n",
                                                       name))};
    text += fmt::format("// {}\n{}\n", name,
                        to_string(pass::expand_math(kernel, {PassOptions{}, target}).body));
  }
  expect_golden("math_functions.txt", text);
}

// Two stages of blocks and threads, with memory that a block shares: what becomes of each.
TEST(Golden, BlocksAndThreads) {
  const te::Tensor a = te::placeholder({Expr(Var("n")), 8}, float_type(32), "A");
  const Expr n = a.shape()[0];
  const te::Tensor b = te::compute(
      {n, 8}, [&](const std::vector<Var>& i) { return a(i[0], 7 - i[1]) + a(i[0], i[1]); }, "B", "",
      {}, {"y", "x"});
  const te::Tensor c =
      te::compute({n, 8}, [&](const std::vector<Var>& i) { return b(i[0], i[1]) + a(i[0], i[1]); },
                  "C", "", {}, {"y", "x"});
  const Schedule s = Schedule::create({c});
  const Stage out = s[c], root = s[b];
  const te::Tensor shared = s.cache_read(a, "shared", {c.op()});
  out.bind(out.axis(0), "blockIdx.x");
  out.bind(out.axis(1), "threadIdx.x");
  s[shared].compute_at(out, out.axis(0));
  s[shared].bind(s[shared].axis(1), "threadIdx.x");
  root.bind(root.axis(0), "blockIdx.x");
  std::string text;
  const auto observe = [&](std::string_view pass, const KernelModule& module) {
    if (pass != "inject_virtual_thread" && pass != "split_host_device" && pass != "lower_threads")
      return;
    text += "// after " + std::string(pass) + "\n";
    for (const Kernel& kernel : module.kernels) {
      text += "// " + kernel.name + "(";
      for (const KernelArgument& argument : kernel.arguments)
        text += (&argument == kernel.arguments.data() ? "" : ", ") + argument.name;
      text += ")\n" + to_string(kernel.body) + "\n";
    }
  };
  lower_module(s, {a, c}, {}, Target{}, {.name = "f", .verify = true}, nullptr, observe);
  expect_golden("threads_passes.txt", text);
}

}  // namespace
}  // namespace tw
