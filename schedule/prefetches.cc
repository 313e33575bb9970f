// SPDX-License-Identifier: Apache-2.0
#include "schedule/prefetches.h"

#include <algorithm>
#include <optional>

#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "schedule/index_range.h"
#include "schedule/region.h"

namespace tw {
namespace {

struct Place {
  const ScheduleData& schedule;
  const StageData& stage;
  size_t k;
  const DomainMap& domains;
  Analyzer& analyzer;
};

// The box of its output that the stage stores in one iteration of its leaf. What is local is in the
// caches, or in registers, which an address would keep it from.
std::optional<std::vector<Range>> stored_region(const Place& place, const StageData& writer,
                                                const IterVar& axis) {
  if (!writer.storage.scope.empty() && writer.storage.scope != "global") return {};
  if (!writer.op->parts().empty()) return {};  // its parts store
  const DomainMap ranges = root_ranges(writer, writer, axis, place.domains, place.analyzer);
  std::vector<Range> region;
  for (const IterVar& root : writer.op->data_axes()) {
    const Range& range = ranges.at(root->var);
    if (!is_known(range)) return {};
    region.push_back({range.min, place.analyzer.simplify(range.extent)});
  }
  if (region.empty()) return {};  // a single element
  return region;
}

// The box of the tensor that the stage reads in the iteration of `axis` that the mark means.
std::optional<std::vector<Range>> read_region(const Place& place, const PrefetchMark& mark,
                                              const StageData& parent, const IterVar& axis) {
  const StageData* source = find_stage(place.schedule, mark.producer.get());
  const DomainMap ranges = root_ranges(place.stage, parent, axis, place.domains, place.analyzer);
  const IndexRange range_of(ranges, place.analyzer);
  std::vector<Range> region;
  bool known = true;
  const auto read = [&](const ProducerLoad& load) {
    if (find_stage(place.schedule, load.producer.get()) != source ||
        load.value_index != mark.value_index) {
      return;
    }
    const bool first = region.empty();
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const Range range = load.indices[d].defined() ? range_of(load.indices[d]) : Range{};
      if (first) {
        region.push_back(range);
      } else {
        region[d] = unite(region[d], range, place.analyzer);
      }
      known = known && is_known(region[d]);
    }
  };
  for (const Expr& evaluated : place.stage.op->evaluated()) {
    for_each_expr(evaluated, [&](const Expr& e) {
      if (const ProducerLoad* load = as<ProducerLoad>(e)) read(*load);
    });
  }
  if (region.empty() || !known) return {};
  for (Range& range : region) range.extent = place.analyzer.simplify(range.extent);
  if (source->attach_type == AttachType::Scope && source->attach_stage == &parent &&
      leaf_position(parent, source->attach_axis) >= leaf_position(parent, axis)) {
    return {};
  }
  return region;
}

// The same box `offset` iterations of the axis later.
std::vector<Range> later(const Place& place, std::vector<Range> box, const IterVar& axis,
                         int64_t offset) {
  const Var& var = axis->var;
  const VarMap map{{var, var + make_const(var.dtype(), offset)}};
  for (Range& range : box) range.min = place.analyzer.simplify(substitute(range.min, map));
  return box;
}

// The box around all those of the next group of iterations of the axis.
std::optional<std::vector<Range>> in_next_group(const Place& place, std::vector<Range> box,
                                                const IterVar& axis, int64_t group) {
  if (group == 1) return later(place, std::move(box), axis, 1);
  const Var& var = axis->var;
  const Expr size = make_const(var.dtype(), group);
  const DomainMap next{{var, Range{(floor_div(var, size) + 1) * size, size}}};
  const IndexRange range_of(next, place.analyzer);
  for (Range& range : box) {
    const Range start = range_of(range.min);
    if (!is_known(start)) return {};
    range = {place.analyzer.simplify(start.min),
             place.analyzer.simplify(start.extent + range.extent - 1)};
  }
  return box;
}

// The number of this iteration of leaf k in its group of iterations of `axis` of `parent`, and how
// many the group has.
struct Turn {
  Expr number;
  int64_t count = 1;
};
std::optional<Turn> turn(const Place& place, const StageData& parent, const IterVar& axis,
                         int64_t group) {
  std::vector<IterVar> loops = loops_between(place.stage, parent, axis);
  const auto& leaves = place.stage.leaf_axes;
  const size_t first = &place.stage == &parent ? leaf_position(parent, axis) + 1 : 0;
  loops.insert(loops.end(), leaves.begin() + static_cast<std::ptrdiff_t>(first),
               leaves.begin() + static_cast<std::ptrdiff_t>(place.k) + 1);
  const DType type = axis->var.dtype();
  Turn result{.number = floor_mod(axis->var, make_const(type, group)), .count = group};
  for (const IterVar& loop : loops) {
    const auto extent = as_const_int(place.domains.at(loop->var).extent);
    if (!extent) return {};
    if (*extent == 1) continue;
    result.number = result.number * make_const(type, *extent) + cast(type, loop->var);
    result.count *= *extent;
  }
  return result;
}

// The share of a box that belongs to one turn: equal numbers of elements, counted through the box
// row by row. Dimensions that the box fills continue into one another, so that shares of what lies
// in one piece are found by one addition.
std::optional<std::vector<Range>> share(const Place& place, std::vector<Range> box,
                                        const std::vector<Expr>& shape, const Turn& turn) {
  int64_t elements = 1, together = 1;
  size_t first_together = box.size();  // of the dimensions that continue into one another
  bool filled = true;
  for (size_t d = box.size(); d-- > 0;) {
    const auto extent = as_const_int(box[d].extent), whole = as_const_int(shape[d]);
    if (!extent) return {};
    elements *= *extent;
    if (!filled) continue;
    first_together = d;
    together *= *extent;
    filled = whole && *extent == *whole;
  }
  const DType type = turn.number.dtype();
  const int64_t each = (elements + turn.count - 1) / turn.count;
  const Expr begin = turn.number * make_const(type, each);
  Expr row = floor_div(begin, make_const(type, together));
  const bool single = elements == together;
  for (size_t d = first_together; d-- > 0;) {
    const Expr extent = cast(type, box[d].extent);
    if (is_one(extent)) continue;
    box[d].min = box[d].min + cast(box[d].min.dtype(), floor_mod(row, extent));
    row = floor_div(row, extent);
  }
  for (Range& range : box) {
    range.min = place.analyzer.simplify(range.min);
    range.extent = make_const(range.min.dtype(), 1);
  }
  Range& last = box.back();
  const Expr offset = single ? begin : floor_mod(begin, make_const(type, together));
  last.min = place.analyzer.simplify(last.min + cast(last.min.dtype(), offset));
  last.extent = make_const(last.min.dtype(), each);
  return box;
}

// A share that is stored ends with the first element of its last line: the next share begins where
// this one ends, and is aligned as this one is.
void shorten(Range& row, DType type) {
  const int64_t line = kLineBytes / std::max(type.element_bytes(), 1);
  const int64_t lines = (*as_const_int(row.extent) + line - 1) / line;
  row.extent = make_const(row.min.dtype(), (lines - 1) * line + 1);
}

}  // namespace

Stmt prefetches(const ScheduleData& schedule, const StageData& stage, size_t k,
                const DomainMap& domains, Analyzer& analyzer) {
  const AxisAttributes* marks = stage.attributes_of(stage.leaf_axes[k]);
  if (marks == nullptr) return {};
  const Place place{schedule, stage, k, domains, analyzer};
  std::vector<Stmt> result;
  for (const PrefetchMark& mark : marks->prefetches) {
    const bool shared = mark.scope.defined();
    const IterVar& axis = shared ? mark.scope : stage.leaf_axes[k];
    const StageData& parent = shared ? *stage_of_leaf(schedule, axis) : stage;
    const StageData& accessed = *find_stage(schedule, mark.producer.get());
    const bool stored = &accessed == &parent;
    auto region =
        stored ? stored_region(place, parent, axis) : read_region(place, mark, parent, axis);
    if (!region) continue;
    const te::Operation& source = accessed.op;
    if (shared) {
      region = in_next_group(place, std::move(*region), axis, mark.offset);
      const auto mine = turn(place, parent, axis, mark.offset);
      if (!region || !mine) continue;
      region = share(place, std::move(*region), source.output(mark.value_index).shape(), *mine);
      if (!region) continue;
      if (stored) shorten(region->back(), source.output(mark.value_index).dtype());
    } else {
      region = later(place, std::move(*region), axis, mark.offset);
    }
    result.push_back(make(Prefetch{.producer = source,
                                   .value_index = mark.value_index,
                                   .bounds = std::move(*region),
                                   .for_write = stored}));
  }
  return block(result);
}

}  // namespace tw
