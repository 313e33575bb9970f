// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx/tensor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>

#include "runtime/error.h"

namespace tw::graph::onnx {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void unreadable(const fs::path& path, std::string_view why) {
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("cannot read '{}': {}", path.string(), why),
         .legal = "a file that can be read"});
}

[[noreturn]] void bad(const std::string& what, std::string why, std::string legal) {
  raise({.code = ErrorCode::BadGraph,
         .what = fmt::format("{}: {}", what, why),
         .legal = std::move(legal)});
}

struct Row {
  std::string_view name;
  std::optional<DType> type;
  TensorField field;  // where elements are that are not raw
};
// By TensorProto.DataType.
const Row kTypes[] = {
    {"UNDEFINED", {}, TensorField::None},
    {"FLOAT", float_type(32), TensorField::Float},
    {"UINT8", uint_type(8), TensorField::Int32},
    {"INT8", int_type(8), TensorField::Int32},
    {"UINT16", uint_type(16), TensorField::Int32},
    {"INT16", int_type(16), TensorField::Int32},
    {"INT32", int_type(32), TensorField::Int32},
    {"INT64", int_type(64), TensorField::Int64},
    {"STRING", {}, TensorField::String},
    {"BOOL", bool_type(), TensorField::Int32},
    {"FLOAT16", float_type(16), TensorField::Int32},
    {"DOUBLE", float_type(64), TensorField::Double},
    {"UINT32", uint_type(32), TensorField::UInt64},
    {"UINT64", uint_type(64), TensorField::UInt64},
    {"COMPLEX64", {}, TensorField::Float},
    {"COMPLEX128", {}, TensorField::Double},
    {"BFLOAT16", bfloat_type(16), TensorField::Int32},
    {"FLOAT8E4M3FN", {}, TensorField::Int32},
    {"FLOAT8E4M3FNUZ", {}, TensorField::Int32},
    {"FLOAT8E5M2", {}, TensorField::Int32},
    {"FLOAT8E5M2FNUZ", {}, TensorField::Int32},
    {"UINT4", {}, TensorField::Int32},
    {"INT4", {}, TensorField::Int32},
    {"FLOAT4E2M1", {}, TensorField::Int32},
    {"FLOAT8E8M0", {}, TensorField::Int32},
    {"UINT2", {}, TensorField::Int32},
    {"INT2", {}, TensorField::Int32},
};

const Row* row_of(int64_t number) {
  const auto count = static_cast<int64_t>(std::size(kTypes));
  return number < 0 || number >= count ? nullptr : &kTypes[number];
}

size_t stored_bytes(TensorField field, DType type) {
  switch (field) {
    case TensorField::Float:
    case TensorField::Int32:
      return 4;
    case TensorField::Int64:
    case TensorField::Double:
    case TensorField::UInt64:
      return 8;
    default:
      return static_cast<size_t>(type.element_bytes());
  }
}

// Whether all of them are 0 or 1, as memory has truth values.
bool are_truth_values(Bytes bytes) {
  return std::ranges::all_of(bytes, [](uint8_t b) { return b <= 1; });
}

// The lower bytes of each element, as little-endian memory has narrower types.
NDArray narrowed(const TensorData& tensor, DType type, size_t stored) {
  NDArray array = NDArray::empty(tensor.dims, type);
  const auto bytes = static_cast<size_t>(type.element_bytes());
  auto* to = array.data_as<uint8_t>();
  for (size_t k = 0; k < static_cast<size_t>(array.size()); ++k) {
    std::memcpy(to + k * bytes, tensor.data.data() + k * stored, bytes);
  }
  return array;
}

uint64_t number_in(const TensorData& t, std::string_view key, uint64_t otherwise,
                   const std::string& what) {
  for (const auto& [name, text] : t.external_data) {
    if (name != key) continue;
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      bad(what, fmt::format("{} of its file is '{}'", key, text), "a number of bytes");
    }
    return value;
  }
  return otherwise;
}

}  // namespace

Memory map_file(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) unreadable(path, std::strerror(errno));
  struct stat info{};
  const bool known = fstat(file, &info) == 0;
  if (!known || !S_ISREG(info.st_mode)) {
    close(file);
    unreadable(path, known ? "it is no regular file" : std::strerror(errno));
  }
  const auto bytes = static_cast<size_t>(info.st_size);
  void* memory = bytes == 0 ? nullptr : mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  close(file);
  if (memory == MAP_FAILED) unreadable(path, std::strerror(error));
  if (memory == nullptr) return {};
  return {.bytes = {static_cast<const uint8_t*>(memory), bytes},
          .owner = std::shared_ptr<const void>(
              memory, [bytes](const void* m) { munmap(const_cast<void*>(m), bytes); })};
}

std::optional<DType> element_type(int64_t number) {
  const Row* row = row_of(number);
  return row == nullptr ? std::nullopt : row->type;
}

std::string type_name(int64_t number) {
  const Row* row = row_of(number);
  return row == nullptr ? fmt::format("type {}", number) : std::string(row->name);
}

int64_t number_of_type(DType type) {
  const auto row = std::ranges::find(kTypes, std::optional(type), &Row::type);
  TW_CHECK(row != std::end(kTypes), to_string(type));
  return row - std::begin(kTypes);
}

NDArray TensorReader::read(const TensorData& tensor, const std::string& what) {
  const Row* row = row_of(tensor.type);
  TW_CHECK(row != nullptr && row->type, what);
  const DType type = *row->type;
  uint64_t elements = 1;
  for (int64_t extent : tensor.dims) {
    if (extent < 0 || __builtin_mul_overflow(elements, static_cast<uint64_t>(extent), &elements)) {
      bad(what, fmt::format("its shape is ({})", fmt::join(tensor.dims, ", ")),
          "extents of 0 or more, that fit into memory");
    }
  }
  const bool raw = tensor.external || tensor.field == TensorField::Raw;
  const size_t stored =
      raw ? static_cast<size_t>(type.element_bytes()) : stored_bytes(row->field, type);
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements, stored, &bytes) ||
      bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    bad(what, fmt::format("its shape is ({})", fmt::join(tensor.dims, ", ")),
        "one that fits into memory");
  }
  if (!raw && tensor.field != row->field && elements != 0) {
    bad(what, fmt::format("{} elements, and none where those of {} are", elements, row->name),
        "elements in the field of their type");
  }
  Memory memory = tensor.external ? external(tensor, what, bytes) : model_;
  if (!tensor.external) {
    memory.bytes = tensor.data;
    if (tensor.decoded) memory.owner = tensor.decoded;
  }
  if (memory.bytes.size() != bytes) {
    bad(what,
        fmt::format("{} bytes for ({}) of {}", memory.bytes.size(), fmt::join(tensor.dims, ", "),
                    to_string(type)),
        fmt::format("{} bytes", bytes));
  }
  if (stored != static_cast<size_t>(type.element_bytes())) return narrowed(tensor, type, stored);
  if (type == bool_type() && !are_truth_values(memory.bytes)) {
    bad(what, "elements that are neither true nor false", "bytes of 0 and 1");
  }
  static const uint8_t kNothing[NDArray::kAlignment] = {};
  const uint8_t* begin = bytes == 0 ? kNothing : memory.bytes.data();
  // Nobody writes to it: the array says so.
  return NDArray::over(const_cast<uint8_t*>(begin), memory.owner, tensor.dims, type, true);
}

Memory TensorReader::external(const TensorData& tensor, const std::string& what, uint64_t bytes) {
  std::string_view location;
  for (const auto& [key, text] : tensor.external_data) {
    if (key == "location") location = text;
  }
  if (folder_.empty()) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("{} lies in the file '{}' beside the model", what, location),
           .legal = "the model's path, or a model that onnx.load has read with its data"});
  }
  // Files below the model's folder alone, whatever links say.
  const fs::path relative(location);
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(folder_, error);
  const fs::path path = fs::weakly_canonical(folder / relative, error);
  const auto [end, rest] = std::ranges::mismatch(folder, path);
  if (location.empty() || location.find('\0') != std::string_view::npos || relative.is_absolute() ||
      error || end != folder.end()) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("{} lies in the file '{}'", what, location),
           .legal = "a file in the model's folder"});
  }
  auto known = files_.find(path);
  if (known == files_.end()) known = files_.emplace(path, map_file(path)).first;
  Memory memory = known->second;
  const uint64_t offset = number_in(tensor, "offset", 0, what);
  const uint64_t length = number_in(tensor, "length", bytes, what);
  if (offset > memory.bytes.size() || length > memory.bytes.size() - offset) {
    bad(what,
        fmt::format("bytes {} to {} of '{}', which has {}", offset, offset + length, location,
                    memory.bytes.size()),
        "a part of the file");
  }
  memory.bytes = memory.bytes.subspan(offset, length);
  return memory;
}

}  // namespace tw::graph::onnx
