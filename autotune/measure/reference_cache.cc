// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/reference_cache.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tw::autotune {

MemoryFile::MemoryFile() : descriptor_(memfd_create("tilewright-reference", MFD_CLOEXEC)) {
  if (descriptor_ < 0) {
    raise({.code = ErrorCode::OutOfMemory,
           .what = fmt::format("no memory for reference results: {}", std::strerror(errno))});
  }
}

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

std::string MemoryFile::path() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_);
}

int64_t MemoryFile::bytes() const {
  struct stat info = {};
  return fstat(descriptor_, &info) == 0 ? info.st_size : 0;
}

const Reference* ReferenceCache::find(const std::string& key) {
  const auto at = std::ranges::find(entries_, key, &Entry::key);
  if (at == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, at);
  return &at->reference;
}

const Reference* ReferenceCache::add(const std::string& key, Reference reference) {
  entries_.push_front({key, std::move(reference)});
  while (entries_.size() > 1 && (entries_.size() > most_references_ || bytes() > most_bytes_)) {
    entries_.pop_back();
  }
  return &entries_.front().reference;
}

int64_t ReferenceCache::bytes() const {
  int64_t total = 0;
  for (const Entry& entry : entries_) total += entry.reference.bytes();
  return total;
}

}  // namespace tw::autotune
