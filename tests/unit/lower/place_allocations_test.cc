// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <map>

#include "ir/visit.h"
#include "lower/llvm/compile.h"
#include "lower/pipeline.h"
#include "runtime/thread_pool.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

// The scope of each allocation, by name.
std::map<std::string, std::string> scopes(const Stmt& body) {
  std::map<std::string, std::string> found;
  for_each_stmt(body, [&](const Stmt& s) {
    if (const Allocate* a = as<Allocate>(s)) found[a->buffer.name()] = a->scope;
  });
  return found;
}

std::map<std::string, std::string> placed(const char* text, int64_t most) {
  const Kernel kernel{.body = parse_stmt(text)};
  return scopes(run_pass(pass::place_allocations, kernel, {.max_stack_bytes = most}).body);
}

using Scopes = std::map<std::string, std::string>;

TEST(PlaceAllocations, TheSmallestStayOnTheStack) {
  const char* text = R"(// attr [A] storage_scope = "local"
allocate A[float32 * 240]
// attr [B] storage_scope = "local"
allocate B[float32 * 32]
// attr [C] storage_scope = "global"
allocate C[float32 * 8]
// attr [D] storage_scope = "global"
allocate D[float32 * 257]
A[0] = (B[0] + (C[0] + D[0]))
)";
  const Scopes small = {{"A", "global"}, {"B", "local"}, {"C", "local"}, {"D", "global"}};
  EXPECT_EQ(placed(text, 1024), small);
  // 960 + 128 + 64 bytes.
  const Scopes enough = {{"A", "local"}, {"B", "local"}, {"C", "local"}, {"D", "global"}};
  EXPECT_EQ(placed(text, 1152), enough);
  EXPECT_EQ(placed(text, 1151), small);
  const Scopes none = {{"A", "global"}, {"B", "global"}, {"C", "global"}, {"D", "global"}};
  EXPECT_EQ(placed(text, 0), none);
}

// Regions follow each other on the stack of the thread that launches them, under its own buffers.
TEST(PlaceAllocations, RegionsShareWhatTheKernelLeaves) {
  const char* text = R"(// attr [A] storage_scope = "local"
allocate A[float32 * 64]
// attr [p] parallel_launch = 4
// attr [B] storage_scope = "local"
allocate B[float32 * 128]
B[0] = A[0]
// attr [q] parallel_launch = 4
// attr [C] storage_scope = "local"
allocate C[float32 * 192]
C[0] = A[0]
)";
  const Scopes all = {{"A", "local"}, {"B", "local"}, {"C", "local"}};
  EXPECT_EQ(placed(text, 256 + 768), all);
  const Scopes less = {{"A", "local"}, {"B", "local"}, {"C", "global"}};
  EXPECT_EQ(placed(text, 256 + 767), less);
}

TEST(PlaceAllocations, CodeGenerationCopiesWhatUnrolledLoopsAllocate) {
  const char* text = R"(unrolled (i, 0, 8) {
  // attr [A] storage_scope = "local"
  allocate A[float32 * 64]
  A[0] = 0.000000f
}
)";
  EXPECT_EQ(placed(text, 2048), (Scopes{{"A", "local"}}));
  EXPECT_EQ(placed(text, 2047), (Scopes{{"A", "global"}}));
}

TEST(PlaceAllocations, WhatHasNoConstantSizeIsWorkspace) {
  const char* text = R"(declare n: int32
// attr [A] storage_scope = "local"
allocate A[float32 * n]
A[0] = 0.000000f
)";
  EXPECT_EQ(placed(text, 1 << 20), (Scopes{{"A", "global"}}));
}

// Runs f on a thread whose stack has so many bytes.
void run_on_stack(size_t bytes, std::function<void()> f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread;
  const auto body = [](void* given) -> void* {
    (*static_cast<std::function<void()>*>(given))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, body, &f), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// A chain of stages each of which keeps 60 KiB to itself, three times what the thread has.
TEST(PlaceAllocations, ManyLocalStagesDoNotOverflowAStack) {
  constexpr int kStages = 26, kElements = 15 << 10;
  const te::Tensor a = te::placeholder({4, kElements}, float_type(32), "A");
  std::vector<te::Tensor> chain = {a};
  for (int k = 0; k < kStages; ++k) {
    const te::Tensor last = chain.back();
    chain.push_back(te::compute(
        {4, kElements}, [&](const auto& i) { return last(i[0], i[1]) + 1; },
        fmt::format("T{}", k)));
  }
  const te::Tensor out = chain.back();
  for (const bool parallel : {false, true}) {
    const Schedule s = Schedule::create({out});
    for (size_t k = 1; k + 1 < chain.size(); ++k) {
      s[chain[k]].set_scope("local");
      s[chain[k]].compute_at(s[out], s[out].axis(0));
    }
    if (parallel) s[out].parallel(s[out].axis(0));
    const Kernel kernel = lower(s, {a, out}, Target::host());
    const Function f = compile(kernel, Target::host())->get_function(kernel.name);
    const NDArray in = NDArray::zeros({4, kElements}, float_type(32));
    const NDArray result = NDArray::zeros({4, kElements}, float_type(32));
    ThreadPool::global().set_num_threads(1);  // tasks run where the kernel is called
    run_on_stack(512 << 10, [&] { f(in, result); });
    for (int64_t i = 0; i < result.size(); ++i) ASSERT_EQ(result.data_as<float>()[i], kStages);
  }
}

}  // namespace
}  // namespace tw
