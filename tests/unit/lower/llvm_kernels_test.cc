// SPDX-License-Identifier: Apache-2.0
// Statements: loops, memory, masks, threads, checks; and what the machine code looks like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "runtime/error.h"
#include "runtime/thread_pool.h"
#include "runtime/workspace.h"
#include "tests/support/assembly.h"
#include "tests/unit/lower/llvm_support.h"

namespace tw::test {
namespace {

using test::count;
using test::inner_loop;
using ::testing::HasSubstr;

NDArray numbers(int64_t count, DType t = float_type(32)) {
  NDArray a = NDArray::empty({count}, t);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t v = (i * 7 + 3) % 23 - 11;
    if (t == float_type(32)) a.data_as<float>()[i] = static_cast<float>(v);
    if (t == int_type(32)) a.data_as<int32_t>()[i] = static_cast<int32_t>(v);
  }
  return a;
}

// Runs the kernel compiled and interpreted; integers in floats, so results are equal bit by bit.
void expect_as_interpreted(const Kernel& kernel, const std::vector<NDArray>& inputs,
                           const Target& target = Target::host(),
                           const CompileOptions& options = {}) {
  const std::vector<NDArray> want = interpret_on(kernel, inputs);
  std::vector<NDArray> mine;
  for (const NDArray& a : inputs) mine.push_back(a.copy());
  call(compile_function(kernel, target, options), mine);
  for (size_t i = 0; i < mine.size(); ++i) {
    ASSERT_EQ(std::memcmp(mine[i].data(), want[i].data(), static_cast<size_t>(want[i].byte_size())),
              0)
        << "argument " << i << " for " << target.text();
  }
}

const TensorArgument kA{"A", float_type(32), {256}};
const TensorArgument kB{"B", float_type(32), {256}};
const TensorArgument kO{"O", float_type(32), {256}, true};

void check(const std::string& text, const std::vector<TensorArgument>& tensors = {kA, kB, kO}) {
  SCOPED_TRACE(text);
  std::vector<NDArray> arrays;
  for (const TensorArgument& t : tensors) arrays.push_back(numbers(t.shape[0], t.dtype));
  for (const char* target : {"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64", "llvm -opt=0"}) {
    expect_as_interpreted(make_kernel(text, tensors), arrays, Target::parse(target));
  }
  expect_as_interpreted(make_kernel(text, tensors), arrays, Target::host(),
                        {.llvm_vectorize = true});
}

// Around the caches where the address is known to be aligned, and only there.
TEST(LlvmKernels, NontemporalStores) {
  const std::string text =
      "// attr [] pragma_store_nontemporal = 1\n"
      "for (i, 0, 16) { O[ramp((i*16), 1, 16)] = A[ramp((i*16), 1, 16)] }";
  check(text, {kA, kO});
  const auto module = [&](const std::string& body) {
    return compile({make_kernel(body, {kA, kO})}, Target::parse("llvm -mcpu=x86-64-v3"),
                   {.keep_sources = true})
        ->source("ll");
  };
  EXPECT_THAT(module(text), ::testing::Not(HasSubstr("!nontemporal")));
  EXPECT_THAT(module("// attr [O] storage_alignment = 64\n" + text), HasSubstr("!nontemporal"));
}

TEST(LlvmKernels, LoopsOfEveryKind) {
  for (const char* kind : {"for", "parallel", "vectorized", "unrolled"}) {
    check(fmt::format("{} (i, 0, 16) {{ for (j, 2, 12) {{ O[((i*16) + j)] = A[((i*16) + j)] }} }}",
                      kind));
  }
  check("for (i, 0, 1) { unrolled (j, 0, 1) { O[(i + j)] = 1.000000f } }");
  check("for (i, 0, 0) { O[i] = 1.000000f }");
  check("for (i, 0, 16) { for (j, 0, i) { O[((i*16) + j)] = A[j] } }");
  check("for (i, 0, 16) { for (j, (i - 8), 4) { if ((j >= 0)) { O[((i*16) + j)] = A[j] } } }");
  check("unrolled (i, 0, 90) { unrolled (j, 0, 50) { O[((i + j) % 256)] = A[i] } }");
  check("for (i, int64(0), int64(16)) { O[int32(i)] = A[(int32(i)*3)] }");
}

TEST(LlvmKernels, Accesses) {
  check("for (i, 0, 4) { O[ramp((i*32), 1, 32)] = A[ramp(((i*32) + 3), 1, 32)] }");
  check("for (i, 0, 4) { O[ramp((i*16), 1, 16)] = A[ramp((i*3), 2, 16)] }");
  check("for (i, 0, 4) { O[ramp((i*16), 4, 8)] = A[ramp(((i*16) + 15), -1, 8)] }");
  check("for (i, 0, 4) { O[ramp(((i*16) + 15), -1, 16)] = A[ramp((i*16), 0, 16)] }");
  check("for (i, 0, 4) { O[ramp((i*4), 16, 4)] = x4(A[i]) }");
  check("for (i, 0, 4) { O[((ramp(0, 1, 16)*x16(2)) + x16(i))] = A[(x16(i) + ramp(5, 3, 16))] }");
  check("for (i, 0, 4) { O[ramp((i*16), 1, 16)] = A[(ramp(i, 3, 16)*ramp(0, 1, 16) % x16(256))] }");
  check("for (i, 0, 4) { O[(ramp(i, 5, 8)*ramp(1, 1, 8) % x8(256))] = A[ramp((i*8), 1, 8)] }");
  const TensorArgument indices{"I", int_type(32), {256}};
  check("for (i, 0, 16) { O[ramp((i*16), 1, 16)] = A[(I[ramp((i*16), 1, 16)] + x16(11))] }",
        {kA, indices, kO});
}

TEST(LlvmKernels, Predicates) {
  const std::string mask = "((ramp((i*16), 1, 16)) < x16(37))";
  for (const char* access :
       {"ramp((i*16), 1, 16)", "ramp((i*16), -1, 16)", "ramp((i*16), 2, 16)"}) {
    const std::string shifted = std::string(access).replace(5, 6, "((i*16) + 20)");
    check(fmt::format("for (i, 0, 3) {{ O[{0}] = A[{0}] if {1} }}", shifted, mask));
    check(fmt::format("for (i, 0, 3) {{ O[{0}] = (A[{0}] if {1}) }}", shifted, mask));
  }
}

// Up to the last element, from the first and from inside.
TEST(LlvmKernels, SmallStrides) {
  for (int stride : {2, 3, 4, 5}) {
    for (int lanes : {4, 8, 16, 32}) {
      const int last = (lanes - 1) * stride;
      check(
          fmt::format("for (i, 0, 3) {{ O[ramp((i*{0}), 1, {0})] = A[ramp(({1} - i), {2}, {0})] }}",
                      lanes, 255 - last, stride));
      check(
          fmt::format("for (i, 0, 3) {{ O[ramp((i*{0}), 1, {0})] = "
                      "(A[ramp((i - 1), {1}, {0})] if (x{0}(1) <= ramp(i, 1, {0}))) }}",
                      lanes, stride));
    }
  }
}

TEST(LlvmKernels, SmallStridesAreShuffled) {
  const Kernel kernel =
      make_kernel("for (i, 0, 4) { O[ramp((i*16), 1, 16)] = A[ramp((i*32), 2, 16)] }", {kA, kO});
  const std::string assembly = assembly_for("llvm -mcpu=sapphirerapids", kernel);
  EXPECT_THAT(assembly, HasSubstr("vperm"));
  EXPECT_THAT(assembly, ::testing::Not(HasSubstr("gather")));
}

TEST(LlvmKernels, Allocations) {
  for (const char* scope : {"local", "global"}) {
    for (int size : {16, 512, 40000}) {
      check(fmt::format(R"(
        for (i, 0, 4) {{
          // attr [t] storage_scope = "{}"
          allocate t[float32 * {}]
          for (j, 0, 16) {{ t[j] = A[((i*16) + j)] }}
          for (j, 0, 16) {{ O[((i*16) + j)] = (t[(15 - j)] + B[j]) }}
        }})",
                        scope, size));
    }
  }
  check(
      "for (i, 1, 8) { allocate t[float32 * i] for (j, 0, i) { t[j] = A[j] } "
      "for (j, 0, i) { O[j] = t[j] } }");
}

TEST(LlvmKernels, Bindings) {
  check("let n = 5 for (i, 0, n) { let x = A[i] let k = ((i*n) + 1) O[k] = (x*x) }");
  check("for (i, 0, 16) { O[i] = (let x = A[i] in (x*(x + 1.000000f))) }");
  check("for (i, 0, 16) { if (likely((i < 7))) { O[i] = A[i] } else { O[i] = B[i] } }");
  check("for (i, 0, 16) { O[i] = tvm_if_then_else(((i % 3) == 0), A[(i + 200)], 0.000000f) }");
}

TEST(LlvmKernels, ComputeScope) {
  check(R"(
    // attr [] compute_scope = "kernel_compute"
    for (i, 0, 16) { for (k, 0, 16) { O[i] = (O[i] + (A[((i*16) + k)]*B[k])) } })");
}

TEST(LlvmKernels, ParallelLaunch) {
  const std::string text = R"(
    let n = 21
    for (o, 0, 3) {
      let tasks = min(num_threads(), n)
      // attr [task] parallel_launch = tasks
      let chunk = (n/tasks)
      let rest = (n % tasks)
      for (y, ((task*chunk) + min(task, rest)), (chunk + select((task < rest), 1, 0))) {
        O[((o*n) + y)] = (A[((o*n) + y)] + B[y])
      }
    })";
  std::vector<NDArray> arrays = {numbers(256), numbers(256), numbers(256)};
  const Kernel kernel = make_kernel(text, {kA, kB, kO});
  expect_as_interpreted(kernel, arrays);
}

TEST(LlvmKernels, DynamicParallelLaunch) {
  check("// attr [task] parallel_launch_dynamic = 16\nO[task] = (A[task] + B[task])");
  const Kernel kernel =
      make_kernel("// attr [task] parallel_launch_dynamic = 16\nO[task] = A[task]", {kA, kO});
  EXPECT_THAT(compile({kernel}, Target::host())->source("ll"),
              HasSubstr("call i32 @tw_parallel_for_dynamic("));
}

TEST(LlvmKernels, FailedAssertion) {
  const Kernel kernel = make_kernel(
      "allocate t[float32 * 4096]\nt[0] = A[0]\nassert((A[0] < 5.000000f), \"A[0] is "
      "large\")\nO[0] = t[0]",
      {kA, kO});
  const Function f = compile_function(kernel);
  NDArray a = NDArray::zeros({256}, float_type(32)), o = NDArray::zeros({256}, float_type(32));
  f(a, o);
  const size_t kept = workspace_kept_bytes();
  a.data_as<float>()[0] = 7;
  try {
    f(a, o);
    FAIL() << "nothing thrown";
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ErrorCode::AssertionFailed);
    EXPECT_THAT(e.what(), HasSubstr("A[0] is large"));
  }
  EXPECT_EQ(workspace_kept_bytes(), kept) << "the workspace was not given back";
}

TEST(LlvmKernels, FailedAssertionInATask) {
  const Kernel kernel = make_kernel(
      "// attr [task] parallel_launch = 4\nassert((task < 3), \"task three\")\nO[task] = A[task]",
      {kA, kO});
  const Function f = compile_function(kernel);
  NDArray a = numbers(256), o = NDArray::zeros({256}, float_type(32));
  EXPECT_THROW(f(a, o), UserError);
}

TEST(LlvmKernels, ArgumentError) {
  const Kernel kernel = make_kernel(
      "assert((tensor_shape<int64>(0, 0) == int64(256)), argument_error<handle>(5, \"kernel\", "
      "\"A\", "
      "0, int64(256), tensor_shape<int64>(0, 0)))\nO[0] = A[0]",
      {kA, kO});
  const Function f = compile_function(kernel);
  NDArray o = NDArray::zeros({256}, float_type(32));
  f(numbers(256), o);
  try {
    f(numbers(12), o);
    FAIL() << "nothing thrown";
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ErrorCode::ArgumentShape);
    EXPECT_THAT(e.what(), HasSubstr("dimension 0 is 12, expected 256"));
  }
}

// A register tile of mr × nr: packed panels of A and B, accumulators in an array.
std::string register_tile(int mr, int nr, int k) {
  return fmt::format(R"(
    // attr [acc] storage_scope = "local"
    allocate acc[float32 * {0}]
    unrolled (i, 0, {1}) {{ unrolled (j, 0, {2}) {{ acc[ramp(((i*{3}) + (j*16)), 1, 16)] = x16(0.000000f) }} }}
    for (k, 0, {4}) {{
      unrolled (i, 0, {1}) {{ unrolled (j, 0, {2}) {{
        acc[ramp(((i*{3}) + (j*16)), 1, 16)] = (acc[ramp(((i*{3}) + (j*16)), 1, 16)] +
            (x16(A[((k*{1}) + i)])*B[ramp(((k*{3}) + (j*16)), 1, 16)]))
      }} }}
    }}
    unrolled (i, 0, {1}) {{ unrolled (j, 0, {2}) {{
      O[ramp(((i*{3}) + (j*16)), 1, 16)] = acc[ramp(((i*{3}) + (j*16)), 1, 16)]
    }} }})",
                     mr * nr, mr, nr / 16, nr, k);
}
Kernel register_tile_kernel(int mr, int nr, int k) {
  return make_kernel(register_tile(mr, nr, k), {{"A", float_type(32), {mr * k}},
                                                {"B", float_type(32), {nr * k}},
                                                {"O", float_type(32), {mr * nr}, true}});
}
TEST(LlvmKernels, RegisterTileStaysInRegisters) {
  const Kernel kernel = register_tile_kernel(14, 32, 64);
  const std::string loop = inner_loop(assembly_for("llvm -mcpu=sapphirerapids", kernel));
  EXPECT_EQ(count(loop, "vfmadd"), 28) << loop;
  EXPECT_THAT(loop, HasSubstr("%zmm"));
  EXPECT_THAT(loop, ::testing::Not(HasSubstr("%rsp")));
  EXPECT_THAT(loop, ::testing::Not(HasSubstr("%rbp)")));
  EXPECT_LE(count(loop, "\n"), 28 + 14 + 2 + 6) << "integer work in the inner loop:\n" << loop;
  expect_as_interpreted(kernel, {numbers(14 * 64), numbers(32 * 64), numbers(14 * 32)});
}

// Where the caller's stack lies must not matter.
TEST(LlvmKernels, VectorsOnTheStackLieWithinCacheLines) {
  const Kernel kernel = register_tile_kernel(20, 32, 64);  // more sums than registers
  const std::string assembly = assembly_for("llvm -mcpu=sapphirerapids", kernel);
  const auto moves = [&](const char* move) {
    const std::string pattern =
        fmt::format(R"({0}\t%zmm\d+, \d*\(%rsp|{0}\t\d*\(%rsp\), %zmm)", move);
    return std::regex_search(assembly, std::regex(pattern));
  };
  EXPECT_TRUE(moves("vmovaps")) << assembly;
  EXPECT_FALSE(moves("vmovups")) << assembly;
}

// The sums have one place for all of both loops over k, and another for each turn of the copy's
// loop, which keeps the array in memory.
TEST(LlvmKernels, SumsStayInRegistersThatALoopCopies) {
  const Kernel kernel = make_kernel(
      R"(
    for (t, 0, 4) {
      // attr [acc] storage_scope = "local"
      allocate acc[float32 * 128]
      unrolled (i, 0, 8) { acc[ramp((i*16), 1, 16)] = x16(0.000000f) }
      for (ko, 0, 4) { for (ki, 0, 8) {
        unrolled (i, 0, 8) {
          acc[ramp((i*16), 1, 16)] = (acc[ramp((i*16), 1, 16)] +
              (x16(A[((((t*32) + (ko*8)) + ki)*8 + i)])*B[ramp((((ko*8) + ki)*16), 1, 16)]))
        }
      } }
      for (i, 0, 8) { O[ramp(((t*128) + (i*16)), 1, 16)] = acc[ramp((i*16), 1, 16)] }
    })",
      {{"A", float_type(32), {1024}},
       {"B", float_type(32), {512}},
       {"O", float_type(32), {512}, true}});
  const std::string loop = inner_loop(assembly_for("llvm -mcpu=sapphirerapids", kernel));
  EXPECT_EQ(count(loop, "vfmadd"), 8) << loop;
  EXPECT_THAT(loop, ::testing::Not(HasSubstr("%rsp"))) << loop;
  expect_as_interpreted(kernel, {numbers(1024), numbers(512), numbers(512)});
}

// The outer of the loops over k fills an array, in more statements than LICM would compare with the
// sums.
TEST(LlvmKernels, SumsStayInRegistersInsideALoopOfManyAccesses) {
  const Kernel kernel = make_kernel(
      R"(
    // attr [acc] storage_scope = "local"
    allocate acc[float32 * 128]
    unrolled (i, 0, 8) { acc[ramp((i*16), 1, 16)] = x16(0.000000f) }
    for (ko, 0, 4) {
      // attr [packed] storage_scope = "local"
      allocate packed[float32 * 160]
      unrolled (i, 0, 160) { packed[i] = A[((i*4) + ko)] }
      for (ki, 0, 20) {
        unrolled (i, 0, 8) {
          acc[ramp((i*16), 1, 16)] = (acc[ramp((i*16), 1, 16)] +
              (x16(packed[((ki*8) + i)])*B[ramp((ki*16), 1, 16)]))
        }
      }
    }
    for (i, 0, 8) { O[ramp((i*16), 1, 16)] = acc[ramp((i*16), 1, 16)] })",
      {{"A", float_type(32), {640}},
       {"B", float_type(32), {320}},
       {"O", float_type(32), {128}, true}});
  const std::string loop = inner_loop(assembly_for("llvm -mcpu=sapphirerapids", kernel));
  EXPECT_EQ(count(loop, "vfmadd"), 8) << loop;
  EXPECT_EQ(count(loop, "vmovups\t%zmm") + count(loop, "vmovaps\t%zmm"), 0) << loop;
  expect_as_interpreted(kernel, {numbers(640), numbers(320), numbers(128)});
}

TEST(LlvmKernels, BroadcastFoldsIntoFma) {
  const std::string assembly = assembly_for("llvm -mcpu=znver4", register_tile_kernel(14, 16, 64));
  EXPECT_EQ(count(inner_loop(assembly), "{1to16}"), 14);
}

TEST(LlvmKernels, PreferredWidthIsKept) {
  // LLVM itself prefers 256 bits on this processor.
  const std::string text =
      "for (i, 0, 16) { O[ramp((i*16), 1, 16)] = (A[ramp((i*16), 1, 16)] + x16(1.000000f)) }";
  const Kernel kernel = make_kernel(text, {kA, kO});
  EXPECT_THAT(assembly_for("llvm -mcpu=icelake-server", kernel), HasSubstr("%zmm"));
  const std::string v3 = assembly_for("llvm -mcpu=x86-64-v3", kernel);
  EXPECT_THAT(v3, ::testing::Not(HasSubstr("%zmm")));
  EXPECT_THAT(v3, HasSubstr("%ymm"));
}

TEST(LlvmKernels, ReductionIntoMemoryIsKeptInARegister) {
  // Without aliasing facts the store to O would force loads of O and A in each iteration.
  const Kernel kernel = make_kernel(
      "for (k, 0, 64) { O[ramp(0, 1, 16)] = (O[ramp(0, 1, 16)] + (x16(A[k])*B[ramp((k*4), 1, "
      "16)])) }",
      {kA, {"B", float_type(32), {512}}, kO});
  const std::string loop = inner_loop(assembly_for("llvm -mcpu=sapphirerapids", kernel));
  EXPECT_EQ(count(loop, "vfmadd"), 1) << loop;
  EXPECT_EQ(count(loop, "vmovups\t%zmm"), 0) << loop;
}

// A prefetch is no reason to store and load what is summed.
TEST(LlvmKernels, SumsStayInRegistersAcrossPrefetches) {
  const Kernel kernel = make_kernel(
      "for (t, 0, 4) { for (k, 0, 64) { prefetch<int32>(B[((k*4) + 64)], 0, 3, 1) "
      "O[ramp((t*16), 1, 16)] = (O[ramp((t*16), 1, 16)] + (x16(A[k])*B[ramp((k*4), 1, 16)])) } }",
      {kA, {"B", float_type(32), {512}}, kO});
  const std::string loop = inner_loop(assembly_for("llvm -mcpu=sapphirerapids", kernel));
  EXPECT_EQ(count(loop, "prefetch"), 1) << loop;
  EXPECT_EQ(count(loop, "vfmadd"), 1) << loop;
  EXPECT_EQ(count(loop, "vmovups\t%zmm"), 0) << loop;
}

// Fetching a line for writing asks for it alone, without a second request when it is stored to.
TEST(LlvmKernels, PrefetchesForWritingOwnTheLine) {
  const Kernel kernel =
      make_kernel("for (i, 0, 3) { prefetch<int32>(O[(i*16)], 1, 3, 1) }", {kA, kO});
  EXPECT_THAT(assembly_for("llvm -mcpu=sapphirerapids", kernel), HasSubstr("prefetchw\t"));
  EXPECT_THAT(assembly_for("llvm -mcpu=znver4", kernel), HasSubstr("prefetchw\t"));
  // Haswell has no such instruction, and takes the line for reading.
  EXPECT_THAT(assembly_for("llvm -mcpu=x86-64-v3", kernel), HasSubstr("prefetcht0\t"));
}

TEST(LlvmKernels, PredicateBecomesAMask) {
  const Kernel kernel = make_kernel(
      "for (i, 0, 3) { O[ramp((i*16), 1, 16)] = (A[ramp((i*16), 1, 16)] if (ramp((i*16), 1, 16) < "
      "x16(37))) "
      "if (ramp((i*16), 1, 16) < x16(37)) }",
      {kA, kO});
  const std::string assembly = assembly_for("llvm -mcpu=sapphirerapids", kernel);
  EXPECT_THAT(assembly, HasSubstr("{%k"));
  EXPECT_THAT(assembly, ::testing::Not(HasSubstr("vmovss")));
}

}  // namespace
}  // namespace tw::test
