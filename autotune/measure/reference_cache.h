// SPDX-License-Identifier: Apache-2.0
// Reference results of several tasks, as many as a limit of memory and descriptors allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "runtime/error.h"

namespace tw::autotune {

// A file without a name in memory, which other processes open through this one. Nothing is left
// behind, however the process ends.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;
  std::string path() const;
  int64_t bytes() const;

 private:
  int descriptor_;
};

// What all candidates of a task are compared with.
struct Reference {
  MemoryFile result, tolerance;
  std::optional<ErrorCode> error;  // it could not be made
  std::string message;

  int64_t bytes() const { return result.bytes() + tolerance.bytes(); }
};

// The references that were used last. To make one again takes a run of the unscheduled program, so
// those of a usual network all stay; but what they hold together does not grow with the number of
// tasks.
class ReferenceCache {
 public:
  // The one used last stays whatever its size.
  ReferenceCache(int64_t most_bytes, size_t most_references)
      : most_bytes_(most_bytes), most_references_(most_references) {}

  // Null when it was never added or is gone. The pointer is valid until the next `add`.
  const Reference* find(const std::string& key);
  const Reference* add(const std::string& key, Reference reference);
  size_t size() const { return entries_.size(); }
  int64_t bytes() const;

 private:
  struct Entry {
    std::string key;
    Reference reference;
  };
  std::list<Entry> entries_;  // the one used last first
  int64_t most_bytes_;
  size_t most_references_;
};

}  // namespace tw::autotune
