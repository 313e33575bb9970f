// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx/converter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "graph/ops/common.h"
#include "runtime/error.h"

namespace tw::graph::onnx {
namespace {

constexpr std::string_view kKinds[] = {
    "undefined",      "float",      "int",        "string",  "tensor", "graph",
    "floats",         "ints",       "strings",    "tensors", "graphs", "sparse_tensor",
    "sparse_tensors", "type_proto", "type_protos"};

std::string_view name_of(AttributeKind kind) { return kKinds[static_cast<size_t>(kind)]; }

// The kind that a row gives an attribute; empty where it has no such attribute.
std::string_view kind_in(std::string_view attributes, std::string_view name) {
  while (!attributes.empty()) {
    const size_t end = std::min(attributes.find(' '), attributes.size());
    const std::string_view item = attributes.substr(0, end);
    const size_t colon = item.find(':');
    if (item.substr(0, colon) == name) return item.substr(colon + 1);
    attributes.remove_prefix(std::min(end + 1, attributes.size()));
  }
  return {};
}

using Key = std::pair<std::string_view, std::string_view>;
// Rows of each operator, the oldest first.
const std::map<Key, std::vector<const Converter*>>& by_name() {
  static const auto rows = [] {
    std::map<Key, std::vector<const Converter*>> result;
    for (const Converter& row : converters()) result[{row.domain, row.op}].push_back(&row);
    for (auto& [key, versions] : result) {
      std::ranges::sort(versions, {}, &Converter::since);
      const auto twice = std::ranges::adjacent_find(versions, {}, &Converter::since);
      TW_CHECK(twice == versions.end(), key.second);
    }
    return result;
  }();
  return rows;
}

// Of the default domain there are two names.
std::string_view plain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

}  // namespace

const std::vector<Converter>& converters() {
  static const auto all = [] {
    std::vector<Converter> rows;
#define ONNX_CONVERTERS(family) \
  for (Converter & row : family()) rows.push_back(std::move(row));
#include "graph/onnx/converters.def"
#undef ONNX_CONVERTERS
    return rows;
  }();
  return all;
}

const Converter* find_converter(std::string_view domain, std::string_view op, int64_t opset) {
  const auto rows = by_name().find({plain(domain), op});
  if (rows == by_name().end()) return nullptr;
  const Converter* found = nullptr;
  for (const Converter* row : rows->second) {
    if (row->since <= opset) found = row;
  }
  return found;
}

std::string text(int64_t value) { return fmt::format("{}", value); }
std::string text(double value) { return fmt::format("{}", value); }
std::string text(bool value) { return value ? "True" : "False"; }
std::string text(DType value) { return to_string(value); }
std::string text(const std::vector<int64_t>& values) { return tuple_text(values); }
std::string text(const std::vector<std::vector<int64_t>>& values) {
  std::string result = "(";
  for (const auto& v : values) result += tuple_text(v) + ", ";
  return result + ")";
}

std::function<Values(Call&)> same(std::string_view op, Attributes attributes) {
  return [op, attributes = std::move(attributes)](Call& c) {
    return Values{c(op, c.inputs(), attributes)};
  };
}

Call::Call(Builder& builder, TensorReader& tensors, const NodeData& node, const Converter& row,
           int64_t opset, Values inputs)
    : builder_(builder),
      tensors_(tensors),
      node_(node),
      row_(row),
      opset_(opset),
      inputs_(std::move(inputs)) {
  // What is not named is called after what it computes.
  const bool has_output = !node.outputs.empty() && !node.outputs[0].empty();
  base_ = !node.name.empty() ? std::string(node.name)
                             : std::string(has_output ? node.outputs[0] : node.op);
  name_ = fmt::format("{} '{}'", node.op, base_);
  while (!inputs_.empty() && !inputs_.back()) inputs_.pop_back();
  const auto given = static_cast<int>(inputs_.size());
  if (given < row.least_inputs || given > row.most_inputs) {
    bad(fmt::format("{} inputs", given),
        row.most_inputs == kAny ? fmt::format("{} or more", row.least_inputs)
                                : fmt::format("{} to {}", row.least_inputs, row.most_inputs));
  }
  for (const NodeAttribute& a : node.attributes) {
    const std::string_view kind = kind_in(row.attributes, a.name);
    if (kind.empty()) {
      raise(
          {.code = ErrorCode::BadAttribute,
           .what = fmt::format("{}: there is no attribute '{}' in opset {}", name_, a.name, opset),
           .legal = row.attributes.empty() ? "none" : std::string(row.attributes)});
    }
    if (kind != name_of(a.kind)) {
      raise(
          {.code = ErrorCode::BadAttribute,
           .what = fmt::format("{}: attribute '{}' is of kind {}", name_, a.name, name_of(a.kind)),
           .legal = std::string(kind)});
    }
  }
}

const Value& Call::input(size_t k) const {
  if (!has(k)) bad(fmt::format("input {} is left out", k), "one that is there");
  return inputs_[k];
}

const Values& Call::inputs() const {
  for (size_t k = 0; k < inputs_.size(); ++k) input(k);
  return inputs_;
}

bool Call::knows(std::string_view name) const { return !kind_in(row_.attributes, name).empty(); }

const NodeAttribute* Call::find(std::string_view name) const {
  TW_CHECK(knows(name), name);
  const auto found = std::ranges::find(node_.attributes, name, &NodeAttribute::name);
  return found == node_.attributes.end() ? nullptr : &*found;
}

const NodeAttribute& Call::get(std::string_view name) const {
  if (const NodeAttribute* a = find(name)) return *a;
  raise({.code = ErrorCode::BadAttribute,
         .what = fmt::format("{}: attribute '{}' is missing", name_, name),
         .legal = std::string(kind_in(row_.attributes, name))});
}

int64_t Call::integer(std::string_view name) const { return get(name).integer; }
int64_t Call::integer(std::string_view name, int64_t otherwise) const {
  const NodeAttribute* a = find(name);
  return a ? a->integer : otherwise;
}
bool Call::flag(std::string_view name, bool otherwise) const {
  const int64_t value = integer(name, otherwise ? 1 : 0);
  if (value == 0 || value == 1) return value == 1;
  raise({.code = ErrorCode::BadAttribute,
         .what = fmt::format("{}: attribute '{}' is {}", name_, name, value),
         .legal = "0 or 1"});
}
double Call::real(std::string_view name, double otherwise) const {
  const NodeAttribute* a = find(name);
  return a ? a->real : otherwise;
}
std::string Call::string(std::string_view name, std::string_view otherwise) const {
  const NodeAttribute* a = find(name);
  return std::string(a ? a->text : otherwise);
}
std::vector<int64_t> Call::integers(std::string_view name, std::vector<int64_t> otherwise) const {
  const NodeAttribute* a = find(name);
  return a ? a->integers : otherwise;
}
std::vector<double> Call::reals(std::string_view name) const {
  const NodeAttribute* a = find(name);
  return a ? std::vector<double>(a->reals.begin(), a->reals.end()) : std::vector<double>();
}
std::vector<std::string> Call::strings(std::string_view name) const {
  const NodeAttribute* a = find(name);
  return a ? std::vector<std::string>(a->texts.begin(), a->texts.end())
           : std::vector<std::string>();
}
NDArray Call::tensor(std::string_view name) const {
  const NodeAttribute& a = get(name);
  if (!a.tensor) bad(fmt::format("attribute '{}' has no tensor", name), "a tensor");
  if (!element_type(a.tensor->type)) {
    unsupported(fmt::format("'{}' of {}", name, type_name(a.tensor->type)));
  }
  return tensors_.read(*a.tensor, fmt::format("{}, attribute '{}'", name_, name));
}
DType Call::dtype(std::string_view name, int64_t otherwise) const {
  const int64_t number = integer(name, otherwise);
  const auto type = element_type(number);
  if (!type) unsupported(fmt::format("'{}' is {}", name, type_name(number)));
  return *type;
}

std::vector<int64_t> Call::integers_of(size_t k) const {
  const Value& v = input(k);
  if (!v.is_constant()) unsupported(fmt::format("input {} is not constant", k));
  if (v.dtype().is_float()) {
    bad(fmt::format("input {} is of {}", k, to_string(v.dtype())), "integers");
  }
  return integers_in(v.constant());
}
std::vector<double> Call::reals_of(size_t k) const {
  const Value& v = input(k);
  if (!v.is_constant()) unsupported(fmt::format("input {} is not constant", k));
  return reals_in(v.constant());
}
double Call::number_of(size_t k) const {
  const std::vector<double> values = reals_of(k);
  if (values.size() != 1) bad(fmt::format("input {} of {} elements", k, values.size()), "one");
  return values[0];
}

int64_t Call::axis(int64_t axis, int64_t rank) const {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  raise({.code = ErrorCode::BadAttribute,
         .what = fmt::format("{}: axis {} of a tensor of rank {}", name_, axis, rank),
         .legal = fmt::format("{} to {}", -rank, rank - 1)});
}
std::vector<int64_t> Call::axes(std::vector<int64_t> axes, int64_t rank) const {
  for (int64_t& a : axes) a = axis(a, rank);
  std::vector<int64_t> sorted = axes;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) == sorted.end()) return axes;
  raise({.code = ErrorCode::BadAttribute,
         .what = fmt::format("{}: axes {}", name_, text(axes)),
         .legal = "each axis once"});
}

Values Call::all(std::string_view op, const Values& inputs, const Attributes& attributes) {
  try {
    return builder_.call(op, base_, inputs, attributes);
  } catch (const UserError& e) {
    ErrorInfo placed = e.info();
    std::vector<std::string> shapes;
    for (const Value& v : inputs) {
      shapes.push_back(fmt::format("{}{}", to_string(v.dtype()), text(v.shape())));
    }
    placed.what =
        fmt::format("{}, as {} of {}: {}", name_, op, fmt::join(shapes, ", "), placed.what);
    raise(std::move(placed));
  }
}
Value Call::operator()(std::string_view op, const Values& inputs, const Attributes& attributes) {
  return all(op, inputs, attributes)[0];
}

Value Call::constant(NDArray array) {
  return builder_.constant(base_ + "_constant", std::move(array));
}
Value Call::constant(double value, DType dtype, const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return constant(
      array_of_reals(std::vector<double>(static_cast<size_t>(count), value), shape, dtype));
}

Value Call::cast(const Value& value, DType dtype) {
  if (value.dtype() == dtype) return value;
  return (*this)("cast", {value}, {{"dtype", text(dtype)}});
}
Value Call::reshaped(const Value& value, const std::vector<int64_t>& shape) {
  if (value.shape() == shape) return value;
  // NNVM's shapes call 0 what copies an extent.
  if (std::ranges::find(shape, 0) != shape.end()) return constant(0, value.dtype(), shape);
  return (*this)("reshape", {value}, {{"shape", text(shape)}});
}
Value Call::transposed(const Value& value, const std::vector<int64_t>& axes) {
  if (std::ranges::is_sorted(axes)) return value;
  return (*this)("transpose", {value}, {{"axes", text(axes)}});
}
Value Call::broadcast(const Value& value, const std::vector<int64_t>& shape) {
  if (value.shape() == shape) return value;
  if (std::ranges::find(shape, 0) != shape.end()) return constant(0, value.dtype(), shape);
  return (*this)("broadcast_to", {value}, {{"shape", text(shape)}});
}

void Call::unsupported(std::string what) const { throw Unsupported{std::move(what)}; }
void Call::bad(std::string what, std::string legal) const {
  raise({.code = ErrorCode::BadGraph,
         .what = fmt::format("{}: {}", name_, what),
         .legal = std::move(legal)});
}

}  // namespace tw::graph::onnx
