// SPDX-License-Identifier: Apache-2.0
#include "schedule/show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/print.h"
#include "schedule/infer_bound.h"
#include "schedule/normalize.h"
#include "schedule/schedule_options.h"

namespace tw {
namespace {

bool has_loop(const StageData& stage, const std::string& name) {
  return std::ranges::any_of(stage.leaf_axes, [&](const IterVar& a) { return a.name() == name; });
}

// Whether the stage is what is wrong, or in the group that is.
bool is_wrong(const StageData& stage, const Culprit& culprit) {
  for (const StageData* s = &stage; s != nullptr; s = s->group) {
    if (s->name() == culprit.stage) return true;
  }
  return false;
}

std::string type_and_shape(DType type, const std::vector<Expr>& shape) {
  std::string list;
  for (const Expr& e : shape) list += (list.empty() ? "" : ", ") + to_string(e);
  return fmt::format("{}[{}]", to_string(type), list);
}

class Rows {
 public:
  // Domains may be lacking.
  Rows(const ScheduleData& schedule, const DomainMap& domains, const Culprit* culprit = nullptr)
      : schedule_(schedule), domains_(domains), culprit_(culprit) {
    for (const auto& stage : schedule_.stages) {
      // One that is attached to what is no loop is shown at the outermost level.
      const StageData* parent = stage->attach_stage;
      if (parent == nullptr || is_inlined(*parent)) continue;
      if (stage->attach_type == AttachType::ScanInit) {
        before_[parent].push_back(stage.get());
      } else if (stage->attach_type == AttachType::ScanUpdate) {
        inside_[parent->leaf_axes.back()->var].push_back(stage.get());
      } else if (stage->attach_type == AttachType::Scope && is_leaf(*parent, stage->attach_axis)) {
        inside_[stage->attach_axis->var].push_back(stage.get());
      } else {
        continue;
      }
      attached_.insert(stage.get());
    }
  }

  // Placeholders and inlined stages, which have no loops.
  void heads() {
    std::string inputs, inlined;
    for (const auto& stage : schedule_.stages) {
      if (is_placeholder(*stage)) {
        inputs +=
            fmt::format("{}{} {}", inputs.empty() ? "" : ", ", stage->name(),
                        type_and_shape(stage->op->output_dtype(0), stage->op->output_shape(0)));
      } else if (is_inlined(*stage)) {
        inlined += (inlined.empty() ? "" : ", ") + stage->name();
      }
    }
    if (!inputs.empty()) rows_.push_back({.text = "inputs " + inputs});
    if (!inlined.empty()) rows_.push_back({.text = "inlined " + inlined});
  }

  // The stages at the outermost level that `wanted` holds for.
  template <class Wanted>
  std::vector<NestRow> nests(Wanted wanted) {
    for (const auto& stage : schedule_.stages) {
      if (is_placeholder(*stage) || is_inlined(*stage) || attached_.contains(stage.get())) continue;
      if (wanted(*stage)) nest(*stage, 0);
    }
    return std::move(rows_);
  }

 private:
  void nest(const StageData& stage, int depth) {
    // Stages that wrongly stand inside one another would have no end.
    if (std::ranges::find(open_, &stage) != open_.end()) return;
    open_.push_back(&stage);
    NestRow head{.kind = NestRow::Kind::Stage, .depth = depth, .text = "produce " + stage.name()};
    for (int k = 0; k < stage.op->num_outputs(); ++k)
      head.notes.push_back(type_and_shape(stage.op->output_dtype(k), stored(stage, k)));
    if (stage.is_output) head.notes.emplace_back("output");
    if (!stage.storage.scope.empty()) head.notes.push_back(stage.storage.scope);
    // Its call computes one point: none of the loops is its own.
    if (stage.called.defined() && intrin_of(stage).position == stage.leaf_axes.size())
      head.notes.push_back("tensorize " + stage.called->name);
    if (stage.storage.precomputed) head.notes.emplace_back("precomputed");
    if (stage.storage.double_buffer) head.notes.emplace_back("double buffer");
    if (stage.store_predicate.condition.defined())
      head.notes.push_back("stored if " + to_string(stage.store_predicate.condition));
    for (const RowPitch& p : stage.storage.row_pitches) {
      head.notes.push_back(
          fmt::format("pitch of dimension {} = {} mod {}", p.dimension, p.offset, p.factor));
    }
    head.is_marked = culprit_ && is_wrong(stage, *culprit_) && !has_loop(stage, culprit_->axis);
    rows_.push_back(std::move(head));
    if (const auto here = before_.find(&stage); here != before_.end()) {
      for (const StageData* s : here->second) nest(*s, depth + 1);
    }
    for (const IterVar& leaf : stage.leaf_axes) {
      loop(stage, leaf, ++depth);
      const auto here = inside_.find(leaf->var);
      if (here == inside_.end()) continue;
      for (const StageData* s : here->second) nest(*s, depth + 1);
    }
    open_.pop_back();
  }

  // The extents that are in memory, or those of the whole where that is not known.
  std::vector<Expr> stored(const StageData& stage, int k) const {
    for (const IterVar& axis : stage.op->data_axes()) {
      if (!domains_.contains(axis->var)) return stage.op->output_shape(k);
    }
    std::vector<Expr> extents;
    for (const Range& r : stage.op->realized(k, domains_)) extents.push_back(r.extent);
    return extents;
  }

  void loop(const StageData& stage, const IterVar& leaf, int depth) {
    const AxisAttributes* marks = stage.attributes_of(leaf);
    NestRow row{.kind = NestRow::Kind::Loop, .depth = depth};
    const std::string_view kind = to_string(marks ? marks->for_kind : ForKind::Serial);
    const auto domain = domains_.find(leaf->var);
    row.text = domain == domains_.end()
                   ? fmt::format("{} ({})", kind, leaf.name())
                   : fmt::format("{} ({}, {}, {})", kind, leaf.name(),
                                 to_string(domain->second.min), to_string(domain->second.extent));
    if (leaf->kind == IterKind::Reduction) row.notes.emplace_back("reduction");
    if (leaf->kind == IterKind::Ordered) row.notes.emplace_back("in order");
    if (marks != nullptr) {
      if (!marks->thread.empty()) row.notes.push_back(marks->thread);
      for (const auto& [name, value] : marks->pragmas)
        row.notes.push_back(fmt::format("pragma {} = {}", name, to_string(value)));
      for (const PrefetchMark& p : marks->prefetches) {
        row.notes.push_back(p.scope.defined()
                                ? fmt::format("prefetch {} of {} ahead in {}", p.producer->name,
                                              p.offset, p.scope.name())
                                : fmt::format("prefetch {} {} ahead", p.producer->name, p.offset));
      }
    }
    const IntrinPlace place = intrin_of(stage);
    if (place.defined() && place.position == leaf_position(stage, leaf))
      row.notes.push_back("tensorize " + place.intrin->name);
    row.is_marked = culprit_ && culprit_->stage == stage.name() && culprit_->axis == leaf.name();
    rows_.push_back(std::move(row));
  }

  const ScheduleData& schedule_;
  const DomainMap& domains_;
  const Culprit* culprit_;
  std::vector<NestRow> rows_;
  std::vector<const StageData*> open_;
  std::unordered_set<const StageData*> attached_;
  std::unordered_map<const StageData*, std::vector<const StageData*>> before_;
  std::unordered_map<Var, std::vector<const StageData*>, IdentityHash, IdentityEqual> inside_;
};

// The domains of what is computed whole, as far as they are known without inferring bounds.
void add_own_domains(const StageData& stage, DomainMap& domains) {
  if (is_placeholder(stage) || stage.attach_type != AttachType::GroupRoot) return;
  Analyzer analyzer;
  for (const IterVar& root : stage.op->root_axes()) domains[root->var] = root->domain;
  for (const RelationRef& relation : stage.relations)
    relation->domain_down(domains, analyzer, ScheduleOptions());
}

// The stage at the outermost level in whose nest this one stands.
const StageData* outermost(const StageData* stage) {
  for (int depth = 0; depth < 1000; ++depth) {
    if (stage->attach_type == AttachType::GroupRoot || stage->attach_stage == nullptr) break;
    stage = stage->attach_stage;
  }
  return stage;
}

std::string shortened(std::string line, size_t width) {
  if (line.size() <= width) return line;
  line.resize(width - 3);
  return line + "...";
}

}  // namespace

Culprit culprit_of(const ErrorInfo& error) {
  return {.stage = error.stage, .axis = error.code == ErrorCode::BadAttach ? "" : error.axis};
}

std::vector<NestRow> nest_rows(const Schedule& schedule) {
  Schedule shown = schedule;
  DomainMap domains;
  try {
    const Schedule normal = normalize(schedule);
    domains = infer_bound(normal);
    shown = normal;
  } catch (const UserError&) {  // it cannot be lowered; `check` says why
    for (const auto& stage : schedule.data().stages) add_own_domains(*stage, domains);
  }
  Rows rows(shown.data(), domains);
  rows.heads();
  return rows.nests([](const StageData&) { return true; });
}

std::vector<NestRow> nest_rows(const ScheduleData& schedule, const Culprit& culprit) {
  DomainMap domains;
  std::unordered_set<const StageData*> wanted;
  for (const auto& stage : schedule.stages) {
    if (!is_wrong(*stage, culprit)) continue;
    wanted.insert(outermost(stage.get()));
    for (const StageData* consumer : consumers_of(schedule, *stage))
      wanted.insert(outermost(consumer));
  }
  for (const StageData* stage : wanted) add_own_domains(*stage, domains);
  return Rows(schedule, domains, &culprit).nests([&](const StageData& s) {
    return wanted.contains(&s);
  });
}

std::string to_text(const std::vector<NestRow>& rows, size_t width) {
  const bool any_marked = std::ranges::any_of(rows, &NestRow::is_marked);
  std::string text;
  for (const NestRow& row : rows) {
    const std::string margin = !any_marked ? "" : row.is_marked ? "> " : "  ";
    const std::string blank = any_marked ? "  " : "";
    // Nests deeper than half a line are not indented further.
    const auto depth = std::min(static_cast<size_t>(row.depth) * 2, width / 2);
    const std::string indent(depth, ' '), further(depth + 4, ' ');
    std::string line = margin + indent + row.text;
    bool first = true;
    const auto put = [&](const std::string& part, std::string_view separator) {
      if (line.size() + separator.size() + part.size() <= width) {
        line += std::string(separator) + part;
      } else {
        text += shortened(line, width) + "\n";
        line = blank + further + part;
      }
    };
    if (row.kind == NestRow::Kind::Note) {  // a list, which may take several lines
      line = margin;
      size_t begin = 0;
      for (size_t at = row.text.find(", "); begin < row.text.size();
           at = row.text.find(", ", begin)) {
        const size_t end = at == std::string::npos ? row.text.size() : at + 1;
        put(row.text.substr(begin, end - begin), first ? "" : " ");
        first = false;
        begin = end == row.text.size() ? end : end + 1;
      }
    }
    for (const std::string& note : row.notes) {
      put(note, first ? "  " : ", ");
      first = false;
    }
    text += shortened(line, width) + "\n";
  }
  return text;
}

std::string to_html(const std::vector<NestRow>& rows) {
  const auto escaped = [](std::string_view text) {
    std::string result;
    for (char c : text) {
      if (c == '<' || c == '>' || c == '&') {
        result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;";
      } else {
        result += c;
      }
    }
    return result;
  };
  const std::string_view grey = "<span style=\"color: gray\">";
  std::string html = "<pre>";
  for (const NestRow& row : rows) {
    html += std::string(static_cast<size_t>(row.depth) * 2, ' ');
    switch (row.kind) {
      case NestRow::Kind::Note:
        html += fmt::format("{}{}</span>", grey, escaped(row.text));
        break;
      case NestRow::Kind::Stage:
        html += fmt::format("<b>{}</b>", escaped(row.text));
        break;
      case NestRow::Kind::Loop:
        html += escaped(row.text);
        break;
    }
    if (!row.notes.empty())
      html += fmt::format("  {}{}</span>", grey,
                          escaped(fmt::format("{}", fmt::join(row.notes, ", "))));
    html += "\n";
  }
  return html + "</pre>";
}

}  // namespace tw
