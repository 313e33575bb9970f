// SPDX-License-Identifier: Apache-2.0
// Attributes of nodes: text, as a user or a file wrote it, and the schema by which an operator
// reads it. The text stays what it was: `padding='[1, 1]'` is printed so though it means (1, 1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/dtype.h"

namespace tw::graph {

// Names and texts in the order in which they were given; each name once.
class Attributes {
 public:
  using Item = std::pair<std::string, std::string>;
  Attributes() = default;
  Attributes(std::initializer_list<Item> items) {
    for (const Item& item : items) set(item.first, item.second);
  }
  // Null when there is none.
  const std::string* find(std::string_view name) const;
  // The present text is replaced in its place.
  void set(std::string name, std::string text);
  void erase(std::string_view name);
  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool operator==(const Attributes&) const = default;

 private:
  std::vector<Item> items_;
};

enum class AttributeType : uint8_t {
#define ATTRIBUTE_TYPE(name, type, legal) name,
#include "graph/attribute_types.def"
#undef ATTRIBUTE_TYPE
};
// What errors call legal: "an integer", "a tuple of integers such as (3, 3)".
std::string_view legal_of(AttributeType type);

// An attribute as its type says; monostate: None.
using AttributeValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>,
                 std::vector<std::vector<int64_t>>, std::vector<double>, DType>;

// One attribute of an operator. Without `initial`, a text, it must be given.
struct AttributeSpec {
  std::string_view name;
  AttributeType type;
  std::optional<std::string_view> initial = {};
  std::string_view doc = {};
};

// The value of a text; nothing when it is none of the type. Texts are Python's (`True`, `(1, 2)`,
// `[1, 2]`, `None`) and those of C++ (`true`), whatever their case.
std::optional<AttributeValue> read_attribute(AttributeType type, std::string_view text);

// A node's attributes, read.
class AttributeValues {
 public:
  // Absent ones have their initial values. BadAttribute where a text is none of its type, or one
  // that must be given is absent; `node` goes into the message. What the schema does not name is
  // left alone: passes and files add what they need.
  AttributeValues(std::span<const AttributeSpec> schema, const Attributes& texts,
                  std::string_view node);
  int64_t integer(std::string_view name) const { return get<int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }
  bool flag(std::string_view name) const { return get<bool>(name); }
  DType dtype(std::string_view name) const { return get<DType>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  const std::vector<int64_t>& tuple(std::string_view name) const {
    return get<std::vector<int64_t>>(name);
  }
  const std::vector<std::vector<int64_t>>& tuples(std::string_view name) const {
    return get<std::vector<std::vector<int64_t>>>(name);
  }
  const std::vector<double>& reals(std::string_view name) const {
    return get<std::vector<double>>(name);
  }
  bool is_integer(std::string_view name) const {
    return std::holds_alternative<int64_t>(value(name));
  }
  bool is_none(std::string_view name) const {
    return std::holds_alternative<std::monostate>(value(name));
  }

 private:
  const AttributeValue& value(std::string_view name) const;
  template <class T>
  const T& get(std::string_view name) const {
    return std::get<T>(value(name));
  }
  std::vector<std::pair<std::string_view, AttributeValue>> values_;
};

// Refuses attributes that a user's call gives and the schema does not know, or whose text is none
// of its type: BadAttribute with the nearest name.
void check_attributes(std::string_view op, std::span<const AttributeSpec> schema,
                      const Attributes& texts);

}  // namespace tw::graph
