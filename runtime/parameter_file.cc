// SPDX-License-Identifier: Apache-2.0
#include "runtime/parameter_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/checksum.h"
#include "runtime/error.h"

namespace tw {
namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little);

struct Header {
  char magic[8];
  uint32_t version, index_bytes;
  uint64_t file_bytes, checksum;
  char zeros[32];
};
constexpr size_t kHeaderBytes = 64;
static_assert(sizeof(Header) == kHeaderBytes);
constexpr char kMagic[8] = {'T', 'W', 'P', 'A', 'R', 'A', 'M', 'S'};
constexpr uint32_t kVersion = 1;

[[noreturn]] void bad(const std::string& path, std::string what, std::string legal = {}) {
  raise({.code = ErrorCode::BadParameters,
         .what = fmt::format("parameters '{}': {}", path, what),
         .legal = std::move(legal)});
}

size_t align_up(size_t n) { return (n + NDArray::kAlignment - 1) & ~(NDArray::kAlignment - 1); }

// A file in memory, as it is on disk; what is written there by mistake stays in this process.
class Mapping {
 public:
  explicit Mapping(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info = {};
    const bool opened = descriptor >= 0 && fstat(descriptor, &info) == 0;
    int error = errno;
    if (opened && S_ISREG(info.st_mode) && info.st_size > 0) {
      bytes_ = static_cast<size_t>(info.st_size);
      data_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, descriptor, 0);
      error = errno;
    }
    if (descriptor >= 0) close(descriptor);
    if (!opened || data_ == MAP_FAILED) {
      bad(path, fmt::format("cannot be read: {}", std::strerror(error)),
          "the file that was exported with the library");
    }
  }
  ~Mapping() {
    if (data_ != nullptr && data_ != MAP_FAILED) munmap(data_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  const char* data() const { return static_cast<const char*>(data_); }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// A file's content in memory that somebody owns.
struct Content {
  const char* data;
  size_t bytes;
  std::shared_ptr<const void> owner;
};

// Throws what it finds wrong with a row.
NamedArray array_from(const Json& row, const Content& content) {
  const DType dtype = parse_dtype(row.at("dtype").get<std::string>());
  const auto shape = row.at("shape").get<std::vector<int64_t>>();
  const auto offset = row.at("offset").get<uint64_t>();
  const int64_t element = int64_t{dtype.element_bytes()} * dtype.lanes;
  const std::vector<int64_t> strides = compact_strides(shape, element);
  auto bytes = static_cast<uint64_t>(element);
  if (!shape.empty()) bytes *= static_cast<uint64_t>(shape[0] * strides[0]);
  if (offset % NDArray::kAlignment != 0 || offset > content.bytes ||
      bytes > content.bytes - offset) {
    raise({.code = ErrorCode::BadParameters, .what = "an array lies outside the file"});
  }
  return {row.at("name"), NDArray::over(const_cast<char*>(content.data) + offset, content.owner,
                                        shape, dtype, /*read_only=*/true)};
}

// `name` says in messages what is read.
Parameters read(const std::string& name, const Content& content, bool verify) {
  Header header = {};
  if (content.bytes >= kHeaderBytes) std::memcpy(&header, content.data, kHeaderBytes);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    bad(name, "it is no file of parameters", "the file that was exported with the library");
  }
  if (header.version != kVersion) {
    bad(name, fmt::format("it has version {}", header.version),
        fmt::format("{}; export it again or update Tilewright", kVersion));
  }
  const char* behind = content.data + kHeaderBytes;
  const size_t bytes = content.bytes - kHeaderBytes;
  if (header.file_bytes != content.bytes || header.index_bytes > bytes) {
    bad(name, fmt::format("it has {} bytes of {}", content.bytes, header.file_bytes),
        "a complete copy");
  }
  if (verify && checksum(behind, bytes) != header.checksum) {
    bad(name, "its content is damaged", "a fresh copy, or export it again");
  }
  Parameters result{.checksum = header.checksum,
                    .bytes = content.bytes,
                    .fingerprint = checksum(content.data, kHeaderBytes + header.index_bytes)};
  try {
    for (const Json& row : Json::parse(std::string_view(behind, header.index_bytes)))
      result.arrays.push_back(array_from(row, content));
  } catch (const Json::exception& e) {
    bad(name, fmt::format("its index cannot be read: {}", e.what()));
  } catch (const UserError& e) {
    bad(name, fmt::format("its index makes no sense: {}", e.what()));
  }
  return result;
}

}  // namespace

std::string parameters_to_bytes(std::span<const NamedArray> arrays) {
  // Offsets first count from the end of the index, whose length depends on them.
  std::map<std::pair<void*, int64_t>, size_t> placed;  // look-ups only
  std::vector<std::pair<NDArray, size_t>> written;
  std::vector<size_t> offsets;
  size_t end = 0;
  for (const NamedArray& a : arrays) {
    if (!a.value.is_contiguous()) {
      raise({.code = ErrorCode::ArgumentStrides,
             .what = fmt::format("parameter '{}' is not compact", a.name),
             .legal = "a row-major copy of it"});
    }
    const auto [at, fresh] = placed.try_emplace({a.value.data(), a.value.byte_size()}, end);
    offsets.push_back(at->second);
    if (!fresh) continue;
    written.emplace_back(a.value, end);
    end = align_up(end + static_cast<size_t>(a.value.byte_size()));
  }
  const auto index_for = [&](size_t start) {
    Json index = Json::array();
    for (size_t i = 0; i < arrays.size(); ++i) {
      const NDArray& value = arrays[i].value;
      index.push_back({{"name", arrays[i].name},
                       {"dtype", to_string(value.dtype())},
                       {"shape", std::vector<int64_t>(value.shape().begin(), value.shape().end())},
                       {"offset", start + offsets[i]}});
    }
    return index.dump();
  };
  // A later start takes at most a few more digits; the next start then holds it.
  size_t start = kHeaderBytes;
  while (kHeaderBytes + index_for(start).size() > start) start += NDArray::kAlignment;
  const std::string index = index_for(start);

  std::string content(start + end, '\0');
  std::memcpy(content.data() + kHeaderBytes, index.data(), index.size());
  for (const auto& [value, offset] : written) {
    if (value.byte_size() > 0) {
      std::memcpy(content.data() + start + offset, value.data(),
                  static_cast<size_t>(value.byte_size()));
    }
  }
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.index_bytes = static_cast<uint32_t>(index.size());
  header.file_bytes = content.size();
  header.checksum = checksum(content.data() + kHeaderBytes, content.size() - kHeaderBytes);
  std::memcpy(content.data(), &header, sizeof header);
  return content;
}

Parameters parameters_from_bytes(std::string_view bytes) {
  // A copy, since arrays are aligned.
  const auto copy = std::make_shared<const NDArray>(
      NDArray::empty({static_cast<int64_t>(bytes.size())}, uint_type(8)));
  if (!bytes.empty()) std::memcpy(copy->data(), bytes.data(), bytes.size());
  return read("bytes", {copy->data_as<char>(), bytes.size(), copy}, /*verify=*/true);
}

uint64_t write_parameters(const std::string& path, std::span<const NamedArray> arrays) {
  const std::string content = parameters_to_bytes(arrays);
  std::ofstream out(path, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) bad(path, fmt::format("cannot be written: {}", std::strerror(errno)));
  Header header;
  std::memcpy(&header, content.data(), sizeof header);
  return header.checksum;
}

Parameters read_parameters(const std::string& path, bool verify) {
  const auto mapping = std::make_shared<const Mapping>(path);
  return read(path, {mapping->data(), mapping->bytes(), mapping}, verify);
}

}  // namespace tw
