// SPDX-License-Identifier: Apache-2.0
#include "runtime/c_api.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "runtime/module.h"
#include "runtime/ndarray.h"
#include "runtime/thread_pool.h"
#include "tests/support/compile_c.h"

namespace tw {
namespace {

TEST(CApi, PlainCProgram) {
  const std::string kernels = test::compile_c("tests/unit/runtime/kernels.c");
  const std::string program = test::compile_c("tests/unit/runtime/c_program.c");
  ASSERT_FALSE(kernels.empty() || program.empty());
  load_library(kernels);  // makes the names of c_api.h visible to what is loaded later
  void* handle = dlopen(program.c_str(), RTLD_NOW);
  ASSERT_NE(handle, nullptr) << dlerror();
  auto* run = reinterpret_cast<int (*)(const char*)>(dlsym(handle, "run"));
  ASSERT_NE(run, nullptr);
  const int threads = ThreadPool::global().num_threads();
  EXPECT_EQ(run(kernels.c_str()), 0) << "line of c_program.c; " << tw_last_error();
  ThreadPool::global().set_num_threads(threads);
  dlclose(handle);
  std::remove(kernels.c_str());
  std::remove(program.c_str());
}

TEST(CApi, ArgumentErrorsSayWhatAndWhere) {
  const auto text = [](int32_t check, int32_t index, int64_t expected, int64_t got) {
    EXPECT_EQ(tw_raise_argument_error(check, "conv", "A", index, expected, got), -1);
    return std::string(tw_last_error());
  };
  EXPECT_EQ(text(TW_CHECK_Count, 0, 3, 2), "'conv' got 2 arguments, expected 3");
  EXPECT_EQ(tw_last_error_code(), TW_ERROR_ArgumentCount);
  EXPECT_EQ(text(TW_CHECK_Shape, 1, 13, 12),
            "argument 'A' of 'conv': dimension 1 is 12, expected 13");
  EXPECT_EQ(tw_last_error_code(), TW_ERROR_ArgumentShape);
  EXPECT_EQ(text(TW_CHECK_DType, 0, tw_dtype_word(to_dlpack(float_type(32))),
                 tw_dtype_word(to_dlpack(bool_type()))),
            "argument 'A' of 'conv': dtype is bool, expected float32");
  EXPECT_EQ(text(TW_CHECK_Kind, 0, TW_ARG_TENSOR, TW_ARG_INT),
            "argument 'A' of 'conv' is int, expected tensor");
  EXPECT_EQ(text(TW_CHECK_Kind, 0, TW_ARG_TENSOR, 77),
            "argument 'A' of 'conv' is 77, expected tensor");
  EXPECT_EQ(text(TW_CHECK_Alignment, 0, 64, 0x1008),
            "argument 'A' of 'conv': data is aligned to 8 bytes, expected 64");
  EXPECT_EQ(text(TW_CHECK_Null, 0, 0, 0), "argument 'A' of 'conv' is null");
  for (int32_t check = 0; check < TW_NUM_CHECKS; ++check) {
    EXPECT_FALSE(text(check, 2, 5, 6).empty());
    EXPECT_NE(tw_last_error_code(), TW_ERROR_Internal) << check;
  }
  EXPECT_EQ(tw_raise_argument_error(TW_NUM_CHECKS, "conv", "A", 0, 0, 0), -1);
  EXPECT_EQ(tw_last_error_code(), TW_ERROR_Internal);
  EXPECT_EQ(tw_raise_argument_error(TW_CHECK_Null, nullptr, nullptr, 0, 0, 0), -1);
  tw_clear_error();
}

TEST(CApi, BytesThatTensorsShare) {
  alignas(64) float data[32] = {};
  int64_t eight[] = {8}, none[] = {0}, rows[] = {2, 4};
  const auto at = [&](int offset, int64_t* shape, int rank = 1) {
    return tw_tensor(data + offset, to_dlpack(float_type(32)), rank, shape);
  };
  const DLTensor a = at(8, eight);
  const auto with_a = [&](const DLTensor& b) {
    EXPECT_EQ(tw_tensor_overlap(&a, &b), tw_tensor_overlap(&b, &a));
    return tw_tensor_overlap(&a, &b);
  };
  EXPECT_EQ(with_a(a), 32);
  EXPECT_EQ(with_a(at(0, eight)), 0);
  EXPECT_EQ(with_a(at(16, eight)), 0);
  EXPECT_EQ(with_a(at(1, eight)), 4);
  EXPECT_EQ(with_a(at(13, rows, 2)), 12);
  EXPECT_EQ(with_a(at(10, none)), 0);
  DLTensor shifted = at(0, eight);
  shifted.byte_offset = 36;
  EXPECT_EQ(with_a(shifted), 28);

  // The check of an input that may take an output's memory: all of it, or none.
  const tw_argument_check check = {0, TW_CHECK_PartialOverlap, 0, 1, 0};
  const auto refused = [&](const DLTensor& b) {
    void* const args[] = {const_cast<DLTensor*>(&a), const_cast<DLTensor*>(&b)};
    const int32_t kinds[] = {TW_ARG_TENSOR, TW_ARG_TENSOR};
    tw_clear_error();
    return tw_check_arguments(&check, 1, "f", "A", args, kinds, 2) != 0;
  };
  EXPECT_FALSE(refused(a));
  EXPECT_FALSE(refused(at(8, rows, 2)));
  EXPECT_FALSE(refused(at(0, eight)));
  EXPECT_FALSE(refused(at(10, none)));
  EXPECT_TRUE(refused(at(1, eight)));
  EXPECT_EQ(tw_last_error_code(), TW_ERROR_ArgumentOverlap);
  EXPECT_TRUE(refused(at(9, eight)));
  tw_clear_error();
}

TEST(CApi, ArgumentsAreCheckedInTheOrderOfTheTable) {
  alignas(64) float data[32] = {};
  int64_t shape[] = {4, 8}, strides[] = {8, 1};
  DLTensor tensor = tw_tensor(data, to_dlpack(float_type(32)), 2, shape);
  const int64_t word = tw_dtype_word(tensor.dtype);
  const char names[] = "\0A";
  const tw_argument_check checks[] = {
      {1, TW_CHECK_Count, 0, 0, 0},       {TW_ARG_TENSOR, TW_CHECK_Kind, 0, 0, 1},
      {2, TW_CHECK_Rank, 0, 0, 1},        {word, TW_CHECK_DType, 0, 0, 1},
      {kDLCPU, TW_CHECK_Device, 0, 0, 1}, {4, TW_CHECK_Shape, 0, 0, 1},
      {8, TW_CHECK_Shape, 0, 1, 1},       {1, TW_CHECK_Strides, 0, 1, 1},
      {8, TW_CHECK_Strides, 0, 0, 1},     {0, TW_CHECK_Null, 0, 0, 1},
      {4, TW_CHECK_Alignment, 0, 0, 1},
  };
  const auto failure = [&](const DLTensor& t, int32_t kind = TW_ARG_TENSOR, int32_t count = 1) {
    void* const args[] = {const_cast<DLTensor*>(&t)};
    tw_clear_error();
    const int32_t result = tw_check_arguments(checks, static_cast<int32_t>(std::size(checks)), "f",
                                              names, args, &kind, count);
    EXPECT_EQ(result, tw_last_error_code() == TW_NO_ERROR ? 0 : -1);
    return std::string(tw_last_error());
  };
  const auto changed = [&](auto change) {
    DLTensor t = tensor;
    change(t);
    return failure(t);
  };
  EXPECT_EQ(failure(tensor), "");
  EXPECT_EQ(changed([&](DLTensor& t) { t.strides = strides; }), "");
  EXPECT_EQ(failure(tensor, TW_ARG_TENSOR, 2), "'f' got 2 arguments, expected 1");
  EXPECT_EQ(failure(tensor, TW_ARG_INT), "argument 'A' of 'f' is int, expected tensor");
  // What is not there to be read is not read: the rank comes first.
  EXPECT_EQ(changed([](DLTensor& t) { t.ndim = 0, t.shape = nullptr; }),
            "argument 'A' of 'f': 0 dimensions, expected 2");
  EXPECT_EQ(changed([](DLTensor& t) { t.dtype = to_dlpack(int_type(32)); }),
            "argument 'A' of 'f': dtype is int32, expected float32");
  EXPECT_EQ(changed([](DLTensor& t) { t.device.device_type = kDLCUDA; }),
            "argument 'A' of 'f': device type is 2, expected 1");
  int64_t other[] = {4, 9}, transposed[] = {1, 4};
  EXPECT_EQ(changed([&](DLTensor& t) { t.shape = other; }),
            "argument 'A' of 'f': dimension 1 is 9, expected 8");
  EXPECT_EQ(changed([&](DLTensor& t) { t.strides = transposed; }),
            "argument 'A' of 'f': stride 1 is 4 elements, expected 1");
  EXPECT_EQ(changed([](DLTensor& t) { t.data = nullptr; }), "argument 'A' of 'f' is null");
  EXPECT_EQ(changed([](DLTensor& t) { t.byte_offset = 2; }),
            "argument 'A' of 'f': data is aligned to 2 bytes, expected 4");
  tw_clear_error();
}

TEST(CApi, ErrorsBelongToTheirThread) {
  tw_set_error(TW_ERROR_BadShape, "mine");
  std::thread([] {
    EXPECT_EQ(tw_last_error_code(), TW_NO_ERROR);
    tw_set_error(TW_ERROR_OutOfMemory, "another's");
  }).join();
  EXPECT_STREQ(tw_last_error(), "mine");
  tw_set_error(12345, std::string(5000, 'x').c_str());  // cut, not overrun
  EXPECT_EQ(tw_last_error_code(), TW_ERROR_Internal);
  EXPECT_GT(std::string(tw_last_error()).size(), 500u);
  EXPECT_LT(std::string(tw_last_error()).size(), 5000u);
  tw_set_error(TW_ERROR_BadShape, tw_last_error() + 1000);  // its own text again
  EXPECT_EQ(tw_last_error()[0], 'x');
  tw_set_error(TW_ERROR_BadShape, nullptr);
  EXPECT_STREQ(tw_last_error(), "");
  tw_clear_error();
  EXPECT_STREQ(tw_error_name(TW_ERROR_ArgumentShape), "argument-shape");
  EXPECT_EQ(tw_error_name(-1), nullptr);
  EXPECT_EQ(tw_error_name(TW_NUM_ERROR_CODES), nullptr);
}

TEST(ThreadSanitizerCApi, ParallelForCarriesErrorsToTheCaller) {
  const auto throwing = [](int32_t id, int32_t, void*) -> int32_t {
    if (id == 1) throw std::runtime_error("out of a body");
    return 0;
  };
  EXPECT_NE(tw_parallel_for(throwing, nullptr, 4), 0);
  EXPECT_STREQ(tw_last_error(), "out of a body");
  const auto failing = [](int32_t id, int32_t, void*) -> int32_t {
    if (id != 2) return 0;
    tw_set_error(TW_ERROR_AssertionFailed, "in a body");
    return 9;
  };
  EXPECT_EQ(tw_parallel_for_dynamic(failing, nullptr, 4), 9);
  EXPECT_EQ(tw_last_error_code(), TW_ERROR_AssertionFailed);
  EXPECT_NE(tw_parallel_for(failing, nullptr, -4), 0);
  EXPECT_EQ(tw_last_error_code(), TW_ERROR_BadArgument);
  tw_clear_error();
}

TEST(CApi, WorkspaceReportsItsFailure) {
  EXPECT_EQ(tw_workspace_alloc(-5, 64), nullptr);
  EXPECT_EQ(tw_last_error_code(), TW_ERROR_OutOfMemory);
  tw_clear_error();
  void* block = tw_workspace_alloc(100, 64);
  EXPECT_NE(block, nullptr);
  tw_workspace_free(block);
}

}  // namespace
}  // namespace tw
