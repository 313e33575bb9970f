// SPDX-License-Identifier: Apache-2.0
// Which entries of a graph are one piece of memory, and where in it each lies.
//
//   %1 = relu(%x)                       where %x is not read again: in its place
//   %4 = concatenate(%2, %3)            %2 at 0 and %3 behind it, where that is what %4 is in
//   memory
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "graph/shape.h"

namespace tw::graph {

// One piece of memory, from the first node that writes to it to the last that reads it.
struct Value {
  int64_t bytes = 0;
  int64_t device = 0;
  size_t first = 0, last = 0;  // nodes
  enum class Kind : uint8_t { Variable, Output, Intermediate } kind = Kind::Intermediate;
};

class MemoryValues {
 public:
  // Reads what PlanMemory reads (passes.def); BadGraph where a shape or type is unknown.
  explicit MemoryValues(const Graph& graph);

  const GraphIndex& index() const { return index_; }
  const std::vector<Value>& values() const { return values_; }
  // By entry: its value, and the byte of it where the entry begins.
  size_t value_of(size_t entry) const { return value_of_[entry]; }
  int64_t offset_of(size_t entry) const { return offset_of_[entry]; }

  static constexpr size_t kEnd = std::numeric_limits<size_t>::max();  // behind the last node

 private:
  // Values that become one, with the bytes by which each begins behind some common origin.
  using Shifts = std::vector<std::pair<size_t, int64_t>>;

  template <class T>
  static const std::vector<T>* optional_list(const Graph& graph, std::string_view name,
                                             size_t count);
  std::vector<std::vector<InplacePair>> inplace_pairs(const std::vector<std::string>* texts) const;
  int64_t bytes_of(size_t entry, const Node& node) const;
  Value value_from(size_t id, size_t entry) const;
  void add_entry(size_t id, size_t entry);
  void put(size_t entry, size_t value, int64_t offset);
  std::optional<size_t> written(size_t id, size_t entry) const;
  std::optional<size_t> overwritten(size_t id, size_t entry, const Value& output) const;
  bool taken(size_t id, size_t entry, size_t value) const;
  bool is_read_elsewhere(size_t id, size_t entry) const;
  bool add_view(size_t id);
  std::optional<Shifts> shifts_of_inputs(size_t id) const;
  std::pair<size_t, int64_t> merge(const Shifts& shifts);
  void drop_merged();

  GraphIndex index_;
  const std::vector<Shape>& shapes_;
  const std::vector<int64_t>& types_;
  std::vector<std::vector<InplacePair>> inplace_;  // by node
  const std::vector<int64_t>* views_;              // by node: 1 where it is one
  const std::vector<int64_t>* devices_;            // by node
  const std::vector<int64_t>* new_value_of_;       // by entry: a node, or -1
  std::vector<size_t> last_reader_;                // by entry
  std::vector<size_t> value_of_;                   // by entry
  std::vector<int64_t> bytes_, offset_of_;         // by entry
  std::vector<Value> values_;
  std::vector<std::vector<size_t>> members_;  // by value: entries; none: it became part of another
};

}  // namespace tw::graph
