// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/memory_values.h"

#include <algorithm>
#include <map>

#include "graph/dtypes.h"
#include "graph/pass.h"
#include "runtime/error.h"
#include "runtime/ndarray.h"

namespace tw::graph {
namespace {

// "0:0 1:0", as the graph attribute 'inplace' has it for a node.
std::vector<InplacePair> read_pairs(const std::string& text, const Node& node) {
  std::vector<InplacePair> pairs;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = std::string_view(text).substr(at, end - at);
    const size_t colon = std::min(word.find(':'), word.size());
    const auto input = read_attribute(AttributeType::Int, word.substr(0, colon));
    const auto output =
        read_attribute(AttributeType::Int, word.substr(std::min(colon + 1, word.size())));
    if (!input || !output) {
      raise({.code = ErrorCode::BadGraph,
             .what = fmt::format("'{}' in the graph attribute 'inplace'", word),
             .where = fmt::format("node '{}'", node.name),
             .legal = "input:output, such as 0:0"});
    }
    pairs.push_back({std::get<int64_t>(*input), std::get<int64_t>(*output)});
    at = end + 1;
  }
  return pairs;
}

// Whether a kernel may be given what begins there.
bool is_aligned(int64_t offset) { return offset % static_cast<int64_t>(NDArray::kAlignment) == 0; }

}  // namespace

MemoryValues::MemoryValues(const Graph& graph)
    : index_(graph),
      shapes_(list_of<Shape>(graph, "shape", index_.num_entries())),
      types_(list_of<int64_t>(graph, "dtype", index_.num_entries())),
      inplace_(inplace_pairs(optional_list<std::string>(graph, "inplace", index_.num_nodes()))),
      views_(optional_list<int64_t>(graph, "view", index_.num_nodes())),
      devices_(optional_list<int64_t>(graph, "device", index_.num_nodes())),
      new_value_of_(optional_list<int64_t>(graph, "new_value_of", index_.num_entries())),
      last_reader_(index_.num_entries(), 0),
      value_of_(index_.num_entries(), 0),
      bytes_(index_.num_entries(), 0),
      offset_of_(index_.num_entries(), 0) {
  for (size_t id = 0; id < index_.num_nodes(); ++id) {
    for (const Entry& e : index_.nodes()[id]->inputs) last_reader_[index_.entry_id(e)] = id;
  }
  for (const Entry& e : index_.outputs()) last_reader_[index_.entry_id(e)] = kEnd;
  for (size_t id = 0; id < index_.num_nodes(); ++id) {
    const size_t begin = index_.first_entries()[id], end = index_.first_entries()[id + 1];
    for (size_t e = begin; e < end; ++e) bytes_[e] = bytes_of(e, *index_.nodes()[id]);
    if (views_ != nullptr && (*views_)[id] != 0 && add_view(id)) continue;
    for (size_t e = begin; e < end; ++e) add_entry(id, e);
  }
  drop_merged();
}

template <class T>
const std::vector<T>* MemoryValues::optional_list(const Graph& graph, std::string_view name,
                                                  size_t count) {
  if (!graph.attributes.contains(name)) return nullptr;
  return &list_of<T>(graph, name, count);
}

std::vector<std::vector<InplacePair>> MemoryValues::inplace_pairs(
    const std::vector<std::string>* texts) const {
  std::vector<std::vector<InplacePair>> pairs;
  for (const NodeRef& node : index_.nodes()) {
    if (texts != nullptr) {
      pairs.push_back(read_pairs((*texts)[pairs.size()], *node));
    } else {
      pairs.push_back(node->is_variable() ? std::vector<InplacePair>() : node->op->inplace);
    }
  }
  return pairs;
}

int64_t MemoryValues::bytes_of(size_t entry, const Node& node) const {
  const auto type = type_of_number(static_cast<int>(types_[entry]));
  if (!shapes_[entry].known() || !type) {
    raise({.code = ErrorCode::BadGraph,
           .what =
               fmt::format("the {} of '{}' is unknown", type ? "shape" : "element type", node.name),
           .legal = "a shape and a dtype for each input of the graph"});
  }
  return shapes_[entry].elements() * type->element_bytes() * type->lanes;
}

Value MemoryValues::value_from(size_t id, size_t entry) const {
  Value value{.bytes = bytes_[entry],
              .device = devices_ ? (*devices_)[id] : 0,
              .first = id,
              .last = std::max(id, last_reader_[entry])};
  if (index_.nodes()[id]->is_variable())
    value.kind = Value::Kind::Variable;
  else if (value.last == kEnd)
    value.kind = Value::Kind::Output;
  return value;
}

void MemoryValues::put(size_t entry, size_t value, int64_t offset) {
  value_of_[entry] = value;
  offset_of_[entry] = offset;
  members_[value].push_back(entry);
}

void MemoryValues::add_entry(size_t id, size_t entry) {
  const Value value = value_from(id, entry);
  if (const auto variable = written(id, entry)) {
    put(entry, *variable, 0);
  } else if (const auto input = overwritten(id, entry, value)) {
    put(entry, value_of_[*input], offset_of_[*input]);
    size_t& last = values_[value_of_[*input]].last;
    last = std::max(last, value.last);
  } else {
    values_.push_back(value);
    members_.emplace_back();
    put(entry, values_.size() - 1, 0);
  }
}

// The variable whose new value the output is.
std::optional<size_t> MemoryValues::written(size_t id, size_t entry) const {
  const Node& node = *index_.nodes()[id];
  if (node.is_variable()) return std::nullopt;
  const size_t number = entry - index_.first_entries()[id];
  int64_t to = -1;  // a node
  if (new_value_of_ != nullptr) {
    to = (*new_value_of_)[entry];
  } else if (number < node.op->mutates.size()) {
    to = index_.node_id(*node.inputs[node.op->mutates[number]].node);
  }
  if (to < 0) return std::nullopt;
  const auto variable = static_cast<size_t>(to);
  if (variable < id && index_.nodes()[variable]->is_variable())
    return value_of_[index_.first_entries()[variable]];
  raise({.code = ErrorCode::BadGraph,
         .what = fmt::format("'{}' writes to what is no variable", node.op->name),
         .where = fmt::format("node '{}'", node.name),
         .legal = "a variable"});
}

// The entry that is an input, in whose place the node may write this output.
std::optional<size_t> MemoryValues::overwritten(size_t id, size_t entry,
                                                const Value& output) const {
  if (output.kind != Value::Kind::Intermediate) return std::nullopt;
  const Node& node = *index_.nodes()[id];
  const size_t number = entry - index_.first_entries()[id];
  const auto may = [&](size_t input) {
    return std::ranges::any_of(inplace_[id], [&](const InplacePair& pair) {
      return pair.input == static_cast<int64_t>(input) &&
             pair.output == static_cast<int64_t>(number);
    });
  };
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    const size_t input = index_.entry_id(node.inputs[k]);
    const Value& value = values_[value_of_[input]];
    // An earlier output of this node that took it is read later, or is new itself.
    bool legal = value.kind == Value::Kind::Intermediate && last_reader_[input] == id &&
                 !taken(id, entry, value_of_[input]) && !is_read_elsewhere(id, input) &&
                 bytes_[input] == output.bytes && value.device == output.device;
    // One entry may be several inputs.
    for (size_t j = 0; legal && j < node.inputs.size(); ++j) {
      legal = index_.entry_id(node.inputs[j]) != input || may(j);
    }
    if (legal) return input;
  }
  return std::nullopt;
}

// Whether an output of the node before this one has this value.
bool MemoryValues::taken(size_t id, size_t entry, size_t value) const {
  for (size_t e = index_.first_entries()[id]; e < entry; ++e) {
    if (value_of_[e] == value) return true;
  }
  return false;
}

// Whether a node behind this one, or this one as another entry, reads of the memory of an entry.
bool MemoryValues::is_read_elsewhere(size_t id, size_t entry) const {
  return std::ranges::any_of(members_[value_of_[entry]], [&](size_t other) {
    return other != entry && last_reader_[other] >= id &&
           offset_of_[other] < offset_of_[entry] + bytes_[entry] &&
           offset_of_[entry] < offset_of_[other] + bytes_[other];
  });
}

// The outputs, one after the other, are the inputs, one after the other: they are one value where
// all of them may be.
bool MemoryValues::add_view(size_t id) {
  const size_t begin = index_.first_entries()[id], end = index_.first_entries()[id + 1];
  const auto shifts = shifts_of_inputs(id);
  if (!shifts) return false;
  int64_t at = 0;
  for (size_t e = begin; e < end; ++e) {
    if (!is_aligned(at)) return false;
    at += bytes_[e];
  }
  auto [value, offset] = merge(*shifts);
  for (size_t e = begin; e < end; ++e) {
    const Value made = value_from(id, e);
    values_[value].last = std::max(values_[value].last, made.last);
    if (made.kind == Value::Kind::Output) values_[value].kind = made.kind;
    put(e, value, offset);
    offset += bytes_[e];
  }
  return true;
}

// Where the values of a view's inputs begin, from where its outputs do; none where they cannot be
// one piece of memory.
std::optional<MemoryValues::Shifts> MemoryValues::shifts_of_inputs(size_t id) const {
  Shifts shifts;
  int64_t at = 0;
  const int64_t device = devices_ ? (*devices_)[id] : 0;
  for (const Entry& input : index_.nodes()[id]->inputs) {
    const size_t e = index_.entry_id(input), value = value_of_[e];
    const Value& v = values_[value];
    if (v.kind != Value::Kind::Intermediate || v.device != device || !is_aligned(at))
      return std::nullopt;
    const std::pair next(value, at - offset_of_[e]);
    const auto known = std::ranges::find(shifts, value, &Shifts::value_type::first);
    if (known == shifts.end()) {
      shifts.push_back(next);
    } else if (*known != next) {
      return std::nullopt;
    }
    at += bytes_[e];
  }
  std::ranges::sort(shifts, {}, &Shifts::value_type::second);
  for (size_t k = 1; k < shifts.size(); ++k) {
    const auto& [before, shift] = shifts[k - 1];
    if (shift + values_[before].bytes > shifts[k].second) return std::nullopt;
  }
  if (shifts.empty()) return std::nullopt;
  return shifts;
}

// One value in place of several, which follow each other; with the byte of it that was their
// origin.
std::pair<size_t, int64_t> MemoryValues::merge(const Shifts& shifts) {
  const int64_t first = shifts.front().second;
  const size_t whole = std::ranges::max_element(shifts, {}, [&](const auto& s) {
                         return members_[s.first].size();
                       })->first;
  Value merged = values_[whole];
  merged.bytes = shifts.back().second + values_[shifts.back().first].bytes - first;
  for (const auto& [value, shift] : shifts) {
    merged.first = std::min(merged.first, values_[value].first);
    merged.last = std::max(merged.last, values_[value].last);
    for (size_t e : members_[value]) offset_of_[e] += shift - first;
  }
  for (const auto& [value, shift] : shifts) {
    if (value == whole) continue;
    const std::vector<size_t> members = std::exchange(members_[value], {});
    for (size_t e : members) value_of_[e] = whole;
    members_[whole].insert(members_[whole].end(), members.begin(), members.end());
  }
  values_[whole] = merged;
  return {whole, -first};
}

void MemoryValues::drop_merged() {
  std::vector<Value> kept;
  for (size_t v = 0; v < values_.size(); ++v) {
    if (members_[v].empty()) continue;
    for (size_t e : members_[v]) value_of_[e] = kept.size();
    kept.push_back(values_[v]);
  }
  values_ = std::move(kept);
  std::erase_if(members_, [](const std::vector<size_t>& m) { return m.empty(); });
}

}  // namespace tw::graph
