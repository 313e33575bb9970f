// SPDX-License-Identifier: Apache-2.0
// While loops: as passes leave them, and as machine code beside the interpreter.
#include <gtest/gtest.h>

#include "lower/pipeline.h"
#include "runtime/error.h"
#include "tests/support/expect_error.h"
#include "tests/unit/lower/llvm_support.h"
#include "tests/unit/lower/pass_text.h"

namespace tw::test {
namespace {

// Runs the kernel interpreted, then lowered by all passes and by none that can be left out, and
// compiled: results are equal bit by bit. Gives the interpreter's.
std::vector<NDArray> run_everywhere(const Kernel& kernel, const std::vector<NDArray>& arrays) {
  const std::vector<NDArray> want = interpret_on(kernel, arrays);
  std::vector<std::string> all;
  for (const Pass& p : passes()) {
    if (p.optional) all.emplace_back(p.name);
  }
  for (const std::vector<std::string>& disabled : {std::vector<std::string>{}, all}) {
    const LowerOptions options{.name = kernel.name, .disabled = disabled, .verify = true};
    const KernelModule lowered = run_passes(KernelModule(kernel), Target::host(), options);
    std::vector<NDArray> mine;
    for (const NDArray& a : arrays) mine.push_back(a.copy());
    call(compile(lowered.kernels, Target::host())->get_function(kernel.name), mine);
    for (size_t i = 0; i < mine.size(); ++i) {
      const auto bytes = static_cast<size_t>(want[i].byte_size());
      EXPECT_EQ(std::memcmp(mine[i].data(), want[i].data(), bytes), 0) << kernel.arguments[i].name;
    }
  }
  return want;
}

NDArray int32s(const std::vector<int32_t>& values) {
  NDArray a = NDArray::empty({static_cast<int64_t>(values.size())}, int_type(32));
  std::ranges::copy(values, a.data_as<int32_t>());
  return a;
}
std::vector<int32_t> values_of(const NDArray& a) {
  return {a.data_as<int32_t>(), a.data_as<int32_t>() + a.size()};
}

TEST(While, CollatzCountsInParallel) {
  const Kernel kernel = make_kernel(R"(parallel (i, 0, 20) {
  // attr [n] storage_scope = "local"
  allocate n[int32 * 1]
  n[0] = (i + 1)
  C[i] = 0
  while ((n[0] != 1)) {
    if (((n[0] % 2) == 0)) {
      n[0] = (n[0]/2)
    } else {
      n[0] = ((n[0]*3) + 1)
    }
    C[i] = (C[i] + 1)
  }
}
)",
                                    {{"C", int_type(32), {20}, true}});
  const auto got = run_everywhere(kernel, {int32s(std::vector<int32_t>(20))});
  const std::vector<int32_t> known{0,  1, 7, 2,  5,  8, 16, 3,  19, 6,
                                   14, 9, 9, 17, 17, 4, 12, 20, 20, 7};
  EXPECT_EQ(values_of(got[0]), known);
}

TEST(While, BinarySearchReadsWhatItNarrows) {
  const Kernel kernel = make_kernel(
      R"(for (i, 0, 6) {
  // attr [lo] storage_scope = "local"
  allocate lo[int32 * 1]
  // attr [hi] storage_scope = "global"
  allocate hi[int32 * 1]
  lo[0] = 0
  hi[0] = 9
  while ((lo[0] < hi[0])) {
    let middle = ((lo[0] + hi[0])/2)
    if ((A[middle] < X[i])) {
      lo[0] = (middle + 1)
    } else {
      hi[0] = middle
    }
  }
  C[i] = lo[0]
}
)",
      {{"A", int_type(32), {9}}, {"X", int_type(32), {6}}, {"C", int_type(32), {6}, true}});
  const auto got =
      run_everywhere(kernel, {int32s({-5, -1, 0, 2, 2, 7, 30, 31, 90}),
                              int32s({-9, -1, 1, 2, 90, 91}), int32s(std::vector<int32_t>(6))});
  EXPECT_EQ(values_of(got[2]), (std::vector<int32_t>{0, 1, 3, 3, 8, 9}));
}

TEST(While, LoopsNest) {
  // Greatest common divisors: while in a loop in a while, with addresses of all three.
  const Kernel kernel = make_kernel(
      R"(// attr [t] storage_scope = "local"
allocate t[int32 * 3]
t[0] = 0
while ((t[0] < 3)) {
  for (j, 0, 4) {
    t[1] = A[((t[0]*4) + j)]
    t[2] = B[j]
    while ((t[2] > 0)) {
      let rest = (t[1] % t[2])
      t[1] = t[2]
      t[2] = rest
    }
    C[((t[0]*4) + j)] = t[1]
  }
  t[0] = (t[0] + 1)
}
)",
      {{"A", int_type(32), {12}}, {"B", int_type(32), {4}}, {"C", int_type(32), {12}, true}});
  const auto got =
      run_everywhere(kernel, {int32s({12, 18, 7, 100, 1, 2, 3, 4, 48, 36, 35, 0}),
                              int32s({8, 12, 14, 75}), int32s(std::vector<int32_t>(12))});
  EXPECT_EQ(values_of(got[2]), (std::vector<int32_t>{4, 6, 7, 25, 1, 2, 1, 1, 8, 12, 7, 75}));
}

TEST(While, SideBySideWithMemoryThatCouldBeShared) {
  // A is read in every round, so B, which the loop fills later, must not take its memory.
  const Kernel kernel = make_kernel(R"(// attr [n] storage_scope = "local"
allocate n[int32 * 1]
n[0] = 0
// attr [A] storage_scope = "global"
allocate A[int32 * 4]
// attr [B] storage_scope = "global"
allocate B[int32 * 4]
for (i, 0, 4) {
  A[i] = (i*i)
}
while ((n[0] < 3)) {
  for (j, 0, 4) {
    B[j] = (A[j] + n[0])
  }
  for (k, 0, 4) {
    C[((n[0]*4) + k)] = (B[k]*2)
  }
  n[0] = (n[0] + 1)
}
)",
                                    {{"C", int_type(32), {12}, true}});
  const auto got = run_everywhere(kernel, {int32s(std::vector<int32_t>(12))});
  EXPECT_EQ(values_of(got[0]), (std::vector<int32_t>{0, 2, 8, 18, 2, 4, 10, 20, 4, 6, 12, 22}));
}

TEST(While, StorageMovesOut) {
  EXPECT_EQ(run_pass(pass::storage_rewrite, R"(declare C: int32*
while ((C[0] < 9)) {
  // attr [t] storage_scope = "local"
  allocate t[int32 * 2]
  t[0] = C[1]
  C[0] = t[0]
}
)"),
            R"(// attr [t] storage_scope = "local"
allocate t[int32 * 2]
while ((C[0] < 9)) {
  t[0] = C[1]
  C[0] = t[0]
}
)");
}

TEST(While, ConditionsReadByWhatTheBodyWrote) {
  const Kernel kernel = make_kernel(R"(C[0] = 0
while ((A[C[0]] > 0)) {
  C[0] = (C[0] + 1)
}
)",
                                    {{"A", int_type(32), {3}}, {"C", int_type(32), {1}, true}});
  const auto got = run_everywhere(kernel, {int32s({4, 1, -1}), int32s({0})});
  EXPECT_EQ(values_of(got[1]), std::vector<int32_t>{2});
}

TEST(While, CopiesOfAnUnrolledLoopHaveMemoryOfTheirOwn) {
  const std::string text = run_pass(pass::unroll_loop, R"(declare C: int32*
unrolled (i, 0, 2) {
  // attr [t] storage_scope = "local"
  allocate t[int32 * 1]
  t[0] = 0
  while ((t[0] < i)) {
    t[0] = (t[0] + 1)
  }
  C[i] = t[0]
}
)");
  EXPECT_NE(text.find("while ((t[0] < 0))"), std::string::npos) << text;
  EXPECT_NE(text.find("while ((t_1[0] < 1))"), std::string::npos) << text;
}

TEST(While, IsALoopThatStaysForUnrolling) {
  const std::string text = R"(declare C: int32*
for (i, 0, 2) {
  while ((C[i] < 4)) {
    C[i] = (C[i] + 1)
  }
}
)";
  const std::string kept = run_pass(pass::unroll_loop, text, {.auto_unroll_max_step = 64});
  EXPECT_NE(kept.find("for (i, 0, 2)"), std::string::npos) << kept;
}

TEST(While, HasNoVectorForm) {
  const ErrorInfo e = expect_error(ErrorCode::BadArgument, [] {
    run_pass(pass::vectorize_loop, R"(declare C: int32*
vectorized (i, 0, 4) {
  while ((C[i] < 4)) {
    C[i] = (C[i] + 1)
  }
}
)");
  });
  EXPECT_EQ(e.axis, "i");
  EXPECT_EQ(e.legal, "a serial, parallel or unrolled loop around it");
}

TEST(While, ThatNeverRunsIsNoOp) {
  EXPECT_EQ(run_pass(pass::remove_no_op, R"(declare C: int32*
while ((bool)0) {
  C[0] = 1
}
C[1] = 2
)"),
            "C[1] = 2\n");
  // What it waits for may come from elsewhere.
  const std::string waits = "while ((C[0] == 0)) {\n  0\n}\n";
  EXPECT_EQ(run_pass(pass::remove_no_op, "declare C: int32*\n" + waits), waits);
}

TEST(While, LikelyConditionsOfMemoryCutNoLoop) {
  // How far i goes before the condition fails is not known in front of the loop over i.
  const Kernel kernel = make_kernel(R"(// attr [t] storage_scope = "local"
allocate t[int32 * 1]
t[0] = 0
for (i, 0, 6) {
  while (likely((t[0] < (i*2)))) {
    t[0] = (t[0] + 3)
  }
  C[i] = t[0]
}
)",
                                    {{"C", int_type(32), {6}, true}});
  const auto got = run_everywhere(kernel, {int32s(std::vector<int32_t>(6))});
  EXPECT_EQ(values_of(got[0]), (std::vector<int32_t>{0, 3, 6, 6, 9, 12}));
}

TEST(While, VirtualThreadsShareWhatTheyCountAlike) {
  const std::string text = R"(declare C: int32*
// attr [] thread_axis = "vthread"
for (v, 0, 2) {
  // attr [n] storage_scope = "local"
  allocate n[int32 * 1]
  n[0] = 0
  while ((n[0] < LIMIT)) {
    C[((n[0]*2) + v)] = n[0]
    n[0] = (n[0] + 1)
  }
}
)";
  const auto with_limit = [&](const std::string& limit) {
    std::string t = text;
    t.replace(t.find("LIMIT"), 5, limit);
    return run_pass(pass::inject_virtual_thread, t);
  };
  // One counter, and the threads inside of its loop.
  const std::string shared = with_limit("3");
  EXPECT_LT(shared.find("while"), shared.find("unrolled (v")) << shared;
  // Each has its own number of rounds.
  const std::string own = with_limit("(v + 1)");
  EXPECT_GT(own.find("while"), own.find("unrolled (v")) << own;
}

}  // namespace
}  // namespace tw::test
