// SPDX-License-Identifier: Apache-2.0
#include "runtime/ndarray.h"

#include <sys/mman.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "runtime/error.h"

namespace tw {
namespace {

// Bytes of one element, all lanes; DLPack's layout.
int64_t bytes_of(DType type) { return int64_t(type.element_bytes()) * type.lanes; }

int64_t count(std::span<const int64_t> shape) {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

// Byte distances of the lowest and one past the highest byte of a view from its first element.
struct Footprint {
  int64_t low = 0, high = 0;
};
// Nothing when a number does not fit 64 bits.
std::optional<Footprint> footprint(std::span<const int64_t> shape, std::span<const int64_t> strides,
                                   int64_t element) {
  Footprint f;
  if (std::ranges::find(shape, 0) != shape.end()) return f;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach)) return {};
    int64_t& side = reach < 0 ? f.low : f.high;
    if (__builtin_add_overflow(side, reach, &side)) return {};
  }
  if (__builtin_add_overflow(f.high, 1, &f.high)) return {};
  if (__builtin_mul_overflow(f.low, element, &f.low)) return {};
  if (__builtin_mul_overflow(f.high, element, &f.high)) return {};
  return f;
}

// Visits every element of a shape in row-major order as runs along the last axis.
// run(offset_a, offset_b) gets element offsets under two sets of strides.
template <class Run>
void for_each_run(std::span<const int64_t> shape, std::span<const int64_t> a,
                  std::span<const int64_t> b, Run run) {
  if (std::ranges::find(shape, 0) != shape.end()) return;
  const size_t outer = shape.empty() ? 0 : shape.size() - 1;
  std::vector<int64_t> index(outer, 0);
  int64_t at_a = 0, at_b = 0;
  for (;;) {
    run(at_a, at_b);
    size_t axis = outer;
    for (; axis > 0; --axis) {
      const size_t i = axis - 1;
      at_a += a[i];
      at_b += b[i];
      if (++index[i] < shape[i]) break;
      at_a -= shape[i] * a[i];
      at_b -= shape[i] * b[i];
      index[i] = 0;
    }
    if (axis == 0) return;
  }
}

void copy_strided(std::span<const int64_t> shape, int64_t element, char* to,
                  std::span<const int64_t> to_strides, const char* from,
                  std::span<const int64_t> from_strides) {
  const int64_t extent = shape.empty() ? 1 : shape.back();
  const int64_t to_step = shape.empty() ? 1 : to_strides.back();
  const int64_t from_step = shape.empty() ? 1 : from_strides.back();
  const auto bytes = static_cast<size_t>(element);
  for_each_run(shape, to_strides, from_strides, [&](int64_t at_to, int64_t at_from) {
    char* target = to + at_to * element;
    const char* source = from + at_from * element;
    if (to_step == 1 && from_step == 1) {
      std::memmove(target, source, bytes * static_cast<size_t>(extent));
      return;
    }
    for (int64_t i = 0; i < extent; ++i) {
      std::memcpy(target + i * to_step * element, source + i * from_step * element, bytes);
    }
  });
}

const char* device_name(int32_t device) {
  switch (device) {
    case kDLCPU:
      return "cpu";
    case kDLCUDA:
      return "cuda";
    case kDLCUDAHost:
      return "cuda_host";
    case kDLROCM:
      return "rocm";
    case kDLMetal:
      return "metal";
    case kDLVulkan:
      return "vulkan";
    case kDLOneAPI:
      return "oneapi";
    default:
      return "unknown";
  }
}

}  // namespace

// What a view is. Views of one memory share its owner.
struct NDArray::Body {
  std::vector<int64_t> shape, strides;
  DType dtype;
  bool read_only = false;
  std::shared_ptr<void> memory;  // owner; its pointer is the base that byte_offset counts from
  int64_t low = 0, high = 0;     // bytes around the first element that belong to the memory
  DLTensor tensor{};             // points into shape and strides

  Body(std::vector<int64_t> shape_, std::vector<int64_t> strides_, DType dtype_, void* base,
       uint64_t byte_offset, std::shared_ptr<void> memory_)
      : shape(std::move(shape_)),
        strides(std::move(strides_)),
        dtype(dtype_),
        memory(std::move(memory_)) {
    tensor.data = base;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.dtype = tw::to_dlpack(dtype);
    tensor.shape = shape.data();
    tensor.strides = strides.data();
    tensor.byte_offset = byte_offset;
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
};

DLDataType to_dlpack(DType type) {
  const auto bits = type.is_bool() ? uint8_t(8) : type.bits;
  return {static_cast<uint8_t>(type.code), bits, type.lanes};
}

DType from_dlpack(DLDataType type) {
  const bool whole = type.bits == 8 || type.bits == 16 || type.bits == 32 || type.bits == 64;
  if (type.lanes >= 1) {
    switch (type.code) {
      case kDLInt:
        if (whole) return int_type(type.bits, type.lanes);
        break;
      case kDLUInt:
        if (whole) return uint_type(type.bits, type.lanes);
        break;
      case kDLFloat:
        if (whole && type.bits != 8) return float_type(type.bits, type.lanes);
        break;
      case kDLBfloat:
        if (type.bits == 16) return bfloat_type(type.bits, type.lanes);
        break;
      case kDLBool:
        if (type.bits == 8) return bool_type(type.lanes);
        break;
      default:
        break;
    }
  }
  raise({.code = ErrorCode::ArgumentDType,
         .what = fmt::format("a tensor of {} cannot be taken in", to_string(type)),
         .legal = "int8 … int64, uint8 … uint64, float16, float32, float64, bfloat16, bool"});
}

std::string to_string(DLDataType type) {
  static constexpr const char* kNames[] = {"int",    "uint",    "float", "handle",
                                           "bfloat", "complex", "bool"};
  std::string text;
  if (type.code == kDLBool && type.bits == 8) {
    text = "bool";
  } else if (type.code < std::size(kNames)) {
    text = fmt::format("{}{}", kNames[type.code], type.bits);
  } else {
    text = fmt::format("type{}_{}", type.code, type.bits);
  }
  if (type.lanes != 1) text += fmt::format("x{}", type.lanes);
  return text;
}

std::vector<int64_t> compact_strides(std::span<const int64_t> shape, int64_t element_bytes) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1, bytes = 0;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    // An extent of 0 leaves the outer strides as if it were 1, so that they stay distinct.
    if (shape[i] < 0 || __builtin_mul_overflow(stride, std::max<int64_t>(shape[i], 1), &stride) ||
        __builtin_mul_overflow(stride, element_bytes, &bytes)) {
      raise({.code = ErrorCode::BadShape,
             .what = fmt::format("shape [{}] {}", fmt::join(shape, ", "),
                                 shape[i] < 0 ? "has a negative extent" : "is too large"),
             .legal = "extents of zero and more, less than 2^63 bytes in all"});
    }
  }
  return strides;
}

namespace {

// Aligned memory of a multiple of kAlignment bytes; null where there is none. Large arrays ask for
// pages of 2 MiB, as NumPy's do: with the usual ones, and on virtual machines above all, whoever
// reads several planes of an image waits for the tables of pages.
void* allocate(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  if (bytes < 2 * kHugePage) return std::aligned_alloc(NDArray::kAlignment, bytes);
  if (bytes > SIZE_MAX - kHugePage) return nullptr;
  void* memory = std::aligned_alloc(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage);
  // A wish: where the system does not grant it the memory is as good.
  if (memory != nullptr) madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

NDArray NDArray::empty(std::span<const int64_t> shape, DType dtype) {
  std::vector<int64_t> strides = compact_strides(shape, bytes_of(dtype));
  const int64_t bytes = count(shape) * bytes_of(dtype);
  // Rounded up to whole lines, so that a vector load of the last elements stays inside.
  const size_t rounded =
      (std::max<size_t>(static_cast<size_t>(bytes), 1) + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = allocate(rounded);
  if (memory == nullptr) {
    raise({.code = ErrorCode::OutOfMemory,
           .what = fmt::format("cannot allocate {} bytes for shape [{}] of {}", bytes,
                               fmt::join(shape, ", "), to_string(dtype))});
  }
  auto body = std::make_shared<Body>(std::vector(shape.begin(), shape.end()), std::move(strides),
                                     dtype, memory, 0, std::shared_ptr<void>(memory, std::free));
  body->high = bytes;
  return NDArray(std::move(body));
}

NDArray NDArray::empty(std::initializer_list<int64_t> shape, DType dtype) {
  return empty(std::span(shape.begin(), shape.size()), dtype);
}

NDArray NDArray::zeros(std::span<const int64_t> shape, DType dtype) {
  NDArray array = empty(shape, dtype);
  std::memset(array.data(), 0, static_cast<size_t>(array.byte_size()));
  return array;
}

NDArray NDArray::zeros(std::initializer_list<int64_t> shape, DType dtype) {
  return zeros(std::span(shape.begin(), shape.size()), dtype);
}

NDArray NDArray::over(void* memory, std::shared_ptr<const void> owner,
                      std::span<const int64_t> shape, DType dtype, bool read_only) {
  auto body = std::make_shared<Body>(
      std::vector(shape.begin(), shape.end()), compact_strides(shape, bytes_of(dtype)), dtype,
      memory, 0, std::shared_ptr<void>(std::const_pointer_cast<void>(owner), memory));
  body->read_only = read_only;
  body->high = count(shape) * bytes_of(dtype);
  return NDArray(std::move(body));
}

template <class Managed>
NDArray NDArray::adopt(Managed* managed, bool read_only) {
  const DLTensor& t = managed->dl_tensor;
  if (t.device.device_type != kDLCPU) {
    raise({.code = ErrorCode::ArgumentDevice,
           .what = fmt::format("the tensor lives on {}:{}", device_name(t.device.device_type),
                               t.device.device_id),
           .legal = "a tensor on the cpu; copy it there first"});
  }
  const DType dtype = tw::from_dlpack(t.dtype);
  if (t.ndim < 0 || (t.ndim > 0 && t.shape == nullptr)) {
    raise({.code = ErrorCode::ArgumentShape,
           .what = fmt::format("the tensor has {} dimensions and {} shape", t.ndim,
                               t.shape == nullptr ? "no" : "a")});
  }
  const auto rank = static_cast<size_t>(t.ndim);
  const std::span<const int64_t> extents(t.shape, rank);
  std::vector<int64_t> compact = compact_strides(extents, bytes_of(dtype));
  std::vector<int64_t> strides =
      t.strides == nullptr ? std::move(compact) : std::vector(t.strides, t.strides + rank);
  if (t.data == nullptr && std::ranges::find(extents, 0) == extents.end()) {
    raise({.code = ErrorCode::ArgumentNull, .what = "the tensor has elements and a null pointer"});
  }
  const auto reach = footprint(extents, strides, bytes_of(dtype));
  if (!reach) {
    raise({.code = ErrorCode::ArgumentStrides,
           .what = fmt::format("strides [{}] reach beyond the address space",
                               fmt::join(strides, ", "))});
  }
  auto body = std::make_shared<Body>(std::vector(extents.begin(), extents.end()),
                                     std::move(strides), dtype, t.data, t.byte_offset, nullptr);
  body->read_only = read_only;
  body->low = reach->low;
  body->high = reach->high;
  // Ownership moves last, when nothing can throw any more: until then the caller's is the deleter.
  struct Owner {
    Managed* managed = nullptr;
    ~Owner() {
      if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
    }
  };
  auto owner = std::make_shared<Owner>();
  body->memory = std::shared_ptr<void>(owner, t.data);
  owner->managed = managed;
  return NDArray(std::move(body));
}

NDArray NDArray::from_dlpack(DLManagedTensor* tensor) {
  if (tensor == nullptr) raise({.code = ErrorCode::ArgumentNull, .what = "no tensor"});
  return adopt(tensor, false);
}

NDArray NDArray::from_dlpack(DLManagedTensorVersioned* tensor) {
  if (tensor == nullptr) raise({.code = ErrorCode::ArgumentNull, .what = "no tensor"});
  if (tensor->version.major != DLPACK_MAJOR_VERSION) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("the tensor speaks DLPack {}.{}", tensor->version.major,
                               tensor->version.minor),
           .legal = fmt::format("DLPack {}.x", DLPACK_MAJOR_VERSION)});
  }
  return adopt(tensor, (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0);
}

template <class Managed>
Managed* NDArray::lend() const {
  struct Lent {
    std::shared_ptr<const Body> body;
    Managed managed;
  };
  auto* lent = new Lent{body_, {}};
  lent->managed.dl_tensor = body_->tensor;
  lent->managed.manager_ctx = lent;
  lent->managed.deleter = [](Managed* self) { delete static_cast<Lent*>(self->manager_ctx); };
  return &lent->managed;
}

DLManagedTensor* NDArray::to_dlpack() const {
  TW_CHECK(defined());
  if (read_only()) {
    raise({.code = ErrorCode::BadArgument,
           .what = "a read-only array cannot be lent through unversioned DLPack",
           .legal = "DLPack 1.0 (to_dlpack_versioned), or a copy"});
  }
  return lend<DLManagedTensor>();
}

DLManagedTensorVersioned* NDArray::to_dlpack_versioned() const {
  TW_CHECK(defined());
  auto* managed = lend<DLManagedTensorVersioned>();
  managed->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed->flags = read_only() ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  return managed;
}

std::span<const int64_t> NDArray::shape() const { return body_->shape; }
std::span<const int64_t> NDArray::strides() const { return body_->strides; }
int NDArray::ndim() const { return body_->tensor.ndim; }
DType NDArray::dtype() const { return body_->dtype; }
int64_t NDArray::size() const { return count(body_->shape); }
int64_t NDArray::byte_size() const { return size() * bytes_of(dtype()); }
uint64_t NDArray::byte_offset() const { return body_->tensor.byte_offset; }
bool NDArray::read_only() const { return body_->read_only; }
const DLTensor& NDArray::tensor() const { return body_->tensor; }

void* NDArray::data() const {
  const DLTensor& t = body_->tensor;
  return t.data == nullptr ? nullptr : static_cast<char*>(t.data) + t.byte_offset;
}

bool NDArray::is_contiguous() const {
  int64_t expected = 1;
  if (size() == 0) return true;
  for (size_t i = body_->shape.size(); i-- > 0;) {
    // The stride of an extent of 1 is never used; libraries put anything there.
    if (body_->shape[i] != 1 && body_->strides[i] != expected) return false;
    expected *= body_->shape[i];
  }
  return true;
}

NDArray NDArray::view(std::span<const int64_t> shape, std::span<const int64_t> strides,
                      int64_t offset) const {
  TW_CHECK(defined());
  const int64_t element = bytes_of(dtype());
  (void)compact_strides(shape, element);  // refuses negative and huge shapes
  if (strides.size() != shape.size()) {
    raise({.code = ErrorCode::BadShape,
           .what = fmt::format("{} strides for {} dimensions", strides.size(), shape.size())});
  }
  const auto reach = footprint(shape, strides, element);
  int64_t shift = 0;
  const bool inside = reach && !__builtin_mul_overflow(offset, element, &shift) &&
                      shift >= body_->low && shift <= body_->high &&
                      reach->low >= body_->low - shift && reach->high <= body_->high - shift;
  if (!inside) {
    raise({.code = ErrorCode::OutOfBounds,
           .what = fmt::format("a view of shape [{}], strides [{}], offset {} leaves the array",
                               fmt::join(shape, ", "), fmt::join(strides, ", "), offset),
           .legal =
               fmt::format("elements {} to {}", body_->low / element, body_->high / element - 1)});
  }
  const DLTensor& t = body_->tensor;
  auto body = std::make_shared<Body>(std::vector(shape.begin(), shape.end()),
                                     std::vector(strides.begin(), strides.end()), dtype(), t.data,
                                     t.byte_offset + static_cast<uint64_t>(shift), body_->memory);
  body->read_only = read_only();
  body->low = body_->low - shift;
  body->high = body_->high - shift;
  return NDArray(std::move(body));
}

NDArray NDArray::reshape(std::span<const int64_t> shape) const {
  std::vector<int64_t> strides = compact_strides(shape, bytes_of(dtype()));
  if (count(shape) != size() || !is_contiguous()) {
    raise({.code = ErrorCode::BadShape,
           .what = fmt::format("[{}] cannot become [{}]: {}", fmt::join(this->shape(), ", "),
                               fmt::join(shape, ", "),
                               is_contiguous() ? "the counts differ" : "it is not contiguous"),
           .legal = fmt::format("{} elements of a contiguous array", size())});
  }
  return view(shape, strides);
}

NDArray NDArray::as_read_only() const {
  NDArray same = view(shape(), strides());
  std::const_pointer_cast<Body>(same.body_)->read_only = true;
  return same;
}

NDArray NDArray::copy() const {
  NDArray fresh = empty(shape(), dtype());
  fresh.copy_from(*this);
  return fresh;
}

void NDArray::copy_from(const NDArray& source) const {
  if (!std::ranges::equal(shape(), source.shape()) || dtype() != source.dtype()) {
    raise({.code = ErrorCode::BadShape,
           .what = fmt::format("cannot copy [{}] of {} into [{}] of {}",
                               fmt::join(source.shape(), ", "), to_string(source.dtype()),
                               fmt::join(shape(), ", "), to_string(dtype()))});
  }
  if (read_only()) {
    raise({.code = ErrorCode::BadArgument, .what = "the array is read-only"});
  }
  copy_strided(shape(), bytes_of(dtype()), data_as<char>(), strides(), source.data_as<char>(),
               source.strides());
}

void NDArray::copy_from_bytes(const void* bytes) const {
  if (read_only()) {
    raise({.code = ErrorCode::BadArgument, .what = "the array is read-only"});
  }
  const int64_t element = bytes_of(dtype());
  copy_strided(shape(), element, data_as<char>(), strides(), static_cast<const char*>(bytes),
               compact_strides(shape(), element));
}

void NDArray::copy_to_bytes(void* bytes) const {
  const int64_t element = bytes_of(dtype());
  copy_strided(shape(), element, static_cast<char*>(bytes), compact_strides(shape(), element),
               data_as<char>(), strides());
}

}  // namespace tw
