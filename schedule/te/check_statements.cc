// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/check_statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/guarded_visitor.h"
#include "ir/interpret.h"
#include "ir/memory_shape.h"
#include "ir/print.h"
#include "ir/substitute.h"

namespace tw::te {
namespace {

// What is tried: iterations of a loop, points of a nest, and values of symbolic extents, which
// differ between variables.
constexpr int64_t kWholeLoop = 16;
constexpr int64_t kEndOfLoop = 4;
constexpr size_t kMostPoints = 2048;
constexpr int64_t kSizes[] = {8, 64, 101, 1 << 20};

// Memory with a number of elements.
struct Memory {
  std::string name;
  Expr count;
};

// What stands around an access, outermost first: loops, and conditions under which it happens.
struct Around {
  const For* loop = nullptr;
  Expr condition;
};

struct Access {
  const Variable* memory;
  Expr index;
  bool is_store;
  int statement;  // in the order of the text; what a statement reads it reads before it stores
  const std::string* line;  // of the script
  std::vector<Around> around;
};

// All accesses whose memory has a known number of elements. Variables of `let` are replaced by
// their values.
class Collect : public GuardedVisitor {
 public:
  explicit Collect(const ExternParts& parts) : lines_(parts.lines), line_(&parts.where) {}
  std::vector<Access> accesses;
  std::unordered_map<const Variable*, Memory> memory;
  // Memory of a loop's own, one for each iteration.
  std::unordered_map<const Variable*, const For*> owner;

 protected:
  using GuardedVisitor::on;
  void on(const Load& op) override {
    visit(op.index);
    if (op.predicate.defined()) return;
    statement_ += !in_store_;
    access(op.buffer, op.index, false);
  }
  void on(const Store& op) override {
    const Line line = at(op);
    ++statement_;
    in_store_ = true;
    visit(op.value);
    visit(op.index);
    in_store_ = false;
    if (op.predicate.defined()) return;
    access(op.buffer, op.index, true);
  }
  void on(const Evaluate& op) override {
    const Line line = at(op);
    visit(op.value);
  }
  // An address is no access, nor is a hint.
  void on(const Call& op) override {
    if (op.name != "address_of" && op.name != "prefetch") GuardedVisitor::on(op);
  }
  void on(const For& op) override {
    const Line line = at(op);
    visit(op.min);
    visit(op.extent);
    inside({.loop = &op}, op.body);
  }
  // Its condition is asked once at least.
  void on(const While& op) override {
    const Line line = at(op);
    visit(op.condition);
    inside({.condition = op.condition}, op.body);
  }
  void on(const IfThenElse& op) override {
    const Line line = at(op);
    visit(op.condition);
    inside({.condition = op.condition}, op.then_case);
    if (op.else_case.defined()) inside({.condition = !op.condition}, op.else_case);
  }
  void on(const AssertStmt& op) override {
    const Line line = at(op);
    visit(op.condition);
    inside({.condition = op.condition}, op.body);
  }
  void on(const LetStmt& op) override {
    const Line line = at(op);
    visit(op.value);
    bind(op.var, op.value, op.body);
  }
  void on(const Let& op) override {
    visit(op.value);
    bind(op.var, op.value, op.body);
  }
  void on(const Allocate& op) override {
    const Line line = at(op);
    Expr count = make_const(int_type(64), op.type.lanes);
    for (const Expr& extent : op.extents) count = count * cast(int_type(64), settled(extent));
    const Variable* buffer = op.buffer.operator->();
    memory[buffer] = {op.buffer.name(), count};
    for (const Around& a : around_) {
      if (a.loop != nullptr) owner[buffer] = a.loop;
    }
    visit(op.body);
  }
  void visit_given(const Expr& condition, const Expr& value) override {
    inside({.condition = condition}, value);
  }

 private:
  // While a statement is visited the line is its own, if it is known; else that of what is around.
  struct Line {
    const std::string*& current;
    const std::string* before;
    ~Line() { current = before; }
  };
  Line at(const StmtBase& statement) {
    const auto own = lines_.find(&statement);
    return {line_, std::exchange(line_, own == lines_.end() ? line_ : &own->second)};
  }

  template <class Part>
  void inside(Around around, const Part& part) {
    if (around.condition.defined()) around.condition = settled(around.condition);
    around_.push_back(std::move(around));
    visit(part);
    around_.pop_back();
  }
  template <class Part>
  void bind(const Var& var, const Expr& value, const Part& body) {
    const Expr known = settled(value);
    values_[var] = known;
    visit(body);
    values_.erase(var);
  }
  Expr settled(const Expr& e) const { return values_.empty() ? e : substitute(e, values_); }

  void access(const Var& buffer, const Expr& index, bool is_store) {
    const auto add = [&](const Expr& place) {
      accesses.push_back(
          {buffer.operator->(), settled(place), is_store, statement_, line_, around_});
    };
    if (const Ramp* lanes = as<Ramp>(index)) {
      for (int lane = 0; lane < lanes->lanes; ++lane) add(lanes->base + lanes->stride * lane);
    } else if (!index.dtype().is_vector()) {
      add(index);
    }
  }

  const std::unordered_map<const StmtBase*, std::string>& lines_;
  const std::string* line_;
  std::vector<Around> around_;
  VarMap values_;
  int statement_ = 0;
  bool in_store_ = false;
};

// Whether it has a value before a call: it reads no memory and calls nothing unknown.
bool is_known(const Expr& e) {
  bool known = true;
  for_each_part(e, [&](const Expr& part) {
    known = known && !is<Load>(part) && !is<ProducerLoad>(part) && !part.dtype().is_handle();
    if (const Call* call = as<Call>(part))
      known = known && call->call_kind == CallKind::PureIntrinsic;
  });
  return known;
}

// An access ready to be tried: everything around it and its index as functions of the loops.
class Trial {
 public:
  // Undefined where something about the access is not known before a call.
  static std::optional<Trial> of(const Access& access, const InterpreterScope& sizes) {
    Trial trial(access);
    std::vector<Var> vars;
    for (const Around& a : access.around) {
      if (a.loop != nullptr) vars.push_back(a.loop->var);
    }
    const auto ready = [&](const Expr& e) {
      if (e.dtype().is_vector() || !is_known(e)) return false;
      for (const Var& v : free_vars(e)) {
        const bool loop = std::ranges::any_of(vars, [&](const Var& l) { return l.same_as(v); });
        if (!loop && !sizes.values.contains(v)) return false;
      }
      trial.code_.emplace_back(e, vars, sizes);
      return true;
    };
    for (const Around& a : access.around) {
      const bool known =
          a.loop != nullptr ? ready(a.loop->min) && ready(a.loop->extent) : ready(a.condition);
      if (!known) return std::nullopt;
    }
    if (!ready(access.index)) return std::nullopt;
    return trial;
  }

  // Calls `f` with the index at points where the access happens, until it says true. The loop
  // `fixed`, and those outside of it, take one value: their first and, `late`, their last, but for
  // `fixed` itself the one numbered `iteration`.
  template <class F>
  bool any(const For* fixed, int64_t iteration, bool late, const F& f) {
    fixed_ = fixed;
    iteration_ = iteration;
    late_ = late;
    points_ = 0;
    return step(0, 0, 0, fixed != nullptr, f);
  }
  std::vector<int64_t> loops() const { return values_; }

 private:
  explicit Trial(const Access& access) : access_(&access) {}

  int64_t value(size_t code) {
    for (size_t k = 0; k < values_.size(); ++k) code_[code].set(k, values_[k]);
    return code_[code]().i;
  }

  template <class F>
  bool step(size_t at, size_t code, size_t loop, bool outside, const F& f) {
    if (at == access_->around.size()) {
      ++points_;
      return f(value(code));
    }
    const Around& around = access_->around[at];
    if (around.loop == nullptr) return value(code) != 0 && step(at + 1, code + 1, loop, outside, f);
    const int64_t min = value(code), extent = value(code + 1);
    const bool here = around.loop == fixed_;
    values_.push_back(0);
    bool found = false;
    const auto try_at = [&](int64_t k) {
      if (k < 0 || k >= extent || found || points_ >= kMostPoints) return;
      values_.back() = min + k;
      found = step(at + 1, code + 2, loop + 1, outside && !here, f);
    };
    if (here) {
      try_at(iteration_);
    } else if (outside) {
      try_at(late_ ? extent - 1 : 0);
    } else if (extent <= kWholeLoop) {
      for (int64_t k = 0; k < extent; ++k) try_at(k);
    } else {
      for (int64_t k = 0; k < kEndOfLoop; ++k) {
        try_at(extent - 1 - k);
        try_at(k);
      }
    }
    values_.pop_back();
    return found;
  }

  const Access* access_;
  std::vector<CompiledExpr> code_;
  std::vector<int64_t> values_;  // of the loops around
  const For* fixed_ = nullptr;
  int64_t iteration_ = 0;
  bool late_ = false;
  size_t points_ = 0;
};

std::string verb(const Access& a) { return a.is_store ? "stored" : "read"; }

class Check {
 public:
  explicit Check(const ExternParts& parts) : parts_(parts), found_(parts) {
    for (size_t k = 0; k < parts.memory.size(); ++k) {
      const size_t output = k - parts.inputs.size();
      const bool input = k < parts.inputs.size();
      const DType type = input ? parts.inputs[k].dtype() : parts.outputs[output].dtype;
      const std::vector<Expr> shape =
          memory_shape(input ? parts.inputs[k].shape() : parts.outputs[output].shape, type);
      Expr count = make_const(int_type(64), 1);
      for (const Expr& extent : shape) {
        count = count * cast(int_type(64), extent);
        for (const Var& v : free_vars(extent)) symbols_.insert(v);
      }
      found_.memory[parts.memory[k].operator->()] = {parts.memory[k].name(), count};
    }
    found_.visit(parts.body);
  }

  std::vector<ErrorInfo> run() {
    std::vector<ErrorInfo> errors;
    for (const Access& a : found_.accesses) outside(a, errors);
    std::unordered_set<const For*> loops;
    for (const Access& a : found_.accesses) {
      bool inside_parallel = false;
      for (const Around& around : a.around) {
        if (around.loop == nullptr) continue;
        const ForKind kind = around.loop->for_kind;
        // A parallel loop inside another one is a serial one.
        const bool together = kind == ForKind::Vectorized || is_of_threads(*around.loop) ||
                              (kind == ForKind::Parallel && !inside_parallel);
        inside_parallel |= kind == ForKind::Parallel;
        if (together && loops.insert(around.loop).second) races(*around.loop, errors);
      }
    }
    return errors;
  }

 private:
  // Once for each choice of the symbolic extents, as long as `f` finds something.
  template <class F>
  bool for_all_sizes(const F& f) const {
    std::vector<Var> vars(symbols_.begin(), symbols_.end());
    std::ranges::sort(vars, {}, [](const Var& v) { return v->serial; });
    const size_t rounds = vars.empty() ? 1 : std::size(kSizes);
    for (size_t round = 0; round < rounds; ++round) {
      InterpreterScope scope;
      for (size_t k = 0; k < vars.size(); ++k) {
        const int64_t size = kSizes[(round + k) % std::size(kSizes)];
        scope.values[vars[k]] = {.type = vars[k].dtype(), .i = size};
      }
      if (!f(scope)) return false;
    }
    return true;
  }

  void report(std::vector<ErrorInfo>& errors, const Access& access, ErrorCode code,
              std::string what, std::string axis, std::string legal) const {
    const bool known = std::ranges::any_of(
        errors, [&](const ErrorInfo& e) { return e.code == code && e.what == what; });
    if (known) return;
    errors.push_back({.code = code,
                      .what = std::move(what),
                      .stage = parts_.name,
                      .axis = std::move(axis),
                      .where = *access.line,
                      .legal = std::move(legal)});
  }

  void outside(const Access& a, std::vector<ErrorInfo>& errors) const {
    const auto memory = found_.memory.find(a.memory);
    if (memory == found_.memory.end()) return;
    int64_t wrong = 0, count = 0;
    const bool found = for_all_sizes([&](const InterpreterScope& sizes) {
      for (const Var& v : free_vars(memory->second.count)) {
        if (!sizes.values.contains(v)) return false;
      }
      if (!is_known(memory->second.count)) return false;
      count = evaluate(memory->second.count, sizes).i;
      std::optional<Trial> trial = Trial::of(a, sizes);
      return trial && trial->any(nullptr, 0, false, [&](int64_t index) {
        wrong = index;
        return index < 0 || index >= count;
      });
    });
    if (!found) return;
    const std::string example = is_const(a.index) ? "" : fmt::format(", which reaches {}", wrong);
    report(errors, a, ErrorCode::OutOfBounds,
           fmt::format("'{}[{}]' is {}{}", memory->second.name, to_string(simplify(a.index)),
                       verb(a), example),
           "",
           symbols_.empty()
               ? fmt::format("0 to {}", count - 1)
               : fmt::format("0 to {} - 1", to_string(simplify(memory->second.count))));
  }

  // Threads of a block, which have the number of the thread for their variable. They run in turn:
  // what one of them reads of another's depends on which comes first.
  static bool is_of_threads(const For& loop) {
    const std::string& name = loop.var.name();
    const bool thread = name.starts_with("threadIdx.") || name == "vthread" || name == "cthread";
    return thread && loop.for_kind == ForKind::Serial;
  }
  static const char* kind_of(const For& loop) {
    if (is_of_threads(loop)) return "loop over threads";
    return loop.for_kind == ForKind::Vectorized ? "vectorized loop" : "parallel loop";
  }

  void races(const For& loop, std::vector<ErrorInfo>& errors) const {
    for (const Access& a : found_.accesses) {
      if (!a.is_store || !inside(a, loop) || !shared(a.memory, loop)) continue;
      // Lanes that store to one element, as sums do, take their turns.
      const bool vectorized = loop.for_kind == ForKind::Vectorized;
      if (vectorized && !uses(a.index, loop.var)) continue;
      const bool threads = is_of_threads(loop);
      const bool stored = !threads && conflicts(a, loop, /*with_stores=*/true);
      if (!stored && !conflicts(a, loop, /*with_stores=*/false)) continue;
      report(
          errors, a, ErrorCode::ParallelReduction,
          fmt::format("a {} whose iterations store elements of '{}' that others {}", kind_of(loop),
                      found_.memory.at(a.memory).name, stored ? "store too" : "read"),
          loop.var.name(),
          threads ? "a loop over threads that ends before another one reads them, or memory "
                    "allocated inside of it"
                  : "a serial loop, or memory allocated inside of it");
    }
  }
  bool conflicts(const Access& a, const For& loop, bool with_stores) const {
    return std::ranges::any_of(found_.accesses, [&](const Access& b) {
      return b.is_store == with_stores && a.memory == b.memory && inside(b, loop) &&
             meet(a, b, loop);
    });
  }

  static bool inside(const Access& a, const For& loop) {
    return std::ranges::any_of(a.around, [&](const Around& x) { return x.loop == &loop; });
  }
  // Whether all iterations of the loop have the memory together.
  bool shared(const Variable* memory, const For& loop) const {
    if (!found_.memory.contains(memory)) return false;
    const auto own = found_.owner.find(memory);
    return own == found_.owner.end() || !within(*own->second, loop);
  }
  // Whether `inner` is the loop or stands inside of it.
  bool within(const For& inner, const For& loop) const {
    bool found = &inner == &loop;
    for_each_stmt(loop.body, [&](const Stmt& s) { found |= s.get() == &inner; });
    return found;
  }

  // What comes into a loop's own order when its iterations run together: any pair of them does that
  // run at once. Lanes run statement by statement, each for all lanes, and each reads before it
  // stores. A read gets something else, then, where a statement before it stores what is a later
  // iteration's, or one after it what is an earlier iteration's: `b[i] = b[i + 1]` is as it was.
  enum class Order : uint8_t { Any, StoredLater, StoredEarlier };
  static Order disturbing(const Access& store, const Access& other, const For& loop) {
    const auto loops_inside = [&](const Access& a) {
      const auto at = std::ranges::find(a.around, &loop, [](const Around& x) { return x.loop; });
      return std::any_of(at + 1, a.around.end(), [](const Around& x) { return x.loop != nullptr; });
    };
    if (loop.for_kind != ForKind::Vectorized || other.is_store) return Order::Any;
    if (loops_inside(store) || loops_inside(other)) return Order::Any;
    return store.statement < other.statement ? Order::StoredLater : Order::StoredEarlier;
  }

  // Whether an iteration of the loop accesses what another one does, and that matters.
  bool meet(const Access& a, const Access& b, const For& loop) const {
    const Order order = disturbing(a, b, loop);
    return for_all_sizes([&](const InterpreterScope& sizes) {
      std::optional<Trial> first = Trial::of(a, sizes), second = Trial::of(b, sizes);
      if (!first || !second) return false;
      for (const bool late : {false, true}) {
        struct Iterations {
          int64_t first, last;
        };
        std::map<int64_t, Iterations> stored;  // by index, those that store there
        for (int64_t k = 0; k < kWholeLoop; ++k) {
          const auto note = [&](int64_t index) {
            Iterations& at = stored.try_emplace(index, k, k).first->second;
            at.last = k;
            return at.first != k && &a == &b;
          };
          if (first->any(&loop, k, late, note)) return true;
        }
        for (int64_t k = 0; &a != &b && k < kWholeLoop; ++k) {
          const auto same = [&](int64_t index) {
            const auto at = stored.find(index);
            if (at == stored.end()) return false;
            const auto [first_stored, last_stored] = at->second;
            const bool earlier = first_stored < k;
            const bool later = k < last_stored;
            return (earlier && order != Order::StoredLater) ||
                   (later && order != Order::StoredEarlier);
          };
          if (second->any(&loop, k, late, same)) return true;
        }
      }
      return false;
    });
  }

  const ExternParts& parts_;
  Collect found_;
  VarSet symbols_;
};

}  // namespace

std::vector<ErrorInfo> check_statements(const ExternParts& parts) { return Check(parts).run(); }

std::vector<ErrorInfo> findings_of(const Operation& op) {
  const auto* node = as_op<ExternNode>(op);
  return node == nullptr ? std::vector<ErrorInfo>() : node->findings;
}

}  // namespace tw::te
