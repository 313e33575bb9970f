// SPDX-License-Identifier: Apache-2.0
#include "graph/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "graph/dtypes.h"
#include "runtime/error.h"
#include "runtime/nearest_word.h"
#include "runtime/read_number.h"

namespace tw::graph {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

bool same_word(std::string_view text, std::string_view lower) {
  return std::ranges::equal(
      text, lower, [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

std::optional<int64_t> read_int(std::string_view text) {
  text = trimmed(text);
  if (text.ends_with('L')) text.remove_suffix(1);  // Python 2's
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> read_flag(std::string_view text) {
  text = trimmed(text);
  if (same_word(text, "true") || text == "1") return true;
  if (same_word(text, "false") || text == "0") return false;
  return std::nullopt;
}

// The first comma that stands in no brackets, or the end.
size_t next_comma(std::string_view text) {
  int depth = 0;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] == ',' && depth == 0) return k;
    depth += (text[k] == '(' || text[k] == '[') - (text[k] == ')' || text[k] == ']');
  }
  return text.size();
}

// What stands between brackets, each read by `read_item`.
template <class T>
std::optional<std::vector<T>> read_items(std::string_view text,
                                         std::optional<T> (*read_item)(std::string_view)) {
  text = trimmed(text);
  const bool round = text.starts_with('(') && text.ends_with(')');
  const bool square = text.starts_with('[') && text.ends_with(']');
  if (text.size() < 2 || (!round && !square)) return std::nullopt;
  text = trimmed(text.substr(1, text.size() - 2));
  std::vector<T> values;
  while (!text.empty()) {
    const size_t comma = next_comma(text);
    auto value = read_item(text.substr(0, comma));
    if (!value) return std::nullopt;
    values.push_back(*std::move(value));
    text = trimmed(text.substr(std::min(comma + 1, text.size())));
  }
  return values;
}

std::optional<std::vector<int64_t>> read_tuple(std::string_view text) {
  if (const auto one = read_int(text)) return std::vector{*one};
  return read_items(text, read_int);
}

std::optional<double> read_real(std::string_view text) { return read_double(trimmed(text)); }

std::optional<std::vector<double>> read_reals(std::string_view text) {
  if (const auto one = read_real(text)) return std::vector{*one};
  return read_items(text, read_real);
}

std::optional<DType> read_type(std::string_view text) {
  text = trimmed(text);
  if (const auto number = read_int(text)) return type_of_number(static_cast<int>(*number));
  try {
    return parse_dtype(text);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

template <class T>
std::optional<AttributeValue> value_of(std::optional<T> value) {
  return value ? std::optional<AttributeValue>(*std::move(value)) : std::nullopt;
}

[[noreturn]] void wrong_text(std::string_view owner, const AttributeSpec& spec,
                             std::string_view text) {
  raise({.code = ErrorCode::BadAttribute,
         .what = fmt::format("{}: attribute '{}' is '{}'", owner, spec.name, text),
         .legal = std::string(legal_of(spec.type))});
}

}  // namespace

const std::string* Attributes::find(std::string_view name) const {
  const auto item = std::ranges::find(items_, name, &Item::first);
  return item == items_.end() ? nullptr : &item->second;
}

void Attributes::set(std::string name, std::string text) {
  const auto item = std::ranges::find(items_, name, &Item::first);
  if (item == items_.end()) {
    items_.emplace_back(std::move(name), std::move(text));
  } else {
    item->second = std::move(text);
  }
}

void Attributes::erase(std::string_view name) {
  std::erase_if(items_, [&](const Item& item) { return item.first == name; });
}

std::string_view legal_of(AttributeType type) {
  static constexpr std::string_view kLegal[] = {
#define ATTRIBUTE_TYPE(name, type, legal) legal,
#include "graph/attribute_types.def"
#undef ATTRIBUTE_TYPE
  };
  return kLegal[static_cast<size_t>(type)];
}

std::optional<AttributeValue> read_attribute(AttributeType type, std::string_view text) {
  switch (type) {
    case AttributeType::OptionalInt:
      if (same_word(trimmed(text), "none")) return AttributeValue();
      [[fallthrough]];
    case AttributeType::Int:
      return value_of(read_int(text));
    case AttributeType::OptionalFloat:
      if (same_word(trimmed(text), "none")) return AttributeValue();
      [[fallthrough]];
    case AttributeType::Float:
      return value_of(read_real(text));
    case AttributeType::Bool:
      return value_of(read_flag(text));
    case AttributeType::Tuple:
      return value_of(read_tuple(text));
    case AttributeType::IntOrTuple:
      if (const auto one = read_int(text)) return *one;
      return value_of(read_tuple(text));
    case AttributeType::Tuples:
      return value_of(read_items(text, read_tuple));
    case AttributeType::Reals:
      return value_of(read_reals(text));
    case AttributeType::Text:
      return std::string(text);
    case AttributeType::OptionalType:
      if (same_word(trimmed(text), "same") || trimmed(text) == "-1") return AttributeValue();
      [[fallthrough]];
    case AttributeType::Type:
      return value_of(read_type(text));
  }
  return std::nullopt;
}

AttributeValues::AttributeValues(std::span<const AttributeSpec> schema, const Attributes& texts,
                                 std::string_view node) {
  for (const AttributeSpec& spec : schema) {
    const std::string* given = texts.find(spec.name);
    if (given == nullptr && !spec.initial) {
      raise({.code = ErrorCode::BadAttribute,
             .what = fmt::format("{}: attribute '{}' is missing", node, spec.name),
             .legal = std::string(legal_of(spec.type))});
    }
    const std::string_view text = given ? std::string_view(*given) : *spec.initial;
    auto value = read_attribute(spec.type, text);
    if (!value) wrong_text(node, spec, text);
    values_.emplace_back(spec.name, *std::move(value));
  }
}

const AttributeValue& AttributeValues::value(std::string_view name) const {
  for (const auto& [known, value] : values_) {
    if (known == name) return value;
  }
  check_failed(__FILE__, __LINE__, "an attribute of the schema", name);
}

void check_attributes(std::string_view op, std::span<const AttributeSpec> schema,
                      const Attributes& texts) {
  std::vector<std::string_view> names;
  for (const AttributeSpec& spec : schema) names.push_back(spec.name);
  for (const auto& [name, text] : texts) {
    const auto spec = std::ranges::find(schema, name, &AttributeSpec::name);
    if (spec == schema.end()) {
      raise({.code = ErrorCode::BadAttribute,
             .what = fmt::format("{} has no attribute '{}'{}", op, name,
                                 suggestion(nearest_word(name, names))),
             .legal = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))});
    }
    if (!read_attribute(spec->type, text)) wrong_text(op, *spec, text);
  }
}

}  // namespace tw::graph
