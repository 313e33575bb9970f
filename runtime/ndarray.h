// SPDX-License-Identifier: Apache-2.0
// NDArray: a strided view of reference-counted memory on the CPU, exchanged with NumPy, PyTorch
// and others through DLPack without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/api.h"
#include "runtime/dlpack.h"
#include "runtime/dtype.h"

namespace tw {

// Cheap to copy: copies share memory. A default-constructed array is undefined and may only be
// assigned, copied and asked `defined()`.
class TW_API NDArray {
 public:
  // Memory that we allocate starts on a cache line and on any vector's boundary.
  static constexpr size_t kAlignment = 64;

  NDArray() = default;

  // Compact, row-major, uninitialised. Throws BadShape, OutOfMemory.
  static NDArray empty(std::span<const int64_t> shape, DType dtype);
  static NDArray empty(std::initializer_list<int64_t> shape, DType dtype);
  static NDArray zeros(std::span<const int64_t> shape, DType dtype);
  static NDArray zeros(std::initializer_list<int64_t> shape, DType dtype);

  // Compact and row-major, over memory that `owner` keeps alive. Throws BadShape.
  static NDArray over(void* memory, std::shared_ptr<const void> owner,
                      std::span<const int64_t> shape, DType dtype, bool read_only = false);

  // Takes over a tensor of another library; its deleter runs when the last view goes. Throws
  // ArgumentDevice, ArgumentDType, ArgumentShape, ArgumentNull; then the caller still owns it.
  static NDArray from_dlpack(DLManagedTensor* tensor);
  static NDArray from_dlpack(DLManagedTensorVersioned* tensor);
  // A tensor for another library, that shares this memory and keeps it alive. The unversioned
  // form cannot say "read only", so a read-only array is refused (BadArgument).
  DLManagedTensor* to_dlpack() const;
  DLManagedTensorVersioned* to_dlpack_versioned() const;

  bool defined() const { return body_ != nullptr; }
  std::span<const int64_t> shape() const;
  std::span<const int64_t> strides() const;  // in elements
  int ndim() const;
  DType dtype() const;
  int64_t size() const;          // elements
  int64_t byte_size() const;     // bytes of the elements, gaps not counted
  uint64_t byte_offset() const;  // of the first element, from the start of the owned memory
  bool read_only() const;
  bool is_contiguous() const;  // compact and row-major
  void* data() const;          // the first element; may be null where size() is 0
  template <class T>
  T* data_as() const {
    return static_cast<T*>(data());
  }
  // The view that kernels are given; lives as long as any copy of this array.
  const DLTensor& tensor() const;

  // Another view of the same memory. `offset` is in elements from this view's first; strides may
  // be zero or negative. Throws OutOfBounds when an element would lie outside the memory that this
  // array is known to own, BadShape.
  NDArray view(std::span<const int64_t> shape, std::span<const int64_t> strides,
               int64_t offset = 0) const;
  // The same elements in another shape. Throws BadShape when the counts differ or this array is
  // not contiguous.
  NDArray reshape(std::span<const int64_t> shape) const;
  // The same memory, to be written by nobody.
  NDArray as_read_only() const;
  // A contiguous copy in fresh memory.
  NDArray copy() const;
  // Copies the elements of `source`, same shape and type, into this view.
  void copy_from(const NDArray& source) const;
  // Copies from and to compact row-major memory of byte_size() bytes.
  void copy_from_bytes(const void* bytes) const;
  void copy_to_bytes(void* bytes) const;

 private:
  struct Body;
  explicit NDArray(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  template <class Managed>
  static NDArray adopt(Managed* managed, bool read_only);
  template <class Managed>
  Managed* lend() const;
  std::shared_ptr<const Body> body_;
};

// Between our types and DLPack's. A bool is 1 bit for us and 8 bits there. from_dlpack throws
// ArgumentDType for types that we do not have (complex, sub-byte, …).
TW_API DLDataType to_dlpack(DType type);
TW_API DType from_dlpack(DLDataType type);
// "float32", also for types that we do not have ("complex64", "type17_8").
TW_API std::string to_string(DLDataType type);

// Strides of a compact row-major array. Throws BadShape on a negative extent or when the size in
// bytes would pass 2⁶³.
TW_API std::vector<int64_t> compact_strides(std::span<const int64_t> shape, int64_t element_bytes);

}  // namespace tw
