// SPDX-License-Identifier: Apache-2.0
#include "autotune/task/workloads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "autotune/task/task.h"
#include "autotune/task/workload_kinds.h"
#include "runtime/error.h"
#include "runtime/nearest_word.h"

namespace tw::autotune {
namespace {

constexpr NamedWorkload kNamed[] = {
#define NAMED(kind, name, sizes, source, in_default_set) \
  {kind, name, sizes, source, in_default_set},
#include "autotune/task/workloads.def"
#undef NAMED
};

// Positions are 32-bit integers, and a machine has only so much memory.
constexpr int64_t kMostSize = 1 << 24;
constexpr double kMostElements = 2147483647.0;
constexpr double kMostBytes = 8.0 * (1 << 30);
constexpr std::string_view kUsualTypes = "float32";

[[noreturn]] void bad(std::string_view text, std::string what, std::string legal) {
  raise({.code = ErrorCode::BadWorkload,
         .what = std::move(what),
         .where = std::string(text),
         .legal = std::move(legal)});
}

// The named workload nearest to `text`: of the nearest kind, or of any where none is given. Empty
// where neither kind nor name resembles it.
std::string nearest(std::string_view text) {
  const size_t colon = text.find(':');
  const bool has_kind = colon != std::string_view::npos;
  std::vector<std::string_view> kinds, names;
  for (const NamedWorkload& w : kNamed) kinds.push_back(w.kind);
  const std::string_view kind = kinds[nearest_index(text.substr(0, colon), kinds)];
  std::vector<const NamedWorkload*> candidates;
  for (const NamedWorkload& w : kNamed) {
    if (has_kind && w.kind != kind) continue;
    candidates.push_back(&w);
    names.push_back(w.name);
  }
  const std::string_view name = has_kind ? text.substr(colon + 1) : text;
  const size_t index = nearest_index(name, names);
  if (!resembles(name, names[index]) && !(has_kind && resembles(text.substr(0, colon), kind))) {
    return {};
  }
  return fmt::format("{}:{}", candidates[index]->kind, candidates[index]->name);
}

[[noreturn]] void unknown(std::string_view text, std::string what) {
  raise({.code = ErrorCode::UnknownWorkload,
         .what = what + suggestion(nearest(text.substr(0, text.find(',')))),
         .where = std::string(text),
         .legal = "kind:name as `autotune --list` shows, with more sizes if need be, or "
                  "kind:size=value,…"});
}

std::string size_names(const WorkloadKind& kind) {
  std::vector<std::string_view> names;
  for (const SizeName& size : kind.sizes) names.push_back(size.name);
  return fmt::format("{}, dtype", fmt::join(names, ", "));
}

int64_t parse_size(std::string_view text, const SizeName& size, std::string_view value) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = error == std::errc() && end == value.data() + value.size();
  const bool large = error == std::errc::result_out_of_range || (whole && number > kMostSize);
  if (!whole && !large) {
    bad(text, fmt::format("size '{}' ({}) is '{}'", size.name, size.meaning, value),
        fmt::format("an integer from {} to {}", size.least, kMostSize));
  }
  if (large || number < size.least) {
    bad(text, fmt::format("size '{}' ({}) is {}", size.name, size.meaning, value),
        fmt::format("{} to {}", size.least, kMostSize));
  }
  return number;
}

ElementTypes parse_types(std::string_view text, const WorkloadKind& kind, std::string_view value) {
  if (const ElementTypes* types = find_types(kind.types, value)) return *types;
  bad(text, fmt::format("dtype is '{}'", value), type_names(kind.types));
}

Sizes parse_sizes(std::string_view text, const WorkloadKind& kind, std::string_view list) {
  Sizes sizes{.values = {}, .types = *find_types(kind.types, kUsualTypes)};
  bool typed = false;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    const size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    if (equals == std::string_view::npos) {
      bad(text, fmt::format("'{}' is no size=value", item),
          fmt::format("sizes {}, each name=value", size_names(kind)));
    }
    const std::string_view value = item.substr(equals + 1);
    if (name == "dtype") {
      if (std::exchange(typed, true)) bad(text, "dtype is given twice", "each size once");
      sizes.types = parse_types(text, kind, value);
      continue;
    }
    const auto size = std::ranges::find(kind.sizes, name, &SizeName::name);
    if (size == kind.sizes.end()) {
      bad(text, fmt::format("{} has no size '{}'", kind.name, name),
          fmt::format("sizes {}", size_names(kind)));
    }
    if (!sizes.values.emplace(size->name, parse_size(text, *size, value)).second) {
      bad(text, fmt::format("size '{}' is given twice", name), "each size once");
    }
  }
  for (const SizeName& size : kind.sizes) {
    if (sizes.values.contains(size.name)) continue;
    if (!size.same_as.empty() && sizes.values.contains(size.same_as)) {
      sizes.values[size.name] = sizes[size.same_as];
    } else if (size.otherwise) {
      sizes.values[size.name] = *size.otherwise;
    } else {
      bad(text, fmt::format("size '{}' ({}) is missing", size.name, size.meaning),
          fmt::format("an integer from {} to {}", size.least, kMostSize));
    }
  }
  return sizes;
}

// Refuses what no machine holds, from the sizes alone: building a program allocates nothing.
void check_memory(std::string_view text, const te::Program& program) {
  double bytes = 0;
  for (const te::Operation& op : te::operations(program.outputs)) {
    for (int k = 0; k < op->num_outputs(); ++k) {
      double elements = 1;
      for (int64_t extent : constant_shape(op.output(k))) elements *= static_cast<double>(extent);
      if (elements > kMostElements) {
        bad(text, fmt::format("tensor '{}' has {:.3g} elements", op.name(), elements),
            fmt::format("at most {:.0f} elements a tensor", kMostElements));
      }
      bytes += elements * op->output_dtype(k).element_bytes();
    }
  }
  if (bytes > kMostBytes) {
    bad(text, fmt::format("its tensors take {:.1f} GiB", bytes / (1 << 30)),
        fmt::format("at most {:.0f} GiB", kMostBytes / (1 << 30)));
  }
}

std::string canonical(const WorkloadKind& kind, const Sizes& sizes) {
  std::vector<std::string> parts;
  for (const SizeName& size : kind.sizes) {
    const int64_t value = sizes[size.name];
    if (!size.always_shown && value == size.otherwise) continue;
    parts.push_back(fmt::format("{}={}", size.name, value));
  }
  if (sizes.types.name != kUsualTypes) parts.push_back(fmt::format("dtype={}", sizes.types.name));
  return fmt::format("{}:{}", kind.name, fmt::join(parts, ","));
}

}  // namespace

std::span<const NamedWorkload> named_workloads() { return kNamed; }

Workload parse_workload(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind_name = text.substr(0, colon);
  const auto kinds = workload_kinds();
  const auto kind = std::ranges::find(kinds, kind_name, &WorkloadKind::name);
  if (kind == kinds.end()) {
    unknown(text, colon == std::string_view::npos ? fmt::format("'{}' is no workload", text)
                                                  : fmt::format("no kind '{}'", kind_name));
  }
  if (colon == std::string_view::npos || colon + 1 == text.size()) {
    bad(text, fmt::format("{} without sizes", kind_name),
        fmt::format("{}:{}=…; sizes {}", kind_name, kind->sizes.front().name, size_names(*kind)));
  }
  std::string_view list = text.substr(colon + 1);
  const std::string_view first = list.substr(0, list.find(','));
  std::string renamed;
  if (first.find('=') == std::string_view::npos) {
    const std::string_view of_names = kind->names_of.empty() ? kind->name : kind->names_of;
    const auto named = std::ranges::find_if(
        kNamed, [&](const NamedWorkload& w) { return w.kind == of_names && w.name == first; });
    if (named == std::end(kNamed))
      unknown(text, fmt::format("no {} is named '{}'", kind_name, first));
    renamed = std::string(named->sizes) + std::string(list.substr(first.size()));
    list = renamed;
  }
  const Sizes sizes = parse_sizes(text, *kind, list);
  if (const auto problem = kind->check(sizes)) bad(text, problem->what, problem->legal);
  Workload workload;
  workload.text = canonical(*kind, sizes);
  workload.label = std::string(text);
  workload.shape = kind->shape(sizes);
  if (sizes.types.name != kUsualTypes) workload.shape += fmt::format(" {}", sizes.types.name);
  try {
    workload.program = kind->build(sizes);
  } catch (const UserError& e) {
    bad(text, e.info().what, e.info().legal);
  }
  check_memory(text, workload.program);
  return workload;
}

std::vector<Workload> default_workloads() {
  std::vector<Workload> workloads;
  for (const NamedWorkload& w : kNamed) {
    if (w.in_default_set) workloads.push_back(parse_workload(fmt::format("{}:{}", w.kind, w.name)));
  }
  return workloads;
}

}  // namespace tw::autotune
