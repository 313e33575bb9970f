// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ir/parse.h"
#include "lower/llvm/compile.h"
#include "runtime/error.h"
#include "runtime/module.h"
#include "tests/support/scheduled.h"
#include "tests/support/test_intrins.h"

namespace tw {
namespace {

using testing::HasSubstr;

constexpr char kProgram[] =
    "A = placeholder(int32, [4, 6])\nB = compute([y: 4, x: 6], (A(y, x) + 1))\n"
    "arguments A B\noutputs B\n";
const std::string kTrace = "split@1(s1, s1:1, factor=3)\ntensorize@1(s1, t0.1, \"{}\")";

Kernel lowered(const std::string& intrin, const LowerOptions& options) {
  const Schedule s = test::scheduled(kProgram, fmt::format(fmt::runtime(kTrace), intrin));
  const te::Tensor b = s.outputs()[0];
  return lower(s, {b.op()->input_tensors()[0], b}, Target::host(), options);
}

TEST(TensorizePass, StatementsStandBesideTheLoops) {
  test::declare_increment("lower_increment", 3);
  const Kernel kernel = lowered("lower_increment", {.stop_after = "tensorize"});
  EXPECT_EQ(to_string(kernel.body), R"(produce B {
  for (y, 0, 4) {
    for (x.outer, 0, 2) {
      if (tensorized("lower_increment")) {
        for (i, 0, 3) {
          B[(((y*6) + (x.outer*3)) + ((2 - i)*1))] = (A[(((y*6) + (x.outer*3)) + ((2 - i)*1))] + 1)
        }
      } else {
        for (x.inner, 0, 3) {
          B[(((y*6) + (x.outer*3)) + x.inner)] = (A[(((y*6) + (x.outer*3)) + x.inner)] + 1)
        }
      }
    }
  }
}
)");
  EXPECT_EQ(
      to_string(parse_stmt(to_string(kernel.body, {.declarations = true})), {.declarations = true}),
      to_string(kernel.body, {.declarations = true}));
}

// The intrinsic, and not the loops, is what runs: here it computes something else.
TEST(TensorizePass, CodeIsOfTheStatements) {
  const TensorIntrin honest = test::declare_increment("lower_honest", 3);
  TensorIntrinParts parts = *honest;
  parts.name = "lower_dishonest";
  parts.body = test::store(parts.buffers[1], {0}, 70);
  register_tensor_intrin(make_tensor_intrin(parts));
  const Kernel kernel = lowered("lower_dishonest", {.name = "f"});
  NDArray a = NDArray::empty({4, 6}, int_type(32)), b = NDArray::empty({4, 6}, int_type(32));
  std::memset(b.data(), 0, 96);
  compile({kernel}, Target::host())->get_function("f").call({a, b});
  const auto* values = static_cast<const int32_t*>(b.data());
  EXPECT_EQ(values[3], 70);
  EXPECT_EQ(values[4], 0);
}

// Loops of an intrinsic are not unrolled by a pragma that stands outside.
TEST(TensorizePass, AutomaticUnrollStopsAtAnIntrinsic) {
  test::declare_increment("lower_unroll", 3);
  const Schedule s = test::scheduled(
      kProgram, fmt::format(fmt::runtime(kTrace), "lower_unroll") +
                    "\npragma@1(s1, s1:0, \"auto_unroll_max_step\", pragma_value=64)");
  const te::Tensor b = s.outputs()[0];
  const std::string text =
      to_string(lower(s, {b.op()->input_tensors()[0], b}, Target{}, {.simple_mode = true}).body);
  EXPECT_THAT(text, HasSubstr("for (i, 0, 3)"));
  EXPECT_THAT(text, HasSubstr("B[(2 - i)]"));
}

// LLVM's intrinsics by name: types that they leave open come from the arguments.
TEST(TensorizePass, IntrinsicsOfLlvm) {
  const auto compiled = [](const std::string& statement) {
    Kernel kernel{.name = "f", .arguments = {}, .body = {}};
    const Var a = buffer_var("A", float_type(32));
    kernel.arguments.push_back(
        {.name = "A", .dtype = float_type(32), .shape = {16}, .var = a, .is_output = true});
    const Expr x = make(Load{.type = float_type(32, 4),
                             .buffer = a,
                             .index = make(Ramp{.base = 0, .stride = 1, .lanes = 4})});
    const Expr called = call(float_type(32, 4), statement, {x, x}, CallKind::PureExtern);
    kernel.body = make(Store{
        .buffer = a, .value = called, .index = make(Ramp{.base = 0, .stride = 1, .lanes = 4})});
    return compile({kernel}, Target::parse("llvm -mcpu=x86-64-v3"), {.keep_sources = true})
        ->source("ll");
  };
  EXPECT_THAT(compiled("llvm.maximum"), HasSubstr("@llvm.maximum.v4f32"));
  const auto code = [&](const char* name) {
    try {
      compiled(name);
    } catch (const Error& e) {
      return std::string(to_string(e.code()));
    }
    return std::string();
  };
  EXPECT_EQ(code("llvm.no.such"), "unknown-intrinsic");
  EXPECT_EQ(code("llvm.sqrt"), "type-mismatch");
}

}  // namespace
}  // namespace tw
