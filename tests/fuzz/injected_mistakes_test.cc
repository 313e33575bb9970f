// SPDX-License-Identifier: Apache-2.0
// Mistakes that a compiler of schedules is known to make, one at a time, made on purpose in the
// statements that lowering gives: the random cases with their oracle must notice each of them soon.
// A mistake is a rewrite of the kernel after a pass, which does what that pass would do with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "ir/substitute.h"
#include "lower/conditions.h"
#include "tests/support/lower_check.h"

namespace tw::test {
namespace {

// ---------------------------------------------------------------------------------------------
// Mistakes in loop nests

size_t count_loops(const Expr& condition) { return free_vars(condition).size(); }

// if (likely(c)) { s } as s, where `wrong` says so; with `any`, whether likely or not.
class DropPredicates : public Mutator {
 public:
  using Wrong = std::function<bool(const Expr& condition, const Stmt& guarded)>;
  explicit DropPredicates(Wrong wrong, bool any = false) : wrong_(std::move(wrong)), any_(any) {}

 protected:
  using Mutator::on;
  Stmt on(const IfThenElse& op, const Stmt& self) override {
    const Call* call = as<Call>(op.condition);
    const bool likely = call != nullptr && call->name == "likely";
    const Expr& condition = likely ? call->args[0] : op.condition;
    if ((likely || any_) && wrong_(condition, op.then_case)) return mutate(op.then_case);
    return Mutator::on(op, self);
  }

 private:
  Wrong wrong_;
  bool any_;
};

Stmt missing_predicate_of_a_split_of_a_split(const Stmt& s) {
  return DropPredicates([](const Expr& c, const Stmt&) { return count_loops(c) > 2; }).mutate(s);
}
Stmt dropped_likely(const Stmt& s) {
  return DropPredicates([](const Expr& c, const Stmt&) { return count_loops(c) <= 2; }).mutate(s);
}

bool starts_reduction(const Stmt& guarded) {
  const Provide* store = as<Provide>(guarded);
  if (store == nullptr) return false;
  const std::vector<Var> vars = free_vars(guarded);
  return std::ranges::any_of(vars, [](const Var& v) { return v.name().ends_with(".init"); });
}
Stmt unguarded_start_of_a_reduction(const Stmt& s) {
  return DropPredicates([](const Expr&, const Stmt& guarded) { return starts_reduction(guarded); })
      .mutate(s);
}

bool stores_into(const Stmt& s, const std::function<bool(const Producer&)>& which) {
  bool found = false;
  for_each_stmt(s, [&](const Stmt& part) {
    const Provide* store = as<Provide>(part);
    found |= store != nullptr && which(*store->producer);
  });
  return found;
}
// The conditions of a reduction's terms are among those of the stage that rfactor makes.
Stmt stale_predicate_of_rfactor(const Stmt& s) {
  const auto of_rfactor = [](const Producer& p) { return p.name.find(".rf") != std::string::npos; };
  const auto wrong = [&](const Expr&, const Stmt& guarded) {
    return stores_into(guarded, of_rfactor);
  };
  return DropPredicates(wrong, true).mutate(s);
}

// What is realized inside a loop is a row too small.
class SmallRegions : public Mutator {
 protected:
  using Mutator::on;
  Stmt on(const For& op, const Stmt& self) override {
    ++loops_;
    const Stmt s = Mutator::on(op, self);
    --loops_;
    return s;
  }
  Stmt on(const Realize& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    if (loops_ == 0 || op.bounds.empty()) return s;
    const auto extent = as_const_int(op.bounds[0].extent);
    if (!extent || *extent < 2) return s;
    return with(s, [](Realize& r) { r.bounds[0].extent = r.bounds[0].extent - 1; });
  }

 private:
  int loops_ = 0;
};
Stmt region_one_too_small(const Stmt& s) { return SmallRegions().mutate(s); }

// A stage stands behind the first of those that read it.
class ConsumersFirst : public Mutator {
 protected:
  using Mutator::on;
  Stmt on(const Block& op, const Stmt& self) override {
    const Block& stages = *as<Block>(self);
    if (stages.stmts.size() < 2 || !is<Produce>(stages.stmts[0])) return Mutator::on(op, self);
    std::vector<Stmt> swapped = stages.stmts;
    std::swap(swapped[0], swapped[1]);
    return block(swapped);
  }
};
Stmt use_before_definition(const Stmt& s) { return ConsumersFirst().mutate(s); }

// The partial results of a factored reduction are subtracted, as if x - y were a reducer.
class SubtractParts : public Mutator {
 protected:
  using Mutator::on;
  Stmt on(const Provide& op, const Stmt& self) override {
    const Add* sum = as<Add>(op.value);
    const ProducerLoad* part = sum == nullptr ? nullptr : as<ProducerLoad>(sum->b);
    if (part == nullptr || part->producer->name.find(".rf") == std::string::npos) return self;
    return with(self, [&](Provide& p) { p.value = sum->a - sum->b; });
  }
};
Stmt reducer_that_is_not_associative(const Stmt& s) { return SubtractParts().mutate(s); }

// Both sides of a choice are evaluated.
class EagerChoices : public Mutator {
 protected:
  using Mutator::on;
  Expr on(const Call& op, const Expr& self) override {
    const Expr e = Mutator::on(op, self);
    if (op.name != "if_then_else") return e;
    const std::vector<Expr>& args = as<Call>(e)->args;
    return make(Select{.condition = args[0], .true_value = args[1], .false_value = args[2]});
  }
};
Stmt select_out_of_bounds(const Stmt& s) { return EagerChoices().mutate(s); }

// ---------------------------------------------------------------------------------------------
// Mistakes of passes

// x mod c has the sign of x.
class WrongFloor : public Mutator {
 protected:
  using Mutator::on;
  Expr on(const FloorMod& op, const Expr& self) override {
    const Expr e = Mutator::on(op, self);
    return make(Mod{.a = as<FloorMod>(e)->a, .b = as<FloorMod>(e)->b});
  }
};
Stmt floormod_as_remainder(const Stmt& s) { return WrongFloor().mutate(s); }

// The first of two loops that were one runs a round too far, where its conditions are gone.
class CutTooLate : public Mutator {
 protected:
  using Mutator::on;
  Stmt on(const Block& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    const Block* parts = as<Block>(s);
    if (parts == nullptr) return s;
    std::vector<Stmt> stmts = parts->stmts;
    for (size_t k = 0; k + 1 < stmts.size(); ++k) {
      const For *main = as<For>(stmts[k]), *rest = as<For>(stmts[k + 1]);
      if (main == nullptr || rest == nullptr || main->var.name() != rest->var.name()) continue;
      stmts[k] = with(stmts[k], [](For& f) { f.extent = f.extent + 1; });
    }
    return block(stmts);
  }
};
Stmt partition_at_the_wrong_place(const Stmt& s) { return CutTooLate().mutate(s); }

class ShiftedLanes : public Mutator {
 protected:
  using Mutator::on;
  Expr on(const Load& op, const Expr& self) override {
    const Expr e = Mutator::on(op, self);
    const Ramp* lanes = as<Ramp>(as<Load>(e)->index);
    if (lanes == nullptr) return e;
    return with(e, [&](Load& l) {
      l.index = make(Ramp{
          .base = lanes->base + lanes->stride, .stride = lanes->stride, .lanes = lanes->lanes});
    });
  }
};
Stmt wrong_offset_of_vectors(const Stmt& s) { return ShiftedLanes().mutate(s); }

// Two buffers of one type and size, one inside the other's life, share memory.
class ShareMemory : public Mutator {
 protected:
  using Mutator::on;
  Stmt on(const Allocate& op, const Stmt& self) override {
    const Allocate* inner = as<Allocate>(op.body);
    const bool alike = inner != nullptr && inner->type == op.type &&
                       inner->extents.size() == op.extents.size() &&
                       std::ranges::equal(inner->extents, op.extents,
                                          [](auto& a, auto& b) { return equal(a, b); });
    if (!alike) return Mutator::on(op, self);
    const Stmt body = substitute(inner->body, [&](const Var& v) {
      return v.same_as(inner->buffer) ? Expr(op.buffer) : Expr();
    });
    return with(self, [&](Allocate& a) { a.body = body; });
  }
};
Stmt bad_sharing_of_memory(const Stmt& s) { return ShareMemory().mutate(s); }

class ShortLoops : public Mutator {
 protected:
  using Mutator::on;
  Stmt on(const For& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    if (op.for_kind != ForKind::Unrolled) return s;
    return with(s, [](For& f) { f.extent = f.extent - 1; });
  }
};
Stmt unrolled_loop_one_short(const Stmt& s) { return ShortLoops().mutate(s); }

// ---------------------------------------------------------------------------------------------

struct Mistake {
  const char* name;
  const char* after;  // the pass; check_bounds leaves the loop nest as it is
  Stmt (*make)(const Stmt&);
  int within;  // cases
};
constexpr Mistake kMistakes[] = {
    {"missing predicate on a split of a split", "check_bounds",
     missing_predicate_of_a_split_of_a_split, 400},
    {"unguarded start of a reduction", "check_bounds", unguarded_start_of_a_reduction, 400},
    {"stale predicate of rfactor", "check_bounds", stale_predicate_of_rfactor, 400},
    {"partition at the wrong place", "loop_partition", partition_at_the_wrong_place, 200},
    {"region one too small", "check_bounds", region_one_too_small, 400},
    {"use before definition", "check_bounds", use_before_definition, 200},
    {"dropped likely", "check_bounds", dropped_likely, 200},
    {"wrong offset of vectors", "vectorize_loop", wrong_offset_of_vectors, 200},
    {"bad sharing of memory", "storage_rewrite", bad_sharing_of_memory, 200},
    {"floormod as remainder", "canonical_simplify", floormod_as_remainder, 200},
    {"reducer that is not associative", "check_bounds", reducer_that_is_not_associative, 400},
    {"select out of bounds", "check_bounds", select_out_of_bounds, 200},
    {"unrolled loop one short", "canonical_simplify", unrolled_loop_one_short, 200},
};

// What the oracle says of a kernel; empty when it is right.
std::string verdict(const Kernel& kernel, const ScheduleCase& c, const CaseData& data) {
  try {
    return run_kernel(kernel, false, c, data);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(InjectedMistakes, AreFoundSoon) {
  std::map<const Mistake*, int> found;  // by which case
  const int most = std::ranges::max(kMistakes, {}, &Mistake::within).within;
  for (int k = 0; k < most && found.size() < std::size(kMistakes); ++k) {
    // Steps meet more often in small programs.
    const RandomProgramOptions options{.most_operations = k % 2 == 0 ? 5 : 1};
    const ScheduleCase c = random_case(static_cast<uint64_t>(k) + 11'000'000, options);
    CaseData data;
    try {
      data = make_data(c);
      LowerOptions passes = random_lower_options(c.data_seed, false);
      passes.stop_after = "storage_rewrite";
      lower(c.schedule(), lower_arguments(c), Target{}, passes, nullptr,
            [&](std::string_view pass, const KernelModule& module) {
              for (const Mistake& mistake : kMistakes) {
                if (pass != mistake.after || found.contains(&mistake)) continue;
                Kernel wrong = module.entry();
                wrong.body = mistake.make(wrong.body);
                if (wrong.body.same_as(module.entry().body)) continue;
                if (!verdict(wrong, c, data).empty()) found[&mistake] = k + 1;
              }
            });
    } catch (const Error& error) {
      ASSERT_TRUE(is_refusal(error)) << error.what() << "\n" << c.reproducer();
    }
  }
  for (const Mistake& mistake : kMistakes) {
    const auto at = found.find(&mistake);
    EXPECT_TRUE(at != found.end() && at->second <= mistake.within)
        << mistake.name << " is not found within " << mistake.within << " cases";
    if (at != found.end()) std::printf("[  found   ] %s: case %d\n", mistake.name, at->second);
  }
}

}  // namespace
}  // namespace tw::test
