// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/thread_pool.h"
#include "tests/unit/lower/llvm_support.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

using ::testing::HasSubstr;

constexpr const char* kDeclarations = "declare A: float32*\ndeclare O: float32*\n";

std::string versioned(const std::string& text) {
  return run_pass(pass::nontemporal_stores, kDeclarations + text);
}

TEST(NontemporalStores, AlignmentIsTested) {
  EXPECT_EQ(versioned(R"(// attr [] pragma_store_nontemporal = 1
for (i, 0, 9) {
  O[ramp((i*4), 1, 4)] = A[ramp((i*4), 1, 4)]
}
)"),
            R"(if ((bitwise_and(address_bits(O), (uint64)15) == (uint64)0)) {
  // attr [O] storage_alignment = (uint64)16
  // attr [] pragma_store_nontemporal = 1
  for (i, 0, 9) {
    O[ramp((i*4), 1, 4)] = A[ramp((i*4), 1, 4)]
  }
} else {
  for (i_1, 0, 9) {
    O[ramp((i_1*4), 1, 4)] = A[ramp((i_1*4), 1, 4)]
  }
}
)");
}

TEST(NontemporalStores, BuffersOfTheKernelAreAligned) {
  const std::string text = R"(// attr [t] storage_scope = "global"
allocate t[float32 * 64]
// attr [] pragma_store_nontemporal = 1
for (i, 0, 16) {
  t[ramp((i*4), 1, 4)] = A[ramp((i*4), 1, 4)]
}
)";
  EXPECT_EQ(versioned(text), text);
}

// Their addresses cannot be tested before they are there.
TEST(NontemporalStores, BuffersInsideThePragmaAreAligned) {
  const std::string text = R"(// attr [] pragma_store_nontemporal = 1
for (i, 0, 16) {
  // attr [t] storage_scope = "global"
  allocate t[float32 * 4]
  t[ramp(0, 1, 4)] = A[ramp((i*4), 1, 4)]
  O[i] = t[2]
}
)";
  EXPECT_EQ(versioned(text), text);
}

TEST(NontemporalStores, OtherStoresStayAsTheyAre) {
  const std::string loop = "for (i, 0, 16) {\n  O[i] = A[i]\n}\n";
  EXPECT_EQ(versioned("// attr [] pragma_store_nontemporal = 1\n" + loop), loop);
  const std::string masked =
      "for (i, 0, 16) {\n  O[ramp((i*4), 1, 4)] = A[ramp((i*4), 1, 4)] if (ramp(0, 1, 4) < "
      "x4(3))\n}\n";
  EXPECT_EQ(versioned("// attr [] pragma_store_nontemporal = 1\n" + masked), masked);
  const std::string vectors =
      "for (i, 0, 16) {\n  O[ramp((i*4), 1, 4)] = A[ramp((i*4), 1, 4)]\n}\n";
  EXPECT_EQ(versioned("// attr [] pragma_store_nontemporal = 0\n" + vectors), vectors);
}

// `count` floats of the array from element `first` on.
NDArray part_of(const NDArray& array, int64_t first, int64_t count) {
  struct Owned {
    NDArray array;
    int64_t shape[1];
    DLManagedTensor managed;
  };
  auto* owned = new Owned{array, {count}, {}};
  owned->managed.dl_tensor = {.data = array.data_as<float>() + first,
                              .device = {kDLCPU, 0},
                              .ndim = 1,
                              .dtype = {kDLFloat, 32, 1},
                              .shape = owned->shape,
                              .strides = nullptr,
                              .byte_offset = 0};
  owned->managed.manager_ctx = owned;
  owned->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<Owned*>(self->manager_ctx);
  };
  return NDArray::from_dlpack(&owned->managed);
}

// Of a kernel with the pragma around a parallel loop: results are there for the caller, wherever
// arrays begin.
TEST(NontemporalStores, ResultsStayWhateverTheAlignment) {
  constexpr int64_t kCount = 16 * 1024;
  const test::TensorArgument o{"O", float_type(32), {kCount}, true},
      a{"A", float_type(32), {kCount}};
  const std::string text =
      "// attr [] pragma_store_nontemporal = 1\n"
      "parallel (i, 0, 16) { for (j, 0, 32) { O[ramp(((i*1024) + (j*32)), 1, 32)] = "
      "(A[ramp(((i*1024) + (j*32)), 1, 32)] + x32(1.000000f)) } }";
  const Target target = Target::parse("llvm -mcpu=x86-64-v3");
  const Kernel kernel =
      run_pass(pass::lower_parallel,
               run_pass(pass::nontemporal_stores, test::make_kernel(text, {o, a}), {}, target));
  const auto module = compile({kernel}, target, {.keep_sources = true});
  EXPECT_THAT(module->source("ll"), HasSubstr("!nontemporal"));
  EXPECT_THAT(module->source("asm"), HasSubstr("sfence"));
  const int threads = ThreadPool::global().num_threads();
  ThreadPool::global().set_num_threads(4);
  const Function function = test::compile_function(kernel, target);
  for (const int64_t first : {0, 1, 4, 8}) {
    const NDArray in = NDArray::zeros({kCount}, float_type(32));
    for (int64_t i = 0; i < kCount; ++i) in.data_as<float>()[i] = float(i);
    const NDArray whole = NDArray::zeros({kCount + 16}, float_type(32));
    const NDArray out = part_of(whole, first, kCount);
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::fill_n(out.data_as<float>(), kCount, -1.0F);
      test::call(function, {out, in});
      for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(out.data_as<float>()[i], float(i + 1)) << i;
    }
  }
  ThreadPool::global().set_num_threads(threads);
}

TEST(NontemporalStores, OnlyTheyAreFenced) {
  const test::TensorArgument o{"O", float_type(32), {64}, true};
  const Kernel kernel =
      test::make_kernel("for (i, 0, 4) { O[ramp((i*16), 1, 16)] = x16(1.000000f) }", {o});
  const auto module =
      compile({kernel}, Target::parse("llvm -mcpu=x86-64-v3"), {.keep_sources = true});
  EXPECT_THAT(module->source("asm"), ::testing::Not(HasSubstr("sfence")));
}

}  // namespace
}  // namespace tw
