// SPDX-License-Identifier: Apache-2.0
#include "runtime/ndarray.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/error.h"

namespace tw {
namespace {

using Shape = std::vector<int64_t>;

template <class F>
ErrorCode code_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::Internal;
}

Shape vector_of(std::span<const int64_t> s) { return {s.begin(), s.end()}; }

NDArray counting(std::initializer_list<int64_t> shape) {
  NDArray a = NDArray::empty(shape, int_type(32));
  std::iota(a.data_as<int32_t>(), a.data_as<int32_t>() + a.size(), 0);
  return a;
}

std::vector<int32_t> elements(const NDArray& a) {
  std::vector<int32_t> all(static_cast<size_t>(a.size()));
  a.copy_to_bytes(all.data());
  return all;
}

// A tensor of another library, that counts how often its deleter runs.
template <class Managed>
struct Foreign {
  std::vector<float> memory = std::vector<float>(24, 1.5f);
  Shape shape{2, 3};
  Shape strides{3, 1};
  int deleted = 0;
  Managed managed{};

  Foreign() {
    managed.dl_tensor = {memory.data(), {kDLCPU, 0},    2, {kDLFloat, 32, 1},
                         shape.data(),  strides.data(), 0};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; };
    if constexpr (requires { managed.version; }) managed.version = {1, 0};
  }
};

TEST(NDArray, EmptyIsCompactAndAligned) {
  for (DType type :
       {float_type(32), int_type(8), bfloat_type(16), bool_type(), float_type(32, 4)}) {
    const NDArray a = NDArray::empty({2, 3, 5}, type);
    EXPECT_EQ(vector_of(a.shape()), (Shape{2, 3, 5}));
    EXPECT_EQ(vector_of(a.strides()), (Shape{15, 5, 1}));
    EXPECT_EQ(a.size(), 30);
    EXPECT_EQ(a.byte_size(), 30 * type.element_bytes() * type.lanes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % NDArray::kAlignment, 0u);
    EXPECT_TRUE(a.is_contiguous());
    EXPECT_EQ(a.dtype(), type);
  }
}

TEST(NDArray, RankZeroAndZeroExtents) {
  const NDArray scalar = NDArray::zeros({}, float_type(64));
  EXPECT_EQ(scalar.ndim(), 0);
  EXPECT_EQ(scalar.size(), 1);
  EXPECT_EQ(*scalar.data_as<double>(), 0.0);
  const NDArray none = NDArray::zeros({4, 0, 2}, float_type(32));
  EXPECT_EQ(none.size(), 0);
  EXPECT_TRUE(none.is_contiguous());
  EXPECT_EQ(none.copy().size(), 0);
  EXPECT_EQ(none.reshape(Shape{0, 7}).size(), 0);
}

TEST(NDArray, ImpossibleShapes) {
  EXPECT_EQ(code_of([] { NDArray::empty({2, -1}, float_type(32)); }), ErrorCode::BadShape);
  EXPECT_EQ(code_of([] { NDArray::empty({int64_t(1) << 40, int64_t(1) << 40}, float_type(32)); }),
            ErrorCode::BadShape);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TW_SANITIZED_ALLOCATOR 1  // ends the process on a request of this size
#endif
#endif
#ifndef TW_SANITIZED_ALLOCATOR
  EXPECT_EQ(code_of([] { NDArray::empty({int64_t(1) << 60}, int_type(8)); }),
            ErrorCode::OutOfMemory);
#endif
#endif
}

TEST(NDArray, ViewsShareMemory) {
  NDArray a = counting({4, 6});
  NDArray transposed = a.view(Shape{6, 4}, Shape{1, 6});
  EXPECT_FALSE(transposed.is_contiguous());
  EXPECT_EQ(elements(transposed)[1], 6);
  NDArray corner = a.view(Shape{2, 2}, Shape{6, 1}, 6 * 2 + 4);
  EXPECT_EQ(elements(corner), (std::vector<int32_t>{16, 17, 22, 23}));
  EXPECT_EQ(corner.byte_offset(), 16u * 4);
  NDArray reversed = a.view(Shape{24}, Shape{-1}, 23);
  EXPECT_EQ(elements(reversed).front(), 23);
  EXPECT_EQ(elements(a.view(Shape{3}, Shape{0}, 5)), (std::vector<int32_t>{5, 5, 5}));
  a = NDArray();  // the views keep the memory
  EXPECT_EQ(elements(corner.copy()), (std::vector<int32_t>{16, 17, 22, 23}));
  // A view of a view reaches what the memory holds, no more.
  EXPECT_EQ(elements(corner.view(Shape{1}, Shape{1}, -16))[0], 0);
}

TEST(NDArray, ViewsStayInside) {
  const NDArray a = counting({4, 6});
  EXPECT_EQ(code_of([&] { a.view(Shape{25}, Shape{1}); }), ErrorCode::OutOfBounds);
  EXPECT_EQ(code_of([&] { a.view(Shape{24}, Shape{1}, 1); }), ErrorCode::OutOfBounds);
  EXPECT_EQ(code_of([&] { a.view(Shape{2}, Shape{-1}); }), ErrorCode::OutOfBounds);
  EXPECT_EQ(code_of([&] { a.view(Shape{1}, Shape{1}, -1); }), ErrorCode::OutOfBounds);
  EXPECT_EQ(code_of([&] { a.view(Shape{3}, Shape{int64_t(1) << 62}); }), ErrorCode::OutOfBounds);
  EXPECT_EQ(code_of([&] { a.view(Shape{2, 2}, Shape{1}); }), ErrorCode::BadShape);
  EXPECT_EQ(code_of([&] { a.reshape(Shape{5, 5}); }), ErrorCode::BadShape);
  EXPECT_EQ(code_of([&] { a.view(Shape{6, 4}, Shape{1, 6}).reshape(Shape{24}); }),
            ErrorCode::BadShape);
}

TEST(NDArray, CopiesBetweenLayouts) {
  const NDArray a = counting({2, 3, 4});
  NDArray b = NDArray::zeros({4, 3, 2}, int_type(32));
  b.view(Shape{2, 3, 4}, Shape{1, 2, 6}).copy_from(a);
  EXPECT_EQ(elements(b)[1], 12);
  EXPECT_EQ(elements(b.view(Shape{2, 3, 4}, Shape{1, 2, 6})), elements(a));
  EXPECT_EQ(code_of([&] { b.copy_from(a); }), ErrorCode::BadShape);
  const std::vector<int32_t> fresh(24, 9);
  b.copy_from_bytes(fresh.data());
  EXPECT_EQ(elements(b), fresh);
}

TEST(NDArray, ReadOnlyIsKept) {
  const NDArray a = counting({3}).as_read_only();
  EXPECT_TRUE(a.read_only());
  EXPECT_TRUE(a.view(Shape{2}, Shape{1}).read_only());
  EXPECT_FALSE(a.copy().read_only());
  EXPECT_EQ(code_of([&] { a.copy_from(a.copy()); }), ErrorCode::BadArgument);
  EXPECT_EQ(code_of([&] { a.to_dlpack(); }), ErrorCode::BadArgument);
  DLManagedTensorVersioned* lent = a.to_dlpack_versioned();
  EXPECT_EQ(lent->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  EXPECT_TRUE(NDArray::from_dlpack(lent).read_only());
}

TEST(NDArray, LendsThroughDlpack) {
  NDArray a = counting({4, 6});
  const NDArray part = a.view(Shape{2, 3}, Shape{6, 2}, 7);
  DLManagedTensor* lent = part.to_dlpack();
  const void* first = part.data();
  a = NDArray();
  EXPECT_EQ(static_cast<char*>(lent->dl_tensor.data) + lent->dl_tensor.byte_offset, first);
  EXPECT_EQ(lent->dl_tensor.ndim, 2);
  EXPECT_EQ(lent->dl_tensor.strides[1], 2);
  const NDArray back = NDArray::from_dlpack(lent);  // zero-copy there and back
  EXPECT_EQ(back.data(), first);
  EXPECT_EQ(elements(back), elements(part));
  NDArray::from_dlpack(part.to_dlpack_versioned());
}

template <class Managed>
void borrow() {
  Foreign<Managed> foreign;
  {
    NDArray a = NDArray::from_dlpack(&foreign.managed);
    EXPECT_EQ(a.data(), foreign.memory.data());
    const NDArray view = a.view(Shape{3, 2}, Shape{1, 3});
    a = NDArray();
    EXPECT_EQ(foreign.deleted, 0);
    EXPECT_EQ(code_of([&] { view.view(Shape{7}, Shape{1}); }), ErrorCode::OutOfBounds);
  }
  EXPECT_EQ(foreign.deleted, 1);
  {
    foreign.managed.deleter = nullptr;  // allowed: nothing to free
    NDArray::from_dlpack(&foreign.managed);
  }
}

TEST(NDArray, BorrowsThroughDlpack) {
  borrow<DLManagedTensor>();
  borrow<DLManagedTensorVersioned>();
}

TEST(NDArray, BorrowsAbsentStridesAndOffsets) {
  Foreign<DLManagedTensor> foreign;
  foreign.managed.dl_tensor.strides = nullptr;
  foreign.managed.dl_tensor.byte_offset = 8;
  const NDArray a = NDArray::from_dlpack(&foreign.managed);
  EXPECT_EQ(vector_of(a.strides()), (Shape{3, 1}));
  EXPECT_EQ(a.data(), foreign.memory.data() + 2);
}

TEST(NDArray, RefusesForeignTensorsAndLeavesThemToTheCaller) {
  Foreign<DLManagedTensor> foreign;
  const DLTensor good = foreign.managed.dl_tensor;
  const auto refused = [&](auto change) {
    foreign.managed.dl_tensor = good;
    change(foreign.managed.dl_tensor);
    const ErrorCode code = code_of([&] { NDArray::from_dlpack(&foreign.managed); });
    EXPECT_EQ(foreign.deleted, 0);
    return code;
  };
  EXPECT_EQ(refused([](DLTensor& t) { t.device = {kDLCUDA, 1}; }), ErrorCode::ArgumentDevice);
  EXPECT_EQ(refused([](DLTensor& t) { t.dtype = {kDLComplex, 64, 1}; }), ErrorCode::ArgumentDType);
  EXPECT_EQ(refused([](DLTensor& t) { t.dtype = {kDLFloat, 8, 1}; }), ErrorCode::ArgumentDType);
  EXPECT_EQ(refused([](DLTensor& t) { t.dtype = {kDLInt, 4, 1}; }), ErrorCode::ArgumentDType);
  EXPECT_EQ(refused([](DLTensor& t) { t.dtype = {99, 8, 1}; }), ErrorCode::ArgumentDType);
  EXPECT_EQ(refused([](DLTensor& t) { t.dtype.lanes = 0; }), ErrorCode::ArgumentDType);
  EXPECT_EQ(refused([](DLTensor& t) { t.data = nullptr; }), ErrorCode::ArgumentNull);
  EXPECT_EQ(refused([](DLTensor& t) { t.shape = nullptr; }), ErrorCode::ArgumentShape);
  EXPECT_EQ(refused([](DLTensor& t) { t.ndim = -1; }), ErrorCode::ArgumentShape);
  Shape negative{2, -3};
  EXPECT_EQ(refused([&](DLTensor& t) { t.shape = negative.data(); }), ErrorCode::BadShape);
  Shape far{int64_t(1) << 62, 1};
  Shape three{4, 3};
  EXPECT_EQ(refused([&](DLTensor& t) {
              t.strides = far.data();
              t.shape = three.data();
            }),
            ErrorCode::ArgumentStrides);
  EXPECT_EQ(code_of([] { NDArray::from_dlpack(static_cast<DLManagedTensor*>(nullptr)); }),
            ErrorCode::ArgumentNull);
  Foreign<DLManagedTensorVersioned> newer;
  newer.managed.version = {2, 0};
  EXPECT_EQ(code_of([&] { NDArray::from_dlpack(&newer.managed); }), ErrorCode::BadArgument);
}

TEST(NDArray, TypesCrossBothWays) {
  for (DType type : {int_type(8), int_type(64), uint_type(16), float_type(16), float_type(64),
                     bfloat_type(16), bool_type(), float_type(32, 8)}) {
    EXPECT_EQ(from_dlpack(to_dlpack(type)), type) << to_string(type);
    EXPECT_EQ(to_string(to_dlpack(type)), to_string(type));
  }
  EXPECT_EQ(to_dlpack(bool_type()).code, kDLBool);
  EXPECT_EQ(to_dlpack(bool_type()).bits, 8);
  EXPECT_EQ(to_string(DLDataType{kDLComplex, 64, 1}), "complex64");
  EXPECT_EQ(to_string(DLDataType{17, 8, 2}), "type17_8x2");
}

TEST(ThreadSanitizerNDArray, CopiesAreDroppedOnManyThreads) {
  Foreign<DLManagedTensor> foreign;
  NDArray a = NDArray::from_dlpack(&foreign.managed);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([copy = a] {
      for (int k = 0; k < 200; ++k) {
        const NDArray view = copy.view(Shape{3}, Shape{1});
        ASSERT_EQ(view.data_as<float>()[2], 1.5f);
      }
    });
  }
  a = NDArray();
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(foreign.deleted, 1);
}

}  // namespace
}  // namespace tw
