// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph_executor.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "runtime/error.h"
#include "runtime/thread_pool.h"
#include "tests/support/expect_error.h"
#include "tests/support/plan_json.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef COUNTS_ALLOCATIONS
#define COUNTS_ALLOCATIONS 1
#endif

#if COUNTS_ALLOCATIONS
// The program's own malloc and the like are found before the C library's, by every library.
static std::atomic<int64_t> allocations = 0;
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
TW_API void* malloc(size_t n) { return ++allocations, __libc_malloc(n); }
TW_API void* calloc(size_t n, size_t each) { return ++allocations, __libc_calloc(n, each); }
TW_API void* realloc(void* p, size_t n) { return ++allocations, __libc_realloc(p, n); }
TW_API void* aligned_alloc(size_t to, size_t n) { return ++allocations, __libc_memalign(to, n); }
}
#endif

namespace tw {
namespace {

using test::four;
using test::PlanJson;
using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const GraphPlan> plan_of(const std::string& json) {
  return std::make_shared<const GraphPlan>(read_graph_plan(json));
}

NDArray array_of(std::vector<float> values, std::vector<int64_t> shape = {}) {
  if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
  NDArray array = NDArray::empty(shape, float_type(32));
  array.copy_from_bytes(values.data());
  return array;
}

std::vector<float> values_of(const NDArray& array) {
  std::vector<float> values(static_cast<size_t>(array.size()));
  array.copy_to_bytes(values.data());
  return values;
}

class Executor : public test::WithGraphKernels {
 protected:
  GraphExecutor twice() const { return {plan_of(test::twice_json()), module, {}}; }
  int& counter(const char* name) const {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    int* const found = static_cast<int*>(dlsym(library, name));
    dlclose(library);
    return *found;
  }
};
using ThreadSanitizerExecutor = Executor;

TEST_F(Executor, RunsWithCopiesOfInputs) {
  GraphExecutor executor = twice();
  EXPECT_EQ(executor.num_inputs(), 2);
  EXPECT_EQ(executor.num_outputs(), 1);
  EXPECT_EQ(executor.input_name(1), "w");
  EXPECT_EQ(executor.output_name(0), "y");
  EXPECT_EQ(executor.input_index("w"), 1);
  EXPECT_FALSE(executor.is_set(0));
  const NDArray x = array_of({1, 2, 3, 4});
  executor.set_input(0, x);
  executor.set_input(1, array_of({10, 20, 30, 40}));
  executor.run();
  EXPECT_THAT(values_of(executor.output(0)), ElementsAre(21, 42, 63, 84));
  x.data_as<float>()[0] = 7;  // it was copied
  executor.run();
  EXPECT_THAT(values_of(executor.output(0)), ElementsAre(21, 42, 63, 84));
  executor.set_input(0, array_of({0, 0, 0, 1}));
  executor.run();
  EXPECT_THAT(values_of(executor.output(0)), ElementsAre(20, 40, 60, 81));
  // Any strides.
  const NDArray spread = array_of({5, 0, 6, 0, 7, 0, 8, 0});
  executor.set_input(0, spread.view(std::vector<int64_t>{4}, std::vector<int64_t>{2}));
  executor.run();
  EXPECT_THAT(values_of(executor.output(0)), ElementsAre(25, 46, 67, 88));
  EXPECT_EQ(executor.arena_bytes(), 64);  // both sums are in one place
}

TEST_F(Executor, InputsThatDoNotFitAreRefused) {
  GraphExecutor executor = twice();
  EXPECT_EQ(test::expect_message(ErrorCode::ArgumentNull, [&] { executor.run(); }),
            "input 'x' has no value; legal: set_input before the run");
  EXPECT_THAT(
      test::expect_message(ErrorCode::ArgumentShape, [&] { executor.set_input(0, array_of({1})); }),
      HasSubstr("input 'x' is given shape [1]; legal: [4]"));
  test::expect_message(ErrorCode::ArgumentDType,
                       [&] { executor.set_input(0, NDArray::zeros({4}, int_type(32))); });
  test::expect_message(ErrorCode::ArgumentNull, [&] { executor.set_input(0, NDArray()); });
  test::expect_message(ErrorCode::BadArgument,
                       [&] { executor.set_input(2, array_of({1, 2, 3, 4})); });
  test::expect_message(ErrorCode::BadArgument,
                       [&] { executor.set_input(-1, array_of({1, 2, 3, 4})); });
  test::expect_message(ErrorCode::BadArgument, [&] { executor.output(1); });
  test::expect_message(ErrorCode::BadArgument, [&] { executor.input_index("v"); });
  test::expect_message(ErrorCode::BadArgument, [&] { executor.profile(0); });
  const NamedArray stray[] = {{"weights", array_of({1, 2, 3, 4})}};
  test::expect_message(ErrorCode::BadArgument,
                       [&] { GraphExecutor(plan_of(test::twice_json()), module, stray); });
}

TEST_F(Executor, ZeroCopyInputsAreReadWhereTheyAre) {
  GraphExecutor executor = twice();
  executor.set_input(1, array_of({0, 0, 0, 0}));
  NDArray x = array_of({1, 2, 3, 4});
  executor.set_input_zero_copy(0, x);
  EXPECT_EQ(executor.input(0).data(), x.data());
  EXPECT_TRUE(executor.input(0).read_only());
  executor.run();
  x.data_as<float>()[0] = 9;
  executor.run();
  EXPECT_EQ(values_of(executor.output(0))[0], 9);
  // A later copy goes to other memory.
  executor.set_input(0, array_of({5, 5, 5, 5}));
  executor.run();
  EXPECT_EQ(values_of(executor.output(0))[0], 5);
  EXPECT_EQ(x.data_as<float>()[0], 9);
  const std::vector<int64_t> shape{4};
  test::expect_message(ErrorCode::ArgumentStrides, [&] {
    executor.set_input_zero_copy(
        0, NDArray::zeros({8}, float_type(32)).view(shape, std::vector<int64_t>{2}));
  });
  const auto bytes = std::make_shared<NDArray>(NDArray::zeros({64}, int_type(8)));
  test::expect_message(ErrorCode::ArgumentAlignment, [&] {
    executor.set_input_zero_copy(
        0, NDArray::over(bytes->data_as<char>() + 2, bytes, shape, float_type(32)));
  });
  // The output of an earlier run would be overwritten while it is read.
  test::expect_message(ErrorCode::ArgumentOverlap,
                       [&] { executor.set_input_zero_copy(0, executor.output(0)); });
  executor.set_input(0, executor.output(0));
  executor.run();
  EXPECT_EQ(values_of(executor.output(0))[0], 5);
}

TEST_F(Executor, ChecksOnceAndAfterNewAddresses) {
  int &checked = counter("graph_checked"), &unchecked = counter("graph_unchecked");
  checked = unchecked = 0;
  GraphExecutor executor = twice();
  executor.set_input(0, array_of({1, 2, 3, 4}));
  executor.set_input(1, array_of({1, 2, 3, 4}));
  executor.run();
  EXPECT_EQ(std::pair(checked, unchecked), std::pair(2, 0));
  executor.run();
  executor.set_input(0, array_of({4, 3, 2, 1}));  // the same memory
  executor.run();
  EXPECT_EQ(std::pair(checked, unchecked), std::pair(2, 4));
  executor.set_input_zero_copy(0, array_of({4, 3, 2, 1}));  // which one of both nodes reads
  executor.run();
  EXPECT_EQ(std::pair(checked, unchecked), std::pair(3, 5));
  executor.run();
  EXPECT_EQ(std::pair(checked, unchecked), std::pair(3, 7));
}

TEST_F(Executor, ReshapesAndVectors) {
  PlanJson plan;
  const int x = plan.variable("x", {{2, 4}, 0});
  const int flat = plan.call("flat", "__nop", {{x, 0}}, {{{8}, 1}});  // the variable itself
  const int more = plan.call("more", "next", {{x, 0}}, {{{2, 4}, 2}}, true);
  const int same = plan.call("same", "__nop", {{more, 0}}, {{{8}, 2}});       // in place
  const int moved = plan.call("moved", "__nop", {{same, 0}}, {{{4, 2}, 3}});  // elsewhere
  const int last = plan.call("last", "next", {{moved, 0}}, {{{4, 2}, 2}}, true);
  GraphExecutor executor(plan_of(plan.json({{flat, 0}, {moved, 0}, {last, 0}})), module);
  const NDArray value = array_of({0, 1, 2, 3, 4, 5, 6, 7}, {2, 4});
  for (bool zero_copy : {false, true}) {
    zero_copy ? executor.set_input_zero_copy(0, value) : executor.set_input(0, value);
    executor.run();
    EXPECT_THAT(values_of(executor.output(0)), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_EQ(executor.output(0).data(), executor.input(0).data());
    EXPECT_EQ(executor.output(0).ndim(), 1);
    EXPECT_THAT(values_of(executor.output(1)), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
    EXPECT_THAT(values_of(executor.output(2)), ElementsAre(2, 3, 4, 5, 6, 7, 8, 9));
  }
  EXPECT_EQ(executor.profile(1).nodes.size(), 3u);  // more, moved, last
}

// What is joined or taken apart lies there already, or is copied.
TEST_F(Executor, ViewsOfSeveralTensors) {
  const auto at = [](int64_t storage, int64_t offset) {
    return PlanJson::Tensor{.shape = {16}, .storage = storage, .offset = offset};
  };
  for (bool in_place : {true, false}) {
    PlanJson plan;
    const int x = plan.variable("x", {{16}, 0}), y = plan.variable("y", {{16}, 1});
    const int a = plan.call("a", "next", {{x, 0}}, {at(2, 64)}, true);
    const int b = plan.call("b", "next", {{y, 0}}, {at(2, in_place ? 128 : 0)}, true);
    const int all = plan.call("all", "__nop", {{a, 0}, {b, 0}},
                              {{{2, 16}, in_place ? 2 : 3, "float32", in_place ? 64 : 0}});
    const int with_input = plan.call("with_input", "__nop", {{a, 0}, {x, 0}}, {{{32}, 4}});
    const int parts = plan.call("parts", "__nop", {{all, 0}}, {{{8}, 5}, {{24}, 6}});
    const std::string text = plan.json({{all, 0}, {with_input, 0}, {parts, 0}, {parts, 1}});
    GraphExecutor executor(plan_of(text), module);
    std::vector<float> first(16), second(16);
    std::iota(first.begin(), first.end(), 0.F);
    std::iota(second.begin(), second.end(), 100.F);
    executor.set_input(0, array_of(first));
    executor.set_input_zero_copy(1, array_of(second));
    executor.run();
    const std::vector<float> whole = values_of(executor.output(0));
    ASSERT_EQ(whole.size(), 32u);
    for (size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(whole[i], first[i] + 1);
      EXPECT_EQ(whole[16 + i], second[i] + 1);
      EXPECT_EQ(values_of(executor.output(1))[16 + i], first[i]);
    }
    EXPECT_EQ(values_of(executor.output(2))[7], 8);
    EXPECT_EQ(values_of(executor.output(3))[0], 9);
    EXPECT_EQ(values_of(executor.output(3))[23], 116);
    EXPECT_EQ(executor.profile(1).nodes.size(), in_place ? 4u : 5u);
  }
}

TEST_F(Executor, OffsetsAreInMemoryThatThereIs) {
  const auto refused = [&](const PlanJson::Tensor& output, ErrorCode code) {
    PlanJson plan;
    const int x = plan.variable("x", four(0));
    const int y = plan.call("y", "next", {{x, 0}}, {output}, true);
    test::expect_message(code, [&] { GraphExecutor(plan_of(plan.json({{y, 0}})), module); });
  };
  refused({{4}, 1, "float32", 32}, ErrorCode::BadGraph);
  refused({{4}, 1, "float32", -64}, ErrorCode::BadGraph);
  refused({{4}, -1, "float32", 64}, ErrorCode::BadGraph);
  refused({{4}, 0, "float32", 64}, ErrorCode::BadGraph);  // behind the variable
  refused({{4}, 1, "float32", INT64_MAX / 64 * 64}, ErrorCode::OutOfMemory);
}

TEST_F(Executor, SeveralOutputsAndInputsAsOutputs) {
  PlanJson plan;
  const int x = plan.variable("x", {{2, 4}});
  const int parts = plan.call("parts", "halves", {{x, 0}}, {four(), four()});
  const int sum = plan.call("sum", "add", {{parts, 0}, {parts, 1}}, {four()});
  GraphExecutor executor(plan_of(plan.json({{sum, 0}, {parts, 1}, {x, 0}})), module);
  test::expect_message(ErrorCode::ArgumentNull, [&] { executor.output(2); });
  executor.set_input(0, array_of({0, 1, 2, 3, 4, 5, 6, 7}, {2, 4}));
  executor.run();
  EXPECT_THAT(values_of(executor.output(0)), ElementsAre(4, 6, 8, 10));
  EXPECT_THAT(values_of(executor.output(1)), ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(executor.output_name(1), "parts");
  EXPECT_EQ(values_of(executor.output(2))[7], 7);
}

// An output with a variable's storage is the variable's new value.
TEST_F(Executor, VariablesThatTheNetworkWrites) {
  PlanJson plan;
  const int state = plan.variable("state", four(0)), x = plan.variable("x", four(1));
  const int next = plan.call("next", "add", {{state, 0}, {x, 0}}, {four(0)});
  const auto shared = plan_of(plan.json({{next, 0}}));
  const NDArray start = array_of({1, 1, 1, 1}).as_read_only();
  const NamedArray parameters[] = {{"state", start}};
  GraphExecutor executor(shared, module, parameters);
  executor.set_input(1, array_of({1, 2, 3, 4}));
  for (int i = 0; i < 3; ++i) executor.run();
  EXPECT_THAT(values_of(executor.input(0)), ElementsAre(4, 7, 10, 13));
  EXPECT_EQ(values_of(start)[0], 1);
  test::expect_message(ErrorCode::BadArgument, [&] { executor.set_input_zero_copy(0, start); });
  const NDArray own = array_of({0, 0, 0, 0});
  executor.set_input_zero_copy(0, own);
  executor.run();
  EXPECT_THAT(values_of(own), ElementsAre(1, 2, 3, 4));
  PlanJson small;
  const int v = small.variable("v", {{2}, 0}), w = small.variable("w", four(1));
  const int y = small.call("y", "add", {{w, 0}, {w, 0}}, {four(0)});
  (void)v;
  EXPECT_THAT(test::expect_message(ErrorCode::BadGraph,
                                   [&] { GraphExecutor(plan_of(small.json({{y, 0}})), module); }),
              HasSubstr("node 'y': an output of 16 bytes in the memory of 'v', which has 8"));
}

// A reshape of a variable that is written to keeps what the variable was.
TEST_F(Executor, ReshapesOfVariablesThatTheNetworkWrites) {
  PlanJson plan;
  const int state = plan.variable("state", four(0));
  const int before = plan.call("before", "__nop", {{state, 0}}, {{{2, 2}, 1}});
  const int next = plan.call("next", "next", {{state, 0}}, {four(0)}, true);
  const int after = plan.call("after", "__nop", {{next, 0}}, {{{2, 2}, 2}});
  GraphExecutor executor(plan_of(plan.json({{before, 0}, {next, 0}, {after, 0}})), module);
  executor.set_input(0, array_of({1, 2, 3, 4}));
  executor.run();
  EXPECT_THAT(values_of(executor.output(0)), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(values_of(executor.output(1)), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(values_of(executor.output(2)), ElementsAre(2, 3, 4, 5));
}

TEST_F(Executor, RefusalsOfKernelsNameTheNode) {
  PlanJson plan;
  const int x = plan.variable("x", four());
  const int y = plan.call("layer7", "refuse", {{x, 0}}, {four()});
  GraphExecutor executor(plan_of(plan.json({{y, 0}})), module);
  executor.set_input(0, array_of({1, 2, 3, 4}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(test::expect_message(ErrorCode::AssertionFailed, [&] { executor.run(); }),
              "node 'layer7': it does not like these numbers");
  }
}

GraphExecutor* running = nullptr;
std::string refusal_of_a_second_run;
int32_t run_again(void* const*, const int32_t*, int32_t) {
  refusal_of_a_second_run = test::expect_message(ErrorCode::BadArgument, [] { running->run(); });
  return 0;
}

// A module whose only kernel runs the network that it is part of.
class Recursive final : public Module {
 public:
  std::vector<std::string> function_names() const override { return {"again"}; }
  Function get_function(std::string_view) const override {
    return Function({.name = "again"}, &run_again, nullptr);
  }
};

TEST(ExecutorOfAnyModule, AnInstanceRunsOnceAtATime) {
  PlanJson plan;
  const int x = plan.variable("x", four());
  const int y = plan.call("y", "again", {{x, 0}}, {four()});
  GraphExecutor executor(plan_of(plan.json({{y, 0}})), std::make_shared<Recursive>());
  executor.set_input(0, array_of({1, 2, 3, 4}));
  running = &executor;
  for (int i = 0; i < 2; ++i) {
    refusal_of_a_second_run.clear();
    executor.run();
    EXPECT_THAT(refusal_of_a_second_run, HasSubstr("this instance runs already"));
  }
}

// Tensors without elements, of rank 0, and nothing at all.
TEST(ExecutorOfAnyModule, OddTensors) {
  PlanJson plan;
  const int x = plan.variable("x", {{0, 3}}), s = plan.variable("s", {{}, 1, "float64"});
  const int flat = plan.call("flat", "__nop", {{x, 0}}, {{{0}, 2}});
  const int one = plan.call("one", "__nop", {{s, 0}}, {{{1, 1}, 3, "float64"}});
  const int two = plan.call("two", "__nop", {{one, 0}}, {{{1}, 4, "float64"}});
  GraphExecutor executor(plan_of(plan.json({{flat, 0}, {two, 0}})), std::make_shared<Recursive>());
  executor.set_input(0, NDArray::empty({0, 3}, float_type(32)));
  const NDArray number = NDArray::empty({}, float_type(64));
  *number.data_as<double>() = 2.5;
  executor.set_input_zero_copy(1, number);
  executor.run();
  EXPECT_EQ(executor.output(0).size(), 0);
  EXPECT_EQ(executor.output(1).data_as<double>()[0], 2.5);
  GraphExecutor none(plan_of(PlanJson().json({})), std::make_shared<Recursive>());
  none.run();
  EXPECT_EQ(none.num_outputs(), 0);
}

TEST_F(Executor, InstancesShareParameters) {
  const NDArray w = array_of({1, 1, 1, 1}).as_read_only();
  const NamedArray parameters[] = {{"w", w}};
  GraphExecutor executor(plan_of(test::twice_json()), module, parameters);
  EXPECT_EQ(executor.input(1).data(), w.data());
  executor.set_input(0, array_of({1, 2, 3, 4}));
  executor.run();
  const auto other = executor.clone();
  EXPECT_EQ(other->input(1).data(), w.data());
  EXPECT_FALSE(other->is_set(0));
  other->set_input(0, array_of({0, 0, 0, 0}));
  other->run();
  EXPECT_EQ(values_of(other->output(0))[3], 2);
  EXPECT_EQ(values_of(executor.output(0))[3], 6);
  executor.set_input(1, array_of({5, 5, 5, 5}));  // of this instance alone
  EXPECT_EQ(w.data_as<float>()[0], 1);
  EXPECT_EQ(other->input(1).data(), w.data());
  // What is handed out outlives the instance.
  const NDArray kept = executor.clone()->input(0);
  EXPECT_EQ(values_of(kept)[0], 0);
}

std::string scratch_json() {
  PlanJson plan;
  const int x = plan.variable("x", four(0));
  const int a = plan.call("a", "scratch", {{x, 0}}, {four(1)});
  const int b = plan.call("b", "scratch", {{a, 0}}, {four(2)});
  const int c = plan.call("c", "__nop", {{b, 0}}, {{{2, 2}, 3}});
  return plan.json({{c, 0}});
}

TEST_F(Executor, LendsScratchMemoryAndGivesBackWhatWasLent) {
  GraphExecutor executor(plan_of(scratch_json()), module);
  EXPECT_GE(executor.workspace_bytes(), 8192);
  executor.set_input(0, array_of({1, 2, 3, 4}));
  workspace_trim();
  executor.run();
  EXPECT_THAT(values_of(executor.output(0)), ElementsAre(4, 8, 12, 16));
  EXPECT_EQ(workspace_kept_bytes(), 0u);  // no kernel asked the pool
  const NDArray memory = NDArray::empty({256}, uint_type(8));
  const Workspace lent{.memory = memory.data(), .call_bytes = 256, .num_threads = 1};
  lend_workspace(&lent);
  void* const first = workspace_alloc(64);
  executor.run();
  void* const second = workspace_alloc(64);
  EXPECT_EQ(second, static_cast<char*>(first) + 64);
  workspace_free(second);
  workspace_free(first);
  lend_workspace(nullptr);
}

#if COUNTS_ALLOCATIONS
TEST_F(Executor, LaterRunsAllocateNothing) {
  GraphExecutor executor(plan_of(scratch_json()), module);
  executor.set_input(0, array_of({1, 2, 3, 4}));
  EXPECT_GT(allocations, 0);  // they are counted
  executor.run();
  const int64_t before = allocations;
  const int runs = 50 * ThreadPool::global().num_threads();
  for (int i = 0; i < runs; ++i) executor.run();
  // A worker that has its first task only now gets its thread's variables.
  EXPECT_LT(allocations - before, ThreadPool::global().num_threads());
}
#endif

TEST_F(ThreadSanitizerExecutor, InstancesRunOnThreadsOfTheirOwn) {
  const NamedArray parameters[] = {{"w", array_of({1, 2, 3, 4})}};
  GraphExecutor first(plan_of(test::twice_json()), module, parameters);
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&first, t] {
      const auto mine = first.clone();
      const auto value = static_cast<float>(t);
      mine->set_input(0, array_of({value, value, value, value}));
      for (int i = 0; i < 200; ++i) {
        mine->run();
        EXPECT_THAT(values_of(mine->output(0)),
                    ElementsAre(value + 2, value + 4, value + 6, value + 8));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  threads.clear();
  GraphExecutor scratch(plan_of(scratch_json()), module);
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&scratch] {
      const auto mine = scratch.clone();
      mine->set_input(0, array_of({1, 2, 3, 4}));
      for (int i = 0; i < 50; ++i) mine->run();
      EXPECT_THAT(values_of(mine->output(0)), ElementsAre(4, 8, 12, 16));
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST_F(Executor, ProfileSaysWhereTheTimeGoes) {
  GraphExecutor executor = twice();
  executor.set_input(0, array_of({1, 2, 3, 4}));
  executor.set_input(1, array_of({1, 2, 3, 4}));
  const GraphProfile profile = executor.profile(5);
  ASSERT_EQ(profile.nodes.size(), 2u);
  EXPECT_EQ(profile.seconds.size(), 5u);
  EXPECT_EQ(profile.nodes[0].name, "sum");
  EXPECT_EQ(profile.nodes[1].function, "add");
  EXPECT_EQ(profile.nodes[1].bytes_in, 32);
  EXPECT_EQ(profile.nodes[1].bytes_out, 16);
  for (size_t run = 0; run < 5; ++run) {  // calls lie one after the other within their run
    double free = profile.start[run];
    for (const NodeProfile& node : profile.nodes) {
      ASSERT_EQ(node.seconds.size(), 5u);
      EXPECT_GE(node.start[run] + 1e-9, free);
      free = node.start[run] + node.seconds[run];
    }
    EXPECT_LE(free, profile.start[run] + profile.seconds[run] + 1e-9);
  }
  const auto trace = nlohmann::json::parse(trace_json(profile));
  int runs = 0, kernels = 0;
  double last = 0;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    EXPECT_GE(event.at("ts").get<double>(), last);
    last = event.at("ts").get<double>();
    EXPECT_GE(event.at("dur").get<double>(), 0);
    ++(event.at("cat") == "run" ? runs : kernels);
  }
  EXPECT_EQ(runs, 5);
  EXPECT_EQ(kernels, 10);
}

// What a kernel itself waits for is its time, and not that of the one before or after it.
TEST_F(Executor, ProfileGivesEachKernelItsOwnTime) {
  PlanJson plan;
  const int x = plan.variable("x", four(0));
  const int first = plan.call("first", "add", {{x, 0}, {x, 0}}, {four(1)});
  const int slow = plan.call("slow", "next", {{first, 0}}, {four(2)});
  const int last = plan.call("last", "add", {{slow, 0}, {slow, 0}}, {four(3)});
  GraphExecutor executor(plan_of(plan.json({{last, 0}})), module, {});
  executor.set_input(0, array_of({1, 2, 3, 4}));
  counter("graph_pause") = 200'000;
  const GraphProfile profile = executor.profile(3);
  counter("graph_pause") = 0;
  for (const double seconds : profile.nodes.at(1).seconds) EXPECT_GE(seconds, 200e-6);
  EXPECT_GE(profile.start[2], 2 * 200e-6);
}

}  // namespace
}  // namespace tw
