// SPDX-License-Identifier: Apache-2.0
// Products of matrices whose inner loops are an intrinsic's, after every pass and as machine code,
// which takes the intrinsic's statements where the interpreter takes the loops.
#include <gtest/gtest.h>

#include "tests/support/fuzz.h"
#include "tests/support/jit_check.h"
#include "tests/support/random_schedule.h"
#include "tests/support/test_intrins.h"

namespace tw {
namespace {

using test::Random;
using test::ScheduleCase;

ScheduleCase random_case(uint64_t seed) {
  Random random(seed);
  const int64_t m = random.between(1, 5), n = random.between(1, 5), k = random.between(1, 5);
  const int64_t rows = random.between(1, 4), columns = random.between(1, 4),
                steps = random.between(1, 4);
  const bool parts = steps > 1 || random.chance(50), epilogue = random.chance(50);
  const std::string name = fmt::format("fuzz_{}_{}_{}_{}", m, n, k, parts);
  if (!find_tensor_intrin(name).defined()) test::declare_product(name, m, n, k, parts);
  std::string text = fmt::format(
      "te 1\nA = placeholder(int32, [{0}, {2}])\nB = placeholder(int32, [{2}, {1}])\n"
      "C = compute([y: {0}, x: {1}], reduce [r: {2}], sum((A(y, r)*B(r, x))))\n",
      m * rows, n * columns, k * steps);
  text += epilogue ? fmt::format(
                         "D = compute([y: {0}, x: {1}], (C(y, x)*3))\n"
                         "arguments A B D\noutputs D\n",
                         m * rows, n * columns)
                   : "arguments A B C\noutputs C\n";
  ScheduleCase c{.program = te::parse_program(text), .scalars = {}, .trace = {}, .data_seed = seed};

  const Schedule s = Schedule::create(c.program.outputs);
  const te::Tensor out = c.program.outputs[0];
  te::Tensor sums = out;
  if (epilogue) {
    sums = out.op()->input_tensors()[0];
  } else if (random.chance(50)) {
    sums = s.cache_write(out, random.chance(50) ? "local" : "global");
  }
  // Operands may be copies: packed, or with gaps between their rows.
  for (const int64_t input : {0, 1}) {
    if (!random.chance(40)) continue;
    const te::Tensor argument = c.program.arguments[static_cast<size_t>(input)];
    const Stage copy = s[s.cache_read(argument, "global", {s[sums].op()})];
    if (random.chance(50)) {
      const bool first = random.chance(50);
      const int64_t tile = input == 0 ? (first ? m : k) : (first ? k : n);
      copy.transform_layout(copy.axis(first ? 0 : 1), tile,
                            first ? std::vector<int64_t>{0, 1, 2} : std::vector<int64_t>{1, 0, 2});
    } else {
      copy.storage_align(copy.axis(0), 8, random.between(0, 7));
    }
  }
  const Stage stage = s[sums];
  if (!(sums == out)) {
    const Stage last = s[out];
    const auto [io, ii] = last.split(last.axis(0), m * random.between(1, rows));
    if (random.chance(30)) last.parallel(io);
    if (m * rows % 2 == 0 && random.chance(80)) stage.compute_at(last, io);
  }
  const auto [io, ii] = stage.split(stage.axis(0), m);
  const auto [jo, ji] = stage.split(stage.axis(1), n);
  const auto [ko, ki] = stage.split(stage.reduce_axis(0), k);
  std::vector<IterVar> outer =
      parts ? std::vector<IterVar>{ko, io, jo} : std::vector<IterVar>{io, jo, ko};
  if (random.chance(50)) std::swap(outer[0], outer[1]);
  std::vector<IterVar> inner = {ii, ji, ki};
  std::swap(inner[0], inner[static_cast<size_t>(random.between(0, 2))]);
  std::vector<IterVar> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  stage.reorder(order);
  if (random.chance(30)) stage.unroll(io);
  if (random.chance(30)) stage.unroll(jo);
  // Without parts the loop of the reduction outside has one iteration and belongs to the intrinsic.
  stage.tensorize(parts ? inner[0] : outer[2], name);
  c.trace = s.trace();
  return c;
}

// The last blocks of rows and columns overhang: what they read beyond the operands is their
// padding. Where those of the reduction do, padding is added, which is zero.
ScheduleCase overhanging_case(uint64_t seed) {
  Random random(seed);
  const int64_t m = random.between(2, 5), n = random.between(2, 5), k = random.between(1, 4);
  const int64_t height = m * random.between(0, 3) + random.between(1, m),
                width = n * random.between(0, 3) + random.between(1, n),
                depth = k * random.between(0, 2) + random.between(1, k);
  const std::string name = fmt::format("fuzz_{}_{}_{}_{}", m, n, k, true);
  if (!find_tensor_intrin(name).defined()) test::declare_product(name, m, n, k, true);
  const std::string text = fmt::format(
      "te 1\nA = placeholder(int32, [{0}, {2}])\nB = placeholder(int32, [{2}, {1}])\n"
      "C = compute([y: {0}, x: {1}], reduce [r: {2}], sum((A(y, r)*B(r, x))))\n"
      "arguments A B C\noutputs C\n",
      height, width, depth);
  ScheduleCase c{.program = te::parse_program(text), .scalars = {}, .trace = {}, .data_seed = seed};
  const Schedule s = Schedule::create(c.program.outputs);
  const te::Tensor out = c.program.outputs[0];
  const te::Tensor sums = s.cache_write(out, "local");
  const Stage a = s[s.cache_read(c.program.arguments[0], "global", {s[sums].op()})];
  const Stage b = s[s.cache_read(c.program.arguments[1], "global", {s[sums].op()})];
  a.transform_layout(a.axis(1), k * random.between(1, 2));
  a.transform_layout(a.axis(0), m * random.between(1, 2));
  b.transform_layout(b.axis(0), k);
  b.transform_layout(b.axis(2), n, {2, 0, 1, 3});
  const Stage last = s[out], stage = s[sums];
  const auto [io, ii] = last.split(last.axis(0), m);
  const auto [jo, ji] = last.split(last.axis(1), n);
  last.reorder({io, jo, ii, ji});
  if (random.chance(50)) last.vectorize(ji);
  stage.compute_at(last, jo);
  const auto [ko, ki] = stage.split(stage.reduce_axis(0), k);
  const auto [y, yi] = stage.split(stage.axis(0), m);
  const auto [x, xi] = stage.split(stage.axis(1), n);
  stage.reorder({ko, y, x, yi, xi, ki});
  stage.tensorize(yi, name);
  c.trace = s.trace();
  return c;
}

std::vector<test::ScheduleCheck> all_checks() {
  std::vector<test::ScheduleCheck> checks = test::lower_checks();
  for (test::ScheduleCheck& check : test::jit_checks(Target::host()))
    checks.push_back(std::move(check));
  return checks;
}

TEST(TensorizeFuzz, EveryBlockComputesTheDefinition) {
  const std::vector<test::ScheduleCheck> checks = all_checks();
  test::FuzzCases cases(60, 0.85);
  while (cases.next()) {
    const uint64_t seed = cases.seed();
    const ScheduleCase c = random_case(seed);
    const auto failure = test::failure_of(c, checks, cases);
    ASSERT_FALSE(failure.has_value()) << "case seed " << seed << "\n"
                                      << c.reproducer() << "\n"
                                      << *failure;
    try {
      lower(c.schedule(), test::lower_arguments(c), Target{});
    } catch (const UserError& error) {
      // Where a tile of the consumer overhangs, a block may be cut.
      EXPECT_EQ(error.code(), ErrorCode::CannotTensorize) << error.what();
      cases.refuse();
    }
  }
}

// Operations that are calls of an intrinsic, between others, under random schedules.
ScheduleCase case_of_calls(uint64_t seed) {
  Random random(seed);
  const int64_t m = random.between(1, 4), n = random.between(1, 4), k = random.between(1, 4);
  const int64_t rows = random.between(1, 4), columns = random.between(1, 4),
                steps = random.between(1, 3);
  const bool product = random.chance(60), before = random.chance(60), after = random.chance(60);
  const std::string name =
      product ? fmt::format("fuzz_{}_{}_{}_{}", m, n, k, true) : std::string("fuzz_scale");
  if (!find_tensor_intrin(name).defined()) {
    if (product) {
      test::declare_product(name, m, n, k, true);
    } else {
      test::declare_scale(name);
    }
  }
  const int64_t height = rows * m, depth = steps * k;
  std::string text = fmt::format("te 1\nA = placeholder(int32, [{}, {}])\n", height,
                                 product ? depth : columns * n);
  text += product ? fmt::format("B = placeholder(int32, [{}, {}])\n", depth, columns * n) : "";
  const std::string input = before ? "P" : "A";
  if (before) {
    text += fmt::format("P = compute([y: {}, x: {}], (A(y, x) + (y*x)))\n", height,
                        product ? depth : columns * n);
  }
  if (product) {
    text += fmt::format(
        "C = tensor_compute(\"{0}\", 2, 1, [i: {1}, j: {2}, y: {3}, x: {4}], reduce [o: {5}, r: "
        "{6}], "
        "sum(({7}(((i*{3}) + y), ((o*{6}) + r))*B(((o*{6}) + r), ((j*{4}) + x)))))\n",
        name, rows, columns, m, n, steps, k, input);
  } else {
    text += fmt::format(
        "C = tensor_compute(\"{0}\", 1, 0, [i: {1}, j: {2}, x: {3}], ((({4}(i, ((j*{3}) + x))*(i + "
        "2))) + (j*3)))\n",
        name, height, columns, n, input);
  }
  if (after) {
    text += product ? fmt::format(
                          "D = compute([y: {}, x: {}], (C(floordiv(y, {}), floordiv(x, {}), "
                          "floormod(y, {}), floormod(x, {}))*3))\n",
                          height, columns * n, m, n, m, n)
                    : fmt::format(
                          "D = compute([y: {}, x: {}], (C(y, floordiv(x, {}), floormod(x, "
                          "{}))*3))\n",
                          height, columns * n, n, n);
  }
  const std::string out = after ? "D" : "C";
  text += fmt::format("arguments A {}{}\noutputs {}\n", product ? "B " : "", out, out);
  ScheduleCase c{.program = te::parse_program(text), .scalars = {}, .trace = {}, .data_seed = seed};
  c.trace = test::RandomSchedule(random, c.program).make(random.between(0, 10));
  return c;
}

TEST(TensorizeFuzz, CallsComputeTheirBlocksUnderAnySchedule) {
  const std::vector<test::ScheduleCheck> checks = all_checks();
  test::FuzzCases cases(120, 0.6);
  while (cases.next()) {
    const ScheduleCase c = case_of_calls(cases.seed());
    const auto failure = test::failure_of(c, checks, cases);
    ASSERT_FALSE(failure.has_value()) << "case seed " << cases.seed() << "\n"
                                      << c.reproducer() << "\n"
                                      << *failure;
    try {
      lower(c.schedule(), test::lower_arguments(c), Target{});
    } catch (const UserError&) {
      cases.refuse();
    }
  }
}

TEST(TensorizeFuzz, BlocksMayOverhangPaddedOperands) {
  const std::vector<test::ScheduleCheck> checks = all_checks();
  test::FuzzCases cases(16, 1);
  while (cases.next()) {
    const uint64_t seed = cases.seed();
    const ScheduleCase c = overhanging_case(seed);
    const auto failure = test::failure_of(c, checks, cases);
    ASSERT_FALSE(failure.has_value()) << "case seed " << seed << "\n"
                                      << c.reproducer() << "\n"
                                      << *failure;
    // None of them is refused.
    ASSERT_NO_THROW(lower(c.schedule(), test::lower_arguments(c), Target{})) << c.reproducer();
  }
}

}  // namespace
}  // namespace tw
