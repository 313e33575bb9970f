// SPDX-License-Identifier: Apache-2.0
// Products by the built-in intrinsics: after every pass by the interpreter, which runs the loops,
// and where the machine has them as machine code, which has no loops but the instructions'.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/assembly.h"
#include "tests/support/expect_error.h"
#include "tests/support/jit_check.h"
#include "tests/support/tile_schedule.h"

namespace tw {
namespace {

using test::TileOptions;
using test::TileTypes;

const TileTypes kKinds[] = {
    {"uint8", "int8", "int32", "u8s8", 4},          {"int8", "int8", "int32", "s8s8", 4},
    {"int8", "uint8", "int32", "s8u8", 4},          {"uint8", "uint8", "int32", "u8u8", 4},
    {"bfloat16", "bfloat16", "float32", "bf16", 2},
};
const Target kTarget = Target::parse("llvm -mcpu=sapphirerapids");

bool can_run() {
  if (!kTarget.features_missing_on_host().empty()) return false;
  try {
    const te::Program p = test::tile_program(kKinds[0], 32, 32, 64);
    const Schedule s = test::tile_schedule(p, kKinds[0]);
    std::vector<LowerArgument> arguments;
    for (const te::Tensor& t : p.arguments) arguments.emplace_back(t);
    compile({lower(s, arguments, kTarget)}, kTarget);
  } catch (const UserError&) {
    return false;  // the system may refuse them to the process
  }
  return true;
}

// The checks of a case: the interpreter, and machine code where it runs.
void check(const te::Program& program, const Schedule& s, const Target& target, bool runs) {
  const test::ScheduleCase c{.program = program, .scalars = {}, .trace = s.trace(), .data_seed = 7};
  std::vector<test::ScheduleCheck> checks = {
      {"every pass", [](const test::ScheduleCase& k, const test::CaseData& d) {
         return test::check_every_pass(k, d, {.name = "f", .verify = true});
       }}};
  if (runs) {
    checks.push_back(
        {"machine code", [target](const test::ScheduleCase& k, const test::CaseData& d) {
           return test::check_machine_code(k, d, {.name = "f"}, target, true);
         }});
  }
  const auto failure = test::failure_of(c, checks);
  EXPECT_FALSE(failure.has_value()) << *failure;
}

TEST(TileRegisters, ProductsOfEachType) {
  const bool runs = can_run();
  for (const TileTypes& kind : kKinds) {
    SCOPED_TRACE(kind.product);
    const te::Program program = test::tile_program(kind, 16, 16, int64_t{16} * kind.group);
    check(program, test::tile_schedule(program, kind, {.rows = 1, .columns = 1}), kTarget, runs);
  }
  const te::Program several = test::tile_program(kKinds[4], 32, 32, 64);
  check(several, test::tile_schedule(several, kKinds[4]), kTarget, runs);
  const te::Program program = test::tile_program(kKinds[0], 16, 64, 64);
  check(program, test::tile_schedule(program, kKinds[0], {.rows = 1, .stream = true}), kTarget,
        runs);
}

std::string assembly(const te::Program& program, const Schedule& s) {
  std::vector<LowerArgument> arguments;
  for (const te::Tensor& t : program.arguments) arguments.emplace_back(t);
  return test::assembly_for(kTarget, lower(s, arguments, kTarget));
}

// Sums stay in registers: four tiles are loaded for four products, and the sums are stored once.
TEST(TileRegisters, SumsStayInThem) {
  const te::Program program = test::tile_program(kKinds[0], 64, 64, 256);
  const std::string code = assembly(program, test::tile_schedule(program, kKinds[0]));
  EXPECT_EQ(test::count(code, "tdpbusd"), 4);
  EXPECT_EQ(test::count(code, "tileloadd"), 4);
  EXPECT_EQ(test::count(code, "tilestored"), 4);
  EXPECT_EQ(test::count(code, "tilezero"), 4);
  EXPECT_EQ(test::count(code, "ldtilecfg"), 1);
  EXPECT_EQ(test::count(code, "tilerelease"), 1);
}

ErrorInfo refused(const TileOptions& options) {
  return test::expect_error(ErrorCode::CannotTensorize, [&] {
    const te::Program program = test::tile_program(kKinds[0], 96, 96, 128);
    assembly(program, test::tile_schedule(program, kKinds[0], options));
  });
}

TEST(TileRegisters, AreEight) {
  EXPECT_EQ(refused({.rows = 3}).what,
            "9 tile registers are wanted at once, 3 of them for 'A.amx.tile'");
}
TEST(TileRegisters, AreKnownWhenCodeIsGenerated) {
  EXPECT_EQ(refused({.unroll = false}).legal, "unroll the loops over tiles");
}
TEST(TileRegisters, AreReachedByIntrinsicsOnly) {
  const ErrorInfo e = refused({.tensorize_copy = false});
  EXPECT_EQ(e.what, "what is in tile registers is reached by tensor intrinsics only");
  EXPECT_EQ(e.stage, "C.amx.tile");
}
TEST(TileRegisters, BelongToTargetsThatHaveThem) {
  const te::Program program = test::tile_program(kKinds[0], 32, 32, 64);
  const Schedule s = test::tile_schedule(program, kKinds[0]);
  std::vector<LowerArgument> arguments;
  for (const te::Tensor& t : program.arguments) arguments.emplace_back(t);
  const Target other = Target::parse("llvm -mcpu=icelake-server");
  const ErrorInfo e = test::expect_error(ErrorCode::TargetFeature, [&] {
    compile({lower(s, arguments, other)}, other, {.cross = true});
  });
  EXPECT_THAT(e.what, testing::HasSubstr("amx"));
}

// ---------------------------------------------------------------------------------------------
// Dot products in vector registers

TEST(VectorRegisters, DotProductsOfEachType) {
  struct Case {
    TileTypes types;
    const char *intrin, *instruction;
  };
  const Case cases[] = {{kKinds[0], "vnni.dot_u8s8", "vpdpbusd"},
                        {kKinds[1], "vnni.dot_s8s8", "vpdpbusd"},
                        {kKinds[4], "avx512.dot_bf16", "vdpbf16ps"}};
  const Target target = Target::parse("llvm -mcpu=cooperlake");
  for (const Case& c : cases) {
    SCOPED_TRACE(c.intrin);
    const te::Program program = test::tile_program(c.types, 3, 32, 24);
    const te::Tensor b = program.arguments[1], sums = program.outputs[0];
    const Schedule s = Schedule::create({sums});
    const Stage panel = s[s.cache_read(b, "global", {sums.op()})], out = s[sums];
    panel.transform_layout(panel.axis(0), c.types.group, {0, 2, 1});
    const auto [jo, ji] = out.split(out.axis(1), 16);
    const auto [ko, ki] = out.split(out.reduce_axis(0), c.types.group);
    out.reorder({jo, ko, out.axis(0), ji, ki});
    out.unroll(out.axis(0));
    out.tensorize(ji, c.intrin);
    check(program, s, target, target.features_missing_on_host().empty());
    std::vector<LowerArgument> arguments;
    for (const te::Tensor& t : program.arguments) arguments.emplace_back(t);
    EXPECT_THAT(test::assembly_for(target, lower(s, arguments, target)),
                testing::HasSubstr(c.instruction));
  }
}

TEST(VectorRegisters, RowsAreInterleaved) {
  struct Case {
    const char *intrin, *type;
    int64_t group;
  };
  const Target target = Target::parse("llvm -mcpu=skylake-avx512");
  const bool runs = target.features_missing_on_host().empty();
  for (const auto& [intrin, type, group] :
       {Case{"avx512.interleave_u8", "uint8", 4}, Case{"avx512.interleave_s8", "int8", 4},
        Case{"avx512.interleave_bf16", "bfloat16", 2}}) {
    SCOPED_TRACE(intrin);
    const te::Program program =
        te::parse_program(fmt::format("te 1\nB = placeholder({0}, [12, 48])\n"
                                      "C = compute([i: 12, j: 48], max(B(i, j), {0}(0)))\n"
                                      "arguments B C\noutputs C\n",
                                      type));
    const Schedule s = Schedule::create(program.outputs);
    const Stage panel = s[s.cache_read(program.arguments[0], "global", {program.outputs[0].op()})];
    panel.transform_layout(panel.axis(0), group, {0, 2, 1});
    panel.tensorize(panel.split(panel.axis(1), 16).inner, intrin);
    check(program, s, target, runs);
  }
}

}  // namespace
}  // namespace tw
