// SPDX-License-Identifier: Apache-2.0
// From stages and domains to statements. Each stage's nest is built once, from the
// innermost statement outwards; stages computed inside one of its loops are put around that loop's
// body as it is built.
#include "schedule/schedule_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/print.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "schedule/index_range.h"
#include "schedule/overhang.h"
#include "schedule/prefetches.h"
#include "schedule/ragged_domain.h"
#include "schedule/region.h"
#include "schedule/scan_stages.h"
#include "schedule/schedule_data.h"
#include "schedule/te/ragged.h"
#include "schedule/tensorized.h"
#include "schedule/thread_loops.h"

namespace tw {
namespace {

// One walk through the iteration space of a stage: the whole nest, or the part of it that sets a
// reduction to its identity.
struct Walk {
  std::vector<Var> vars;         // loop variable of each leaf axis; undefined when not walked
  VarMap roots;                  // values of the root axes
  std::vector<Expr> conditions;  // that keep the walk inside the domains
};

// What a walk has to test.
struct Tests {
  std::vector<IterVar> overrun;       // the offset is below the extent of the domain
  std::vector<IterVar> above, below;  // the value is not below, or not above, the tensor's own axis
  std::vector<IterVar> ragged;        // the value is in the axis's domain at this element
};

class NestBuilder {
 public:
  NestBuilder(const ScheduleData& schedule, const DomainMap& domains,
              const ScheduleOptions& options)
      : schedule_(schedule), domains_(domains), options_(options), range_of_(domains_, analyzer_) {
    for (const auto& stage : schedule_.stages) {
      if (stage->attach_type == AttachType::Scope)
        inside_[stage->attach_axis->var].push_back(stage.get());
      if (stage->attach_type == AttachType::ScanInit)
        before_[stage->attach_stage].push_back(stage.get());
      for (const te::Part& part : stage->op->parts()) in_place_.push_back(part.tensor);
      if (is_placeholder(*stage) || stage->attach_type == AttachType::InlinedAlready) continue;
      for (const IterVar& leaf : stage->leaf_axes)
        analyzer_.bind(leaf->var, domains_.at(leaf->var));
    }
    overhang_.emplace(schedule_, domains_, analyzer_);
    check_threads(schedule_, domains_, analyzer_);
  }

  Stmt build(const KernelPart& part) {
    given_ = &part.given;
    return with_parts_in_place(schedule_, pipelines(part.stages, {}));
  }

 private:
  // The stages in this order, then `consumer`.
  Stmt pipelines(const std::vector<const StageData*>& stages, Stmt consumer) {
    for (size_t k = stages.size(); k-- > 0;) consumer = pipeline(*stages[k], consumer);
    return consumer;
  }

  Stmt pipeline(const StageData& stage, const Stmt& consumer) {
    const Stmt computed = pipelines(before_[&stage], nest(stage));
    Stmt body = block({make(Produce{.producer = stage.op, .body = computed}), consumer});
    for (int k = stage.op->num_outputs(); k-- > 0;) {
      const te::Tensor output = stage.op.output(k);
      if (std::ranges::find(*given_, output) != given_->end()) continue;
      if (std::ranges::find(in_place_, output) != in_place_.end()) continue;
      body = make(Realize{.producer = stage.op,
                          .value_index = k,
                          .bounds = stage.op->realized(k, domains_),
                          .scope = stage.storage.scope.empty()
                                       ? "global"
                                       : std::string(memory_of(stage.storage.scope)),
                          .body = body});
      if (stage.storage.double_buffer) {
        body = make(AttrStmt{.node = make_const(int_type(32), k),
                             .key = attr::kDoubleBuffer,
                             .value = make_const(int_type(32), 1),
                             .body = body});
      }
      for (size_t p = stage.storage.row_pitches.size(); p-- > 0;)
        body = pitched(stage.storage.row_pitches[p], body);
    }
    return body;
  }

  static Stmt pitched(const RowPitch& pitch, Stmt body) {
    const DType type = int_type(32);
    const Expr dimension = make_const(type, static_cast<int64_t>(pitch.dimension));
    if (pitch.offset != 0) {
      body = make(AttrStmt{.node = dimension,
                           .key = attr::kRowPitchOffset,
                           .value = make_const(type, pitch.offset),
                           .body = body});
    }
    return make(AttrStmt{.node = dimension,
                         .key = attr::kRowPitch,
                         .value = make_const(type, pitch.factor),
                         .body = body});
  }

  static Stmt nothing() { return make(Evaluate{.value = 0}); }

  Stmt nest(const StageData& stage) {
    if (!stage.op->has_elements()) return nothing();
    if (!stage.op->has_points()) return identities(stage);
    const bool reduces = stage.op->is_reduction();
    const std::vector<IterVar>& leaves = stage.leaf_axes;
    Walk main;
    for (const IterVar& leaf : leaves) main.vars.push_back(leaf->var);
    const Tests tests = tests_of(stage, main);
    complete(stage, main, tests);
    size_t first_reduction = leaves.size();
    if (reduces) {
      first_reduction = 0;
      while (leaves[first_reduction]->kind != IterKind::Reduction) ++first_reduction;
    }

    // Copies of a body and lanes share a condition that does not depend on them.
    size_t trailing = leaves.size();
    while (trailing > 0 && runs_at_once(stage, leaves[trailing - 1])) --trailing;
    if (reduces) trailing = std::max(trailing, first_reduction + 1);
    const Tensorized tensorized = tensorized_part(schedule_, stage, first_reduction, main.vars,
                                                  main.conditions, domains_, analyzer_);
    if (tensorized.defined()) trailing = std::min(trailing, tensorized.position);
    std::vector<Expr> conditions = main.conditions;
    const auto called = [&](size_t position, Stmt nest) {
      if (!tensorized.defined() || position != tensorized.position) return nest;
      const bool update = reduces && tensorized.in_parts(first_reduction);
      return mark_nest(*tensorized.intrin, update ? IntrinPart::Update : IntrinPart::Body,
                       tensorized.match, nest);
    };
    Stmt body = called(leaves.size(), with_source(stage, stage.op->update(main.roots, conditions)));
    for (size_t k = leaves.size();; --k) {
      // Those that depend on loop k - 1 and none inside it stand right inside it.
      std::vector<Expr> here;
      std::erase_if(conditions, [&](const Expr& c) {
        const bool moves = k > trailing && !uses(c, main.vars[k - 1]);
        if (!moves) here.push_back(c);
        return !moves;
      });
      body = guarded(here, body);
      if (k == 0) break;
      const size_t at = k - 1;
      if (auto it = inside_.find(leaves[at]->var); it != inside_.end()) {
        body = guarded(necessary(stage, main, at, it->second), pipelines(it->second, body));
      }
      body = loop(stage, leaves[at], main.vars[at],
                  block({prefetches(schedule_, stage, at, domains_, analyzer_), body}));
      // The reduction starts where its first loop does, inside the loops before it.
      if (at == first_reduction) {
        body = block({initialization(stage, at, tests, tensorized), body});
      }
      body = called(at, body);
    }
    return body;
  }

  bool runs_at_once(const StageData& stage, const IterVar& leaf) const {
    const AxisAttributes* marks = stage.attributes_of(leaf);
    if (marks == nullptr) return false;
    return marks->for_kind == ForKind::Unrolled || marks->for_kind == ForKind::Vectorized;
  }

  // What must hold for any iteration of the loops inside leaf `k`: a tile that lies outside as a
  // whole needs none of the stages computed for it. Of symbolic extents it would be tested always.
  // What threads share does not depend on whether one of them has nothing to do.
  std::vector<Expr> necessary(const StageData& stage, const Walk& walk, size_t k,
                              const std::vector<const StageData*>& inside) {
    std::vector<Expr> result;
    VarSet threads;
    const bool shared = std::ranges::any_of(
        inside, [](const StageData* s) { return memory_of(s->storage.scope) == "shared"; });
    for (size_t j = 0; shared && j <= k; ++j) {
      const AxisAttributes* marks = stage.attributes_of(stage.leaf_axes[j]);
      if (marks != nullptr && !marks->thread.empty()) threads.insert(walk.vars[j]);
    }
    VarMap first;
    for (size_t j = k + 1; j < walk.vars.size(); ++j)
      first[walk.vars[j]] = make_zero(walk.vars[j].dtype());
    for (const Expr& condition : walk.conditions) {
      const Less* less = as<Less>(as<Call>(condition)->args[0]);
      if (less == nullptr || !as_const_int(less->b) || !grows_with(less->a, first)) continue;
      if (uses_any(less->a, threads)) continue;
      const Expr least = analyzer_.simplify(substitute(less->a, first));
      const Expr test = least < less->b;
      if (!uses_any_of(less->a, first) || analyzer_.can_prove(test)) continue;
      result.push_back(likely(test));
    }
    return result;
  }
  static bool uses_any_of(const Expr& e, const VarMap& vars) {
    bool found = false;
    for_each_expr(e, [&](const Expr& x) {
      const Variable* v = as<Variable>(x);
      found |= v && vars.contains(Var(v));
    });
    return found;
  }
  // A sum of variables times positive constants, as far as `vars` are in it.
  static bool grows_with(const Expr& e, const VarMap& vars) {
    if (is<Variable>(e) || !uses_any_of(e, vars)) return true;
    if (const Add* add = as<Add>(e)) return grows_with(add->a, vars) && grows_with(add->b, vars);
    const Mul* mul = as<Mul>(e);
    if (mul == nullptr) return false;
    const auto factor = as_const_int(mul->b);
    return factor && *factor > 0 && grows_with(mul->a, vars);
  }

  bool is_elided(const IterVar& leaf) const {
    return !options_.keep_trivial_loops && is_one(domains_.at(leaf->var).extent);
  }

  // Offsets of all axes from the loop variables.
  VarMap offsets_of(const StageData& stage, const Walk& walk) {
    VarMap offsets;
    for (size_t k = 0; k < walk.vars.size(); ++k) {
      if (!walk.vars[k].defined()) continue;
      const IterVar& leaf = stage.leaf_axes[k];
      TW_CHECK(is_zero(domains_.at(leaf->var).min),
               "schedule_ops of a schedule that is not normalised");
      offsets[leaf->var] = is_elided(leaf) ? make_zero(leaf->var.dtype()) : Expr(walk.vars[k]);
    }
    for (size_t r = stage.relations.size(); r-- > 0;)
      stage.relations[r]->index_up(offsets, domains_);
    return offsets;
  }

  // Values and conditions from the loop variables; `tests` says which conditions there are.
  void complete(const StageData& stage, Walk& walk, const Tests& tests) {
    const VarMap offsets = offsets_of(stage, walk);
    for (const IterVar& root : stage.op->root_axes()) {
      auto it = offsets.find(root->var);
      if (it != offsets.end()) walk.roots[root->var] = it->second + domains_.at(root->var).min;
    }
    const auto require = [&](const Expr& condition) {
      if (!is_const_int(condition, 1)) walk.conditions.push_back(likely(condition));
    };
    for (const IterVar& axis : tests.overrun) {
      auto it = offsets.find(axis->var);
      if (it != offsets.end()) require(it->second < domains_.at(axis->var).extent);
    }
    for (const IterVar& axis : tests.above) require(walk.roots.at(axis->var) >= axis->domain.min);
    for (const IterVar& axis : tests.below) {
      require(walk.roots.at(axis->var) < axis->domain.min + axis->domain.extent);
    }
    for (const IterVar& axis : tests.ragged) {
      const auto it = walk.roots.find(axis->var);
      if (it == walk.roots.end()) continue;
      const Range own = domain_at(stage, axis, walk.roots, analyzer_);
      if (!analyzer_.can_prove(it->second >= own.min)) require(it->second >= own.min);
      require(it->second < own.min + own.extent);
    }
  }

  // Which axes have to be tested, in the order of the tests.
  Tests tests_of(const StageData& stage, const Walk& main) {
    Tests tests;
    VarSet overrun;
    std::vector<IterVar> checked;
    for (size_t r = stage.relations.size(); r-- > 0;) {
      stage.relations[r]->overrun_up(overrun, checked, domains_, analyzer_);
    }
    for (const IterVar& root : stage.op->root_axes()) {
      if (overrun.contains(root->var)) tests.overrun.push_back(root);
      if (te::is_ragged(*stage.op, root) &&
          !ragged_domain(stage, root, domains_, analyzer_).exact) {
        tests.ragged.push_back(root);
      }
    }
    tests.overrun.insert(tests.overrun.end(), checked.rbegin(), checked.rend());
    // A region that was inferred may reach outside the tensor.
    if (!is_region(stage)) return tests;
    const VarMap offsets = offsets_of(stage, main);
    const std::vector<IterVar>& axes = stage.op->data_axes();
    for (size_t d = 0; d < axes.size(); ++d) {
      const IterVar& axis = axes[d];
      const Range& domain = domains_.at(axis->var);
      if (axis->kind == IterKind::Opaque || overhang_->is_free(stage, d)) continue;
      if (is_same(domain, axis->domain)) continue;
      const Range range = range_of_(offsets.at(axis->var) + domain.min);
      if (!is_at_least(range, axis->domain.min)) tests.above.push_back(axis);
      if (!is_below(range, axis->domain.min + axis->domain.extent)) tests.below.push_back(axis);
    }
    return tests;
  }

  bool is_at_least(const Range& r, const Expr& limit) {
    if (!is_known(r)) return false;
    const auto a = as_const_int(r.min), b = as_const_int(limit);
    return a && b ? *a >= *b : analyzer_.can_prove(r.min >= limit);
  }
  bool is_below(const Range& r, const Expr& limit) {
    if (!is_known(r)) return false;
    const Expr end = r.min + r.extent;
    const auto a = as_const_int(end), b = as_const_int(limit);
    return a && b ? *a <= *b : analyzer_.can_prove(end <= limit);
  }

  static Stmt guarded(const std::vector<Expr>& conditions, Stmt body) {
    if (!body.defined()) return body;
    for (size_t k = conditions.size(); k-- > 0;) {
      body = make(IfThenElse{.condition = conditions[k], .then_case = body});
    }
    return body;
  }

  // Whether a parallel loop stands around this one: the threads are taken already.
  bool inside_parallel(const StageData& stage, const IterVar& leaf) const {
    const StageData* s = &stage;
    size_t around = leaf_position(stage, leaf);
    while (true) {
      for (size_t k = 0; k < around; ++k) {
        const AxisAttributes* marks = s->attributes_of(s->leaf_axes[k]);
        const bool parallel = marks != nullptr && marks->for_kind == ForKind::Parallel;
        if (parallel && !is_elided(s->leaf_axes[k])) return true;
      }
      if (!is_region(*s)) return false;
      const bool before = s->attach_type == AttachType::ScanInit;
      around = before ? 0 : leaf_position(*s->attach_stage, s->attach_axis) + 1;
      s = s->attach_stage;
    }
  }

  Stmt loop(const StageData& stage, const IterVar& leaf, const Var& var, Stmt body) {
    const AxisAttributes* marks = stage.attributes_of(leaf);
    const bool elided = is_elided(leaf);
    if (!elided) {
      const Range& domain = domains_.at(leaf->var);
      ForKind kind = marks ? marks->for_kind : ForKind::Serial;
      if (kind == ForKind::Parallel && inside_parallel(stage, leaf)) kind = ForKind::Serial;
      if ((kind == ForKind::Vectorized || kind == ForKind::Unrolled) &&
          !as_const_int(domain.extent)) {
        raise(
            {.code = ErrorCode::SymbolicExtent,
             .what = fmt::format("{} over an extent that is not a constant",
                                 kind == ForKind::Vectorized ? "vectorize" : "unroll"),
             .stage = stage.name(),
             .axis = leaf.name(),
             .where = marks->where,
             .legal = "an axis of constant extent, such as the inner axis of a split by a factor"});
      }
      body = make(For{.var = var,
                      .min = domain.min,
                      .extent = cast(var.dtype(), domain.extent),
                      .for_kind = kind,
                      .body = body});
    }
    if (marks == nullptr) return body;
    // The iterations of a reduction run in turn, whichever threads they are of.
    if (!elided && !marks->thread.empty() && leaf->kind != IterKind::Reduction) {
      body = make(AttrStmt{.node = {},
                           .key = attr::kThread,
                           .value = make(StringImm{.value = marks->thread}),
                           .body = body});
    }
    for (size_t k = marks->pragmas.size(); k-- > 0;) {
      const auto& [name, value] = marks->pragmas[k];
      body = make(
          AttrStmt{.node = {}, .key = attr::kPragmaPrefix + name, .value = value, .body = body});
    }
    return body;
  }

  // Sets the elements to the identity: the data loops from position `begin` on, under names of
  // their own. Loops before it are shared.
  Stmt initialization(const StageData& stage, size_t begin, const Tests& tests,
                      const Tensorized& tensorized) {
    Walk walk;
    for (size_t k = 0; k < stage.leaf_axes.size(); ++k) {
      const IterVar& leaf = stage.leaf_axes[k];
      if (leaf->kind == IterKind::Reduction) {
        walk.vars.emplace_back();
      } else {
        walk.vars.push_back(k < begin ? leaf->var : Var(leaf.name() + ".init", leaf->var.dtype()));
      }
    }
    complete(stage, walk, tests);
    const bool reset = tensorized.in_parts(begin);
    Stmt body = with_source(stage, stage.op->initialization(walk.roots));
    if (!reset) body = guarded(walk.conditions, body);
    const auto called = [&](size_t position, const Stmt& nest) {
      if (!reset || position != tensorized.position) return nest;
      const DomainMap parts = root_ranges(stage, walk.vars, position, domains_, analyzer_);
      return guarded(
          walk.conditions,
          mark_nest(*tensorized.intrin, IntrinPart::Reset,
                    outputs_at(parts, stage.op, tensorized.intrin->inputs.size(), tensorized.match),
                    nest));
    };
    body = called(stage.leaf_axes.size(), body);
    for (size_t k = stage.leaf_axes.size(); k-- > begin;) {
      if (walk.vars[k].defined()) body = loop(stage, stage.leaf_axes[k], walk.vars[k], body);
      body = called(k, body);
    }
    return body;
  }

  // A reduction over an axis of extent 0: no stage that is computed inside it is read.
  Stmt identities(const StageData& stage) {
    Walk walk;
    for (const IterVar& leaf : stage.leaf_axes)
      walk.vars.push_back(leaf->kind == IterKind::Reduction ? Var() : leaf->var);
    return initialization(stage, 0, tests_of(stage, walk), {});
  }

  Stmt with_source(const StageData& stage, Stmt body) {
    if (!options_.source_lines || stage.where.empty() || !body.defined()) return body;
    return make(AttrStmt{.node = {},
                         .key = attr::kSourceLine,
                         .value = make(StringImm{.value = stage.where}),
                         .body = body});
  }

  const ScheduleData& schedule_;
  const DomainMap& domains_;
  const ScheduleOptions& options_;
  Analyzer analyzer_;
  IndexRange range_of_;
  std::optional<Overhang> overhang_;
  const std::vector<te::Tensor>* given_ = nullptr;
  std::unordered_map<Var, std::vector<const StageData*>, IdentityHash, IdentityEqual> inside_;
  std::unordered_map<const StageData*, std::vector<const StageData*>> before_;
  std::vector<te::Tensor> in_place_;  // stored in the memory of other stages
};

}  // namespace

Stmt schedule_ops(const Schedule& schedule, const DomainMap& domains,
                  const ScheduleOptions& options) {
  return schedule_ops(schedule, domains, options, parts_of(schedule, {}).main);
}

Stmt schedule_ops(const Schedule& schedule, const DomainMap& domains,
                  const ScheduleOptions& options, const KernelPart& part) {
  return NestBuilder(schedule.data(), domains, options).build(part);
}

}  // namespace tw
