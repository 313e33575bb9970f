// SPDX-License-Identifier: Apache-2.0
#include "autotune/build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <optional>
#include <stdexcept>
#include <thread>

#include "autotune/build_cache.h"
#include "autotune/task/workloads.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_prior.h"

namespace tw::autotune {
namespace {

using test::expect_error;

// y = x + `addend`, of so many elements, under these names.
te::Program add_program(int n, float addend, const std::string& x = "X",
                        const std::string& y = "Y") {
  const te::Tensor a = te::placeholder({n}, float_type(32), x);
  const te::Tensor b = te::compute(
      {n},
      [&](const std::vector<Var>& i) { return a(i[0]) + make_const_float(float_type(32), addend); },
      y);
  return te::make_program({b});
}

float first_result(const BuiltProgram& built, const std::string& name, int n, float x) {
  const NDArray in = NDArray::empty({n}, float_type(32)), out = NDArray::empty({n}, float_type(32));
  std::fill_n(static_cast<float*>(in.data()), n, x);
  built.module->get_function(name)(in, out);
  return static_cast<const float*>(out.data())[0];
}

// A log in a folder of its own.
class BuildFromLog : public testing::Test {
 protected:
  void SetUp() override { log_.emplace(folder_.file("log.db"), Log::Mode::Write); }
  // The program's first axis split by `factor`, in `seconds`.
  void add_record(const te::Program& program, int64_t factor, double seconds) {
    const Task task = make_task(program, Target::host(), 1);
    const Schedule s = Schedule::create(task.program.outputs);
    const Stage stage = s[task.program.outputs[0]];
    stage.split(stage.axis(0), factor);
    log_->add_task(task);
    log_->append({.workload = task.workload,
                  .target = task.target_text,
                  .threads = 1,
                  .trace = to_text(s.trace()),
                  .seconds = {seconds}});
  }
  BuildOptions options() const { return {.threads = 1, .log = &*log_}; }

  const tw::test::TemporaryFolder folder_;
  std::optional<Log> log_;
};

TEST_F(BuildFromLog, TakesTheFastestRecord) {
  const te::Program program = add_program(48, 1);
  add_record(program, 4, 2e-6);
  add_record(program, 8, 1e-6);
  const BuiltProgram built = build(program, Target::host(), options());
  EXPECT_EQ(built.origin, ScheduleOrigin::Record);
  EXPECT_EQ(built.record, log_->best(te::workload_id(program), Target::host().text(), 1)->id);
  EXPECT_EQ(first_result(built, "default_function", 48, 2), 3);
  const ChosenSchedule chosen = choose_schedule(program, Target::host(), options());
  EXPECT_NE(to_text(chosen.schedule.trace()).find("8"), std::string::npos);
  // A faster record makes another module, from now on.
  add_record(program, 16, 0.5e-6);
  EXPECT_NE(build(program, Target::host(), options()).module, built.module);
}

TEST_F(BuildFromLog, WithoutARecordIsAnErrorOrThePriors) {
  const te::Program program = add_program(56, 1);
  expect_error(ErrorCode::NoRecord, [&] { build(program, Target::host(), options()); });
  BuildOptions lenient = options();
  lenient.needs_record = false;
  EXPECT_EQ(build(program, Target::host(), lenient).origin, ScheduleOrigin::Prior);
}

TEST(Build, WithoutALogIsThePriors) {
  const BuiltProgram built = build(add_program(64, 2), Target::host(), {.threads = 1});
  EXPECT_EQ(built.origin, ScheduleOrigin::Prior);
  EXPECT_EQ(built.written, (std::vector<bool>{false, true}));
  EXPECT_EQ(first_result(built, "default_function", 64, 2), 4);
}

TEST(Build, SymbolicExtentsAreComputedAsTheyStand) {
  const Var n("n");
  const te::Tensor a = te::placeholder({n}, float_type(32), "A");
  const te::Tensor b =
      te::compute({n}, [&](const std::vector<Var>& i) { return a(i[0]) * a(i[0]); }, "B");
  const BuiltProgram built = build(te::make_program({b}), Target::host(), {.threads = 1});
  EXPECT_EQ(built.origin, ScheduleOrigin::Unscheduled);
  EXPECT_EQ(first_result(built, "default_function", 5, 3), 9);
}

TEST(Build, EqualProgramsAreBuiltOnce) {
  const BuildCounts before = build_counts();
  const BuiltProgram first = build(add_program(72, 3), Target::host(), {.threads = 1});
  const BuiltProgram second = build(add_program(72, 3), Target::host(), {.threads = 1});
  EXPECT_EQ(first.module, second.module);
  EXPECT_EQ(build_counts().climbs, before.climbs + 1);
  EXPECT_EQ(build_counts().compiles, before.compiles + 1);
}

// What is fast on one thread need not be on four.
TEST(Build, EachNumberOfThreadsHasAScheduleOfItsOwn) {
  const BuildCounts before = build_counts();
  for (const int threads : {1, 4, 1}) {
    choose_schedule(add_program(76, 3), Target::host(), {.threads = threads});
  }
  EXPECT_EQ(build_counts().climbs, before.climbs + 2);
}

// Names stand in messages, so other names take other code; the schedule is the same.
TEST(Build, OtherNamesAreOtherModules) {
  const BuildCounts before = build_counts();
  const BuiltProgram first = build(add_program(80, 3), Target::host(), {.threads = 1});
  const BuiltProgram other = build(add_program(80, 3, "U"), Target::host(), {.threads = 1});
  const BuiltProgram called =
      build(add_program(80, 3), Target::host(), {.name = "add", .threads = 1});
  EXPECT_EQ(build_counts().climbs, before.climbs + 1);
  EXPECT_EQ(build_counts().compiles, before.compiles + 3);
  EXPECT_EQ(other.module->get_function("default_function").info().arguments[0].name, "U");
  EXPECT_EQ(first_result(first, "default_function", 80, 1), 4);
  EXPECT_EQ(first_result(called, "add", 80, 1), 4);
}

// What the code does may differ though everything else is the same.
TEST(Build, OtherBodiesAreOtherModules) {
  const BuiltProgram three = build(add_program(88, 3), Target::host(), {.threads = 1});
  const BuiltProgram four = build(add_program(88, 4), Target::host(), {.threads = 1});
  EXPECT_EQ(first_result(three, "default_function", 88, 1), 4);
  EXPECT_EQ(first_result(four, "default_function", 88, 1), 5);
}

TEST(Build, EachBuildHasItsOwnConstants) {
  const te::Tensor x = te::placeholder({4}, float_type(32), "x");
  const te::Tensor w = te::placeholder({4}, float_type(32), "w", true);
  const te::Tensor y =
      te::compute({4}, [&](const std::vector<Var>& i) { return x(i[0]) * w(i[0]); }, "y");
  const te::Program program = te::make_program({y});
  const auto times = [&](float factor) {
    const NDArray weights = NDArray::empty({4}, float_type(32));
    std::fill_n(static_cast<float*>(weights.data()), 4, factor);
    return build(program, Target::host(), {.threads = 1, .constants = {{w, weights}}});
  };
  const BuildCounts before = build_counts();
  const BuiltProgram twice = times(2), thrice = times(3);
  EXPECT_EQ(build_counts().climbs, before.climbs + 1);
  EXPECT_EQ(twice.written, (std::vector<bool>{false, true}));
  EXPECT_EQ(first_result(twice, "default_function", 4, 5), 10);
  EXPECT_EQ(first_result(thrice, "default_function", 4, 5), 15);
}

// A product with a constant that the prior has packed.
te::Program packed_product(const std::string& weight) {
  const te::Tensor x = te::placeholder({12, 256}, float_type(32), "x");
  const te::Tensor w = te::placeholder({256, 192}, float_type(32), weight, true);
  const te::Tensor b = te::placeholder({192}, float_type(32), "b", true);
  const IterVar k = te::reduce_axis({0, 256}, "k");
  const te::Tensor product = te::compute(
      {12, 192},
      [&](const std::vector<Var>& i) { return te::sum(x(i[0], k.var()) * w(k.var(), i[1]), {k}); },
      "product");
  const te::Tensor y = te::compute(
      {12, 192}, [&](const std::vector<Var>& i) { return product(i[0], i[1]) + b(i[1]); }, "y");
  return te::make_program({y});
}

NDArray counted(const std::vector<int64_t>& shape, int step) {
  const NDArray array = NDArray::empty(shape, float_type(32));
  auto* const data = static_cast<float*>(array.data());
  for (int64_t i = 0; i < array.size(); ++i) data[i] = static_cast<float>(i * step % 7 - 3);
  return array;
}

TEST(Build, PackedConstantsStayArguments) {
  const test::WholePrior prior;  // which packs the product's
  const te::Program program = packed_product("w");
  const Target target = Target::parse("llvm -mcpu=x86-64-v3");
  const BuiltProgram built = build(program, target, {.threads = 1, .packed = true});
  const BuiltProgram plain = build(program, target, {.threads = 1});
  ASSERT_TRUE(built.preparation.defined());
  // x, the bias, the packed weight, y; the weight gives the packed one.
  ASSERT_EQ(built.arguments.size(), 4u);
  EXPECT_EQ(built.arguments[2], program.arguments.size());
  EXPECT_EQ(built.preparation_arguments.size(), 2u);
  std::vector<NDArray> arrays;
  for (const te::Tensor& t : program.arguments) {
    std::vector<int64_t> shape;
    for (const Expr& e : t.shape()) shape.push_back(as_const_int(e).value());
    arrays.push_back(counted(shape, 3 + static_cast<int>(arrays.size())));
  }
  std::vector<int64_t> shape;
  for (const auto& extent : built.preparation.info().arguments[1].shape)
    shape.push_back(std::get<int64_t>(extent));
  arrays.push_back(NDArray::empty(shape, float_type(32)));
  const auto call = [&](const Function& f, const std::vector<size_t>& numbers) {
    std::vector<CallArgument> arguments;
    for (size_t n : numbers) arguments.emplace_back(arrays[n]);
    f.call(arguments);
  };
  call(built.preparation, built.preparation_arguments);
  call(built.module->get_function("default_function"), built.arguments);
  const NDArray result = arrays[3].copy();
  plain.module->get_function("default_function")(arrays[0], arrays[1], arrays[2], arrays[3]);
  const auto* const a = static_cast<const float*>(result.data());
  const auto* const b = static_cast<const float*>(arrays[3].data());
  EXPECT_TRUE(std::equal(a, a + result.size(), b));
  // Weights are no part of the code, so a layer of the same shape has the same.
  const BuiltProgram again = build(packed_product("w"), target, {.threads = 1, .packed = true});
  EXPECT_EQ(again.module, built.module);
  EXPECT_EQ(again.arguments, built.arguments);
}

TEST(Build, PackedConstantsThatNothingReadsAreArguments) {
  const test::WholePrior prior;  // which packs the product's
  te::Program program = packed_product("w");
  program.arguments.insert(program.arguments.begin() + 1,
                           te::placeholder({7}, float_type(32), "unread", true));
  const BuiltProgram built =
      build(program, Target::parse("llvm -mcpu=x86-64-v3"), {.threads = 1, .packed = true});
  EXPECT_EQ(built.arguments, (std::vector<size_t>{0, 1, 3, 5, 4}));
  EXPECT_EQ(built.preparation_arguments, (std::vector<size_t>{2, 5}));
}

TEST(Build, ThreadsThatWantTheSameBuildWaitForOne) {
  constexpr int kThreads = 6;
  const BuildCounts before = build_counts();
  std::barrier together(kThreads);
  std::vector<BuiltProgram> built(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const te::Program program = add_program(96, 5);
      together.arrive_and_wait();
      built[t] = build(program, Target::host(), {.threads = 1});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(build_counts().climbs, before.climbs + 1);
  EXPECT_EQ(build_counts().compiles, before.compiles + 1);
  for (const BuiltProgram& b : built) EXPECT_EQ(b.module, built[0].module);
}

TEST(BuildCache, ForgetsWhatWasNotAskedForLongest) {
  BuildCache<int> cache(2);
  const auto get = [&](const std::string& key) { return cache.get(key, [] { return 1; }); };
  get("a"), get("b"), get("a"), get("c");  // b goes
  EXPECT_EQ(cache.made(), 3u);
  get("a"), get("c");
  EXPECT_EQ(cache.made(), 3u);
  get("b");
  EXPECT_EQ(cache.made(), 4u);
}

TEST(BuildCache, AFailureIsForAllWhoWaitAndForNobodyAfter) {
  BuildCache<int> cache(2);
  std::atomic<int> failures = 0;
  std::barrier together(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      try {
        cache.get("key", []() -> int { throw std::runtime_error("no"); });
      } catch (const std::runtime_error&) {
        ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 3);
  EXPECT_EQ(cache.get("key", [] { return 7; }), 7);
}

}  // namespace
}  // namespace tw::autotune
