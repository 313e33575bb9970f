// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>
#include <utility>

#include "runtime/error.h"
#include "runtime/ndarray.h"

namespace tw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kVariable = "null", kCall = "tvm_op";
// More than any network has; keeps a damaged number from being taken for a size.
constexpr int64_t kMostOutputs = 1 << 20;

[[noreturn]] void fail(std::string what, std::string legal, std::string where) {
  raise({.code = ErrorCode::BadGraph,
         .what = std::move(what),
         .where = std::move(where),
         .legal = std::move(legal)});
}

// Reads what may be anything.
class Reader {
 public:
  explicit Reader(std::string_view text)
      : json_(Json::parse(text, nullptr, /*allow_exceptions=*/false)) {
    if (json_.is_discarded()) fail("this is no JSON", "a deployed graph", "graph");
    if (!json_.is_object()) fail("this is no object", "an object with nodes and heads", "graph");
  }

  GraphPlan plan() {
    for (const Json& node : list(member(json_, "nodes", "graph"), "nodes")) read_node(node);
    read_inputs();
    for (const Json& head : list(member(json_, "heads", "graph"), "heads")) {
      plan_.outputs.push_back(entry(head, "heads"));
    }
    if (json_.contains("node_row_ptr")) check_first_entries();
    read_attributes(member(json_, "attrs", "graph"));
    return std::move(plan_);
  }

 private:
  static const Json& member(const Json& object, const char* name, const std::string& where) {
    if (!object.is_object() || !object.contains(name)) {
      fail(fmt::format("'{}' is missing", name), "a value", where);
    }
    return object[name];
  }
  static const Json& list(const Json& json, const std::string& where) {
    if (!json.is_array()) fail("this is no list", "a list", where);
    return json;
  }
  static std::string text(const Json& json, const std::string& where) {
    if (!json.is_string()) fail("this is no text", "text", where);
    return json.get<std::string>();
  }
  static int64_t integer(const Json& json, const std::string& where) {
    const bool fits = json.is_number_integer() &&
                      (!json.is_number_unsigned() || json.get<uint64_t>() <= INT64_MAX);
    if (!fits) fail("this is no integer", "an integer of 64 bits", where);
    return json.get<int64_t>();
  }
  // A number that an attribute of a node spells.
  static int64_t spelt(const Json& attributes, const char* name, int64_t most,
                       const std::string& where) {
    const std::string word = text(member(attributes, name, where), where + ", " + name);
    int64_t value = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < 0 || value > most) {
      fail(fmt::format("{} is '{}'", name, word), fmt::format("0 to {}", most), where);
    }
    return value;
  }
  std::string place(size_t node) const {
    return fmt::format("node {} '{}'", node, plan_.nodes[node].name);
  }

  // Of a node that stands before: so there are no cycles.
  uint32_t node(const Json& json, const std::string& where) const {
    const int64_t id = integer(json, where);
    if (id < 0 || static_cast<size_t>(id) >= plan_.nodes.size()) {
      fail(fmt::format("node {}, which does not stand before this one", id),
           fmt::format("a number below {}", plan_.nodes.size()), where);
    }
    return static_cast<uint32_t>(id);
  }
  uint32_t entry(const Json& json, const std::string& where) const {
    if (list(json, where).size() < 2 || json.size() > 3) {
      fail(fmt::format("{} numbers for an entry", json.size()), "[node, output, version]", where);
    }
    const PlannedNode& from = plan_.nodes[node(json[0], where)];
    const int64_t output = integer(json[1], where);
    if (json.size() == 3) integer(json[2], where);
    if (output < 0 || output >= from.num_outputs) {
      fail(fmt::format("output {} of '{}'", output, from.name),
           fmt::format("an output below {}", from.num_outputs), where);
    }
    return from.first_entry + static_cast<uint32_t>(output);
  }

  void read_node(const Json& json) {
    const size_t number = plan_.nodes.size();
    PlannedNode next;
    next.name = text(member(json, "name", fmt::format("node {}", number)),
                     fmt::format("node {}, name", number));
    const std::string where = fmt::format("node {} '{}'", number, next.name);
    next.first_entry = num_entries_;
    for (const Json& input : list(member(json, "inputs", where), where + ", inputs")) {
      next.inputs.push_back(entry(input, where + ", inputs"));
    }
    if (json.contains("control_deps")) {
      for (const Json& before : list(json["control_deps"], where + ", control_deps")) {
        node(before, where + ", control_deps");
      }
    }
    const std::string op = text(member(json, "op", where), where + ", op");
    if (op == kCall) {
      read_call(member(json, "attrs", where), where, next);
    } else if (op != kVariable) {
      fail(fmt::format("operator '{}' is not compiled", op), "null or tvm_op, as build gives",
           where);
    } else if (!next.inputs.empty()) {
      fail("a variable with inputs", "none", where);
    }
    num_entries_ += next.num_outputs;
    if (num_entries_ > kMostOutputs) {
      fail("too many outputs", fmt::format("{} in all", kMostOutputs), where);
    }
    plan_.nodes.push_back(std::move(next));
  }

  static void read_call(const Json& attributes, const std::string& where, PlannedNode& next) {
    next.function = text(member(attributes, "func_name", where), where + ", func_name");
    if (next.function.empty()) fail("func_name is empty", "the name of a function", where);
    next.flatten = spelt(attributes, "flatten_data", 1, where) == 1;
    next.num_outputs = static_cast<uint32_t>(spelt(attributes, "num_outputs", kMostOutputs, where));
    const int64_t inputs = spelt(attributes, "num_inputs", kMostOutputs, where);
    if (static_cast<size_t>(inputs) != next.inputs.size()) {
      fail(fmt::format("num_inputs is {}, and there are {} inputs", inputs, next.inputs.size()),
           "the same number", where);
    }
    if (next.is_view() && (next.inputs.empty() || next.num_outputs == 0)) {
      fail(fmt::format("__nop with {} inputs and {} outputs", next.inputs.size(), next.num_outputs),
           "at least one of each", where);
    }
  }

  void read_inputs() {
    size_t variables = 0;
    for (const PlannedNode& n : plan_.nodes) variables += n.is_variable() ? 1 : 0;
    std::set<std::string_view> names;
    for (const Json& argument : list(member(json_, "arg_nodes", "graph"), "arg_nodes")) {
      const uint32_t id = node(argument, "arg_nodes");
      if (!plan_.nodes[id].is_variable()) fail("it is no variable", "a variable", place(id));
      if (!names.insert(plan_.nodes[id].name).second) {
        fail("another input has this name, or is this one", "a name for each", place(id));
      }
      plan_.inputs.push_back(id);
    }
    if (variables != plan_.inputs.size()) {
      fail(fmt::format("{} of {} variables", plan_.inputs.size(), variables), "all of them",
           "arg_nodes");
    }
  }

  void check_first_entries() const {
    const Json& pointers = list(json_["node_row_ptr"], "node_row_ptr");
    bool same = pointers.size() == plan_.nodes.size() + 1;
    for (size_t i = 0; same && i < pointers.size(); ++i) {
      const uint32_t first = i < plan_.nodes.size() ? plan_.nodes[i].first_entry : num_entries_;
      same = integer(pointers[i], "node_row_ptr") == first;
    }
    if (!same) fail("it contradicts num_outputs of the nodes", "their running sum", "node_row_ptr");
  }

  // The list of an attribute [kind, list]; of any length where `each` is not of entries.
  static const Json& attribute(const Json& attributes, const char* name, std::string_view kind) {
    const std::string where = fmt::format("attrs, '{}'", name);
    const Json& pair = list(member(attributes, name, "attrs"), where);
    if (pair.size() != 2 || text(pair[0], where) != kind) {
      fail("this is no pair of a kind and a value", fmt::format("[\"{}\", …]", kind), where);
    }
    return pair[1];
  }
  const Json& entries(const Json& attributes, const char* name, std::string_view kind) const {
    const std::string where = fmt::format("attrs, '{}'", name);
    const Json& values = list(attribute(attributes, name, kind), where);
    if (values.size() != num_entries_) {
      fail(fmt::format("{} values for {} entries", values.size(), num_entries_),
           "one for each output of each node", where);
    }
    return values;
  }

  void read_attributes(const Json& attributes) {
    const Json& shapes = entries(attributes, "shape", "list_shape");
    const Json& types = entries(attributes, "dltype", "list_str");
    const Json& storage = entries(attributes, "storage_id", "list_int");
    const Json* offsets = attributes.contains("storage_offset")
                              ? &entries(attributes, "storage_offset", "list_int")
                              : nullptr;
    for (size_t id = 0; id < plan_.nodes.size(); ++id) {
      const PlannedNode& n = plan_.nodes[id];
      for (size_t e = n.first_entry; e < n.first_entry + n.num_outputs; ++e) {
        plan_.entries.push_back(tensor(types[e], shapes[e], storage[e], place(id)));
        if (offsets != nullptr) read_offset((*offsets)[e], plan_.entries.back(), place(id));
      }
      if (n.is_view()) check_view(n, place(id));
    }
    if (!attributes.contains("export_version")) return;
    plan_.export_version =
        integer(attribute(attributes, "export_version", "int"), "attrs, 'export_version'");
    for (const Json& file : list(attribute(attributes, "files", "list_str"), "attrs, 'files'")) {
      plan_.files.push_back(text(file, "attrs, 'files'"));
    }
  }

  static void read_offset(const Json& offset, PlannedTensor& t, const std::string& where) {
    constexpr auto kLine = static_cast<int64_t>(NDArray::kAlignment);
    t.offset = integer(offset, where + ", storage_offset");
    if (t.offset < 0 || t.offset % kLine != 0) {
      fail(fmt::format("storage_offset is {}", t.offset), fmt::format("a multiple of {}", kLine),
           where);
    }
    if (t.offset > 0 && t.storage < 0) {
      fail("storage_offset in a storage of its own", "0", where);
    }
  }

  void check_view(const PlannedNode& n, const std::string& where) const {
    const auto total = [&](auto entries) {
      int64_t bytes = 0;
      for (uint32_t e : entries) {
        if (__builtin_add_overflow(bytes, plan_.entries[e].bytes, &bytes)) {
          fail("__nop of more bytes than 64 bits count", "less", where);
        }
      }
      return bytes;
    };
    if (total(n.inputs) != total(std::views::iota(n.first_entry, n.first_entry + n.num_outputs))) {
      fail("__nop between tensors of different sizes", "the same number of bytes", where);
    }
  }

  static PlannedTensor tensor(const Json& type, const Json& shape, const Json& storage,
                              const std::string& where) {
    PlannedTensor t;
    t.storage = integer(storage, where + ", storage_id");
    for (const Json& extent : list(shape, where + ", shape")) {
      t.shape.push_back(integer(extent, where + ", shape"));
    }
    try {
      t.dtype = parse_dtype(text(type, where + ", dltype"));
      const int64_t element = int64_t{t.dtype.element_bytes()} * t.dtype.lanes;
      const std::vector<int64_t> strides = compact_strides(t.shape, element);
      t.bytes = t.shape.empty() ? element : t.shape[0] * strides[0] * element;
      if (std::ranges::find(t.shape, 0) != t.shape.end()) t.bytes = 0;
    } catch (const UserError& e) {
      ErrorInfo placed = e.info();
      if (placed.where.empty()) placed.where = where;
      raise(std::move(placed));
    }
    return t;
  }

  Json json_;
  GraphPlan plan_;
  uint32_t num_entries_ = 0;
};

// ---------------------------------------------------------------------------------------------
// What a function says of its arguments.

bool agrees(const std::vector<Extent>& expected, std::span<const int64_t> shape) {
  if (expected.size() != shape.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto* extent = std::get_if<int64_t>(&expected[d]);
    if (extent != nullptr && *extent != shape[d]) return false;
  }
  return true;
}

void check_argument(const ArgumentInfo& info, const PlannedTensor& tensor, bool flatten,
                    bool output, const std::string& where) {
  if (info.kind != ArgumentKind::Tensor) {
    raise({.code = ErrorCode::TypeConflict,
           .what = fmt::format("argument '{}' is {}", info.name, to_string(info.kind)),
           .where = where,
           .legal = "functions of tensors"});
  }
  if (info.dtype != tensor.dtype) {
    raise({.code = ErrorCode::TypeConflict,
           .what = fmt::format("argument '{}' of {} is given {}", info.name, to_string(info.dtype),
                               to_string(tensor.dtype)),
           .where = where,
           .legal = to_string(info.dtype)});
  }
  if (info.output && !output) {
    raise({.code = ErrorCode::BadGraph,
           .what = fmt::format("argument '{}', an input here, is written", info.name),
           .where = where,
           .legal = "a function whose outputs come last"});
  }
  const int64_t elements =
      tensor.bytes / (int64_t{tensor.dtype.element_bytes()} * tensor.dtype.lanes);
  const bool same = flatten ? agrees(info.shape, {&elements, 1}) : agrees(info.shape, tensor.shape);
  if (!same) {
    std::vector<std::string> wanted;
    for (const Extent& extent : info.shape) {
      std::visit([&](const auto& v) { wanted.push_back(fmt::format("{}", v)); }, extent);
    }
    raise({.code = ErrorCode::ShapeConflict,
           .what = fmt::format("argument '{}' of shape [{}] is given [{}]", info.name,
                               fmt::join(wanted, ", "), fmt::join(tensor.shape, ", ")),
           .where = where,
           .legal = "the shape that the function was compiled for"});
  }
}

void check_function(const GraphPlan& plan, const PlannedNode& node, const FunctionInfo& info) {
  if (info.arguments.empty()) return;  // nothing is known of them; the first call checks
  const std::string where = fmt::format("node '{}', function '{}'", node.name, node.function);
  const size_t given = node.inputs.size() + node.num_outputs;
  if (info.arguments.size() != given) {
    raise({.code = ErrorCode::ArgumentCount,
           .what = fmt::format("{} inputs and {} outputs for {} arguments", node.inputs.size(),
                               node.num_outputs, info.arguments.size()),
           .where = where});
  }
  for (size_t i = 0; i < given; ++i) {
    const bool output = i >= node.inputs.size();
    const size_t entry = output ? node.first_entry + i - node.inputs.size() : node.inputs[i];
    check_argument(info.arguments[i], plan.entries[entry], node.flatten, output, where);
  }
}

}  // namespace

GraphPlan read_graph_plan(std::string_view json) { return Reader(json).plan(); }

std::vector<Function> planned_functions(const GraphPlan& plan, const Module& module) {
  std::vector<Function> functions;
  for (const PlannedNode& node : plan.nodes) {
    Function& function = functions.emplace_back();
    if (node.is_variable() || node.is_view()) continue;
    try {
      function = module.get_function(node.function);
    } catch (const UserError& e) {
      ErrorInfo placed = e.info();
      placed.where = fmt::format("node '{}'", node.name);
      raise(std::move(placed));
    }
    check_function(plan, node, function.info());
  }
  return functions;
}

}  // namespace tw
