// SPDX-License-Identifier: Apache-2.0
#include "ir/interpret.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "ir/interpret_program.h"
#include "ir/scalar.h"
#include "runtime/c_api.h"
#include "runtime/error.h"
#include "runtime/last_error.h"

namespace tw {
namespace interpreter {
namespace {

using scalar::of_float;
using scalar::of_int;
using scalar::Scalar;

uint64_t next_random(uint64_t& state) {
  uint64_t x = state += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Machine {
 public:
  Machine(const Program& program, const InterpretOptions& options, const InterpreterScope& scope)
      : options_(options),
        arguments_(scope.arguments),
        random_(options.seed),
        frame_(static_cast<size_t>(program.frame_size), Scalar{.i = 0}),
        regions_(static_cast<size_t>(program.region_count)) {
    for (const Program::Input& input : program.inputs) slot(input.slot) = input.value;
    for (const Program::RegionInput& input : program.region_inputs) {
      Region& region = regions_[static_cast<size_t>(input.region)];
      region.buffer = input.buffer;
      for (const Code* extent : input.extents) {
        region.min.push_back(0);
        region.extent.push_back(eval(*extent, 0).i);
      }
    }
  }

  Scalar& slot(int k) { return frame_[static_cast<size_t>(k)]; }

  Scalar eval(const Code& c, int lane) {
    count();
    switch (c.op) {
      case Op::Constant:
        return c.value;
      case Op::Slot:
        return slot(c.slot + (c.type.lanes > 1 ? lane : 0));
      case Op::AddInt32:
        return int32(eval(*c.a, lane).i + eval(*c.b, lane).i);
      case Op::SubInt32:
        return int32(eval(*c.a, lane).i - eval(*c.b, lane).i);
      case Op::MulInt32:
        return int32(eval(*c.a, lane).i * eval(*c.b, lane).i);
      case Op::Binary: {
        const Scalar a = eval(*c.a, lane);
        return scalar::binary(c.kind, c.operand, a, eval(*c.b, lane));
      }
      case Op::And:
        return of_int(eval(*c.a, lane).i != 0 && eval(*c.b, lane).i != 0);
      case Op::Or:
        return of_int(eval(*c.a, lane).i != 0 || eval(*c.b, lane).i != 0);
      case Op::Not:
        return of_int(eval(*c.a, lane).i == 0);
      case Op::Select: {
        const bool chosen = eval(*c.a, lane).i != 0;
        const Scalar t = eval(*c.b, lane), f = eval(*c.c, lane);
        return chosen ? t : f;
      }
      case Op::IfThenElse:
        return eval(eval(*c.a, lane).i != 0 ? *c.b : *c.c, lane);
      case Op::Convert:
        return scalar::convert(c.operand, c.type, eval(*c.a, lane));
      case Op::Load:
        return load(c, lane);
      case Op::Ramp: {
        const int64_t base = eval(*c.a, 0).i;
        const uint64_t step = static_cast<uint64_t>(lane) * static_cast<uint64_t>(eval(*c.b, 0).i);
        return of_int(scalar::wrap(c.type.element(),
                                   static_cast<int64_t>(static_cast<uint64_t>(base) + step)));
      }
      case Op::Broadcast:
        return eval(*c.a, 0);
      case Op::Shuffle: {
        const auto [k, source] = c.lanes[static_cast<size_t>(lane)];
        return eval(*c.args[static_cast<size_t>(k)], source);
      }
      case Op::Intrinsic:
        return intrinsic(c, lane);
      case Op::Effect:
        return effect(c);
      case Op::Argument:
        return argument(c);
      case Op::Extern:
        unknown_function(c);
      case Op::Let:
        set_variable(c);
        return eval(*c.b, lane);
      case Op::LetLane:
        slot(c.slot + lane) = eval(*c.a, lane);
        return eval(*c.b, lane);
      case Op::Reduce:
        return reduce(*c.reduction, lane);
      case Op::RegionLoad:
        return region_load(c, lane);
      case Op::Unbound:
        unbound(c);
      default:
        break;
    }
    misplaced("a statement where an expression belongs");
  }

  void run(const Code& c) {
    count();
    switch (c.op) {
      case Op::Nothing:
        return;
      case Op::For:
        return loop(c);
      case Op::While:
        while (eval(*c.a, 0).i != 0) run(*c.b);
        return;
      case Op::Let:
        set_variable(c);
        return run(*c.b);
      case Op::Block:
        for (const Code* s : c.args) run(*s);
        return;
      case Op::IfThenElse:
        if (eval(*c.a, 0).i != 0) return run(*c.b);
        if (c.c != nullptr) run(*c.c);
        return;
      case Op::Store:
        return store(c);
      case Op::RegionStore:
        return region_store(c);
      case Op::Allocate:
        return allocate(c);
      case Op::Realize:
        return realize(c);
      case Op::BindBuffer: {
        InterpreterBuffer* buffer =
            c.region < 0 ? nullptr : regions_[static_cast<size_t>(c.region)].buffer;
        if (buffer == nullptr) unbound(c);
        slot(c.slot).i = reinterpret_cast<int64_t>(buffer);
        return run(*c.a);
      }
      case Op::Evaluate:
        for (int lane = 0; lane < c.type.lanes; ++lane) eval(*c.a, lane);
        return;
      case Op::Assert:
        if (eval(*c.a, 0).i == 0) assertion_failed(c.b);
        if (c.c != nullptr) run(*c.c);
        return;
      case Op::Unbound:
        unbound(c);
      default:
        break;
    }
    misplaced("an expression where a statement belongs");
  }

 private:
  static Scalar int32(int64_t v) { return of_int(static_cast<int32_t>(v)); }

  void count() {
    if (++steps_ > options_.max_steps) endless();
  }

  // Errors stand alone, and so does what is rare: its temporaries would make the frames of the
  // recursion large.
  [[noreturn, gnu::noinline]] void endless() const {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("the program did not end within {} steps", options_.max_steps),
           .legal = "a smaller program, or a larger max_steps"});
  }
  [[noreturn, gnu::noinline]] static void misplaced(const char* what) {
    raise({.code = ErrorCode::Internal, .what = what});
  }
  [[noreturn, gnu::noinline]] static void unknown_function(const Code& c) {
    raise({.code = ErrorCode::UnknownFunction,
           .what = fmt::format("the interpreter cannot call '{}'", c.name),
           .legal = "the intrinsics of ir/intrinsics.def"});
  }
  [[noreturn, gnu::noinline]] static void unbound(const Code& c) {
    raise({.code = ErrorCode::UnboundVariable, .what = fmt::format("'{}' has no value", c.name)});
  }
  [[noreturn, gnu::noinline]] static void wrong_element(const Code& c, DType element) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("'{}' holds {}, accessed as {}", c.name, to_string(element),
                               to_string(c.type.element()))});
  }
  [[noreturn, gnu::noinline]] static void out_of_bounds(const Code& c, int64_t size, int64_t index,
                                                        std::string_view what) {
    raise({.code = ErrorCode::OutOfBounds,
           .what = fmt::format("{} of '{}' at index {}, extent {}", what, c.name, index, size),
           .legal = size > 0 ? fmt::format("0 to {}", size - 1) : "no index"});
  }
  [[noreturn, gnu::noinline]] static void never_written(const Code& c, int64_t index,
                                                        int64_t extent) {
    uninitialized(c, std::to_string(index), extent);
  }
  [[noreturn, gnu::noinline]] static void uninitialized(const Code& c, std::string position,
                                                        int64_t extent) {
    raise({.code = ErrorCode::UninitializedRead,
           .what = fmt::format("read of '{}' at index {}, which was never written, extent {}",
                               c.name, position, extent)});
  }

  [[gnu::noinline]] void set_variable(const Code& c) {
    // All lanes first: the slots may belong to an outer run of the same binding.
    if (c.operand.lanes == 1) {
      slot(c.slot) = eval(*c.a, 0);
      return;
    }
    std::vector<Scalar> values(c.operand.lanes);
    for (int k = 0; k < c.operand.lanes; ++k) values[static_cast<size_t>(k)] = eval(*c.a, k);
    std::copy(values.begin(), values.end(), frame_.begin() + c.slot);
  }

  InterpreterBuffer& buffer_at(const Code& c) {
    auto* buffer = reinterpret_cast<InterpreterBuffer*>(slot(c.slot).i);
    if (buffer == nullptr) unbound(c);
    if (buffer->element() != c.type.element()) wrong_element(c, buffer->element());
    return *buffer;
  }
  static void check_bounds(const Code& c, const InterpreterBuffer& buffer, int64_t index,
                           std::string_view what) {
    if (index < 0 || index >= buffer.size()) out_of_bounds(c, buffer.size(), index, what);
  }

  Scalar load(const Code& c, int lane) {
    if (c.b != nullptr && eval(*c.b, lane).i == 0) return {.i = 0};  // the bits of 0.0 as well
    InterpreterBuffer& buffer = buffer_at(c);
    const int64_t index = eval(*c.a, lane).i;
    check_bounds(c, buffer, index, "read");
    if (!buffer.written(index)) never_written(c, index, buffer.size());
    if (options_.observer != nullptr) options_.observer->access(buffer, index, false);
    return from_element(buffer.raw(index));
  }

  void store(const Code& c) {
    const int lanes = c.type.lanes;
    if (lanes == 1) {
      if (c.c != nullptr && eval(*c.c, 0).i == 0) return;
      const Scalar value = eval(*c.b, 0);
      write(c, eval(*c.a, 0).i, value);
      return;
    }
    // Every lane is evaluated before any is written.
    std::vector<std::pair<int64_t, Scalar>> writes;
    for (int lane = 0; lane < lanes; ++lane) {
      if (c.c != nullptr && eval(*c.c, lane).i == 0) continue;
      const Scalar value = eval(*c.b, lane);
      writes.emplace_back(eval(*c.a, lane).i, value);
    }
    for (const auto& [index, value] : writes) write(c, index, value);
  }
  void write(const Code& c, int64_t index, Scalar value) {
    InterpreterBuffer& buffer = buffer_at(c);
    check_bounds(c, buffer, index, "write");
    if (options_.observer != nullptr) options_.observer->access(buffer, index, true);
    buffer.set_raw(index, to_element(value));
  }

  // Row-major position of the indices inside the region; an element has its lanes side by side.
  int64_t position(const Code& c, const Region& region, int lane, std::string_view what) {
    if (region.buffer == nullptr) unbound(c);
    if (c.args.size() != region.extent.size()) {
      raise({.code = ErrorCode::MalformedIr,
             .what = fmt::format("{} of '{}' with {} indices", what, c.name, c.args.size()),
             .legal = fmt::format("{} indices", region.extent.size())});
    }
    int64_t flat = 0;
    for (size_t d = 0; d < c.args.size(); ++d) {
      const int64_t index = eval(*c.args[d], lane).i;
      const int64_t offset = index - region.min[d];
      if (offset < 0 || offset >= region.extent[d]) {
        raise({.code = ErrorCode::OutOfBounds,
               .what = fmt::format("{} of '{}' at index {} in dimension {}, extent {} from {}",
                                   what, c.name, index, d, region.extent[d], region.min[d])});
      }
      flat = flat * region.extent[d] + offset;
    }
    flat = flat * c.type.lanes + (c.type.lanes > 1 ? lane : 0);
    check_bounds(c, *region.buffer, flat, what);
    return flat;
  }
  [[gnu::noinline]] Scalar region_load(const Code& c, int lane) {
    const Region& region = regions_[static_cast<size_t>(c.slot)];
    const int64_t flat = position(c, region, lane, "read");
    if (!region.buffer->written(flat)) {
      std::vector<int64_t> indices;
      for (const Code* a : c.args) indices.push_back(eval(*a, lane).i);
      uninitialized(c, fmt::format("({})", fmt::join(indices, ", ")), region.buffer->size());
    }
    if (options_.observer != nullptr) options_.observer->access(*region.buffer, flat, false);
    return from_element(region.buffer->raw(flat));
  }
  void region_store(const Code& c) {
    const Region& region = regions_[static_cast<size_t>(c.slot)];
    std::vector<std::pair<int64_t, Scalar>> writes;
    for (int lane = 0; lane < c.type.lanes; ++lane) {
      const Scalar value = eval(*c.a, lane);
      writes.emplace_back(position(c, region, lane, "write"), value);
    }
    for (const auto& [flat, value] : writes) {
      if (options_.observer != nullptr) options_.observer->access(*region.buffer, flat, true);
      region.buffer->set_raw(flat, to_element(value));
    }
  }

  static int64_t checked_size(const Code& c, const std::vector<int64_t>& extents) {
    __int128 size = c.type.lanes;
    for (int64_t e : extents) size = e < 0 || size > (int64_t{1} << 32) ? -1 : size * e;
    if (size < 0 || size > (int64_t{1} << 32)) {
      raise({.code = ErrorCode::BadShape,
             .what = fmt::format("allocation of '{}' with extents [{}]", c.name,
                                 fmt::join(extents, ", "))});
    }
    return static_cast<int64_t>(size);
  }
  void allocate(const Code& c) {
    std::vector<int64_t> extents;
    for (const Code* e : c.args) extents.push_back(eval(*e, 0).i);
    InterpreterBuffer buffer(c.type.element(), checked_size(c, extents));
    if (options_.observer != nullptr) options_.observer->allocated(buffer);
    const Scalar outer = slot(c.slot);
    slot(c.slot).i = reinterpret_cast<int64_t>(&buffer);
    run(*c.a);
    slot(c.slot) = outer;
  }
  void realize(const Code& c) {
    Region region;
    for (size_t d = 0; d < c.args.size(); d += 2) {
      region.min.push_back(eval(*c.args[d], 0).i);
      region.extent.push_back(eval(*c.args[d + 1], 0).i);
    }
    InterpreterBuffer buffer(c.type.element(), checked_size(c, region.extent));
    if (options_.observer != nullptr) options_.observer->allocated(buffer);
    region.buffer = &buffer;
    const auto at = static_cast<size_t>(c.slot);
    std::swap(regions_[at], region);
    run(*c.a);
    std::swap(regions_[at], region);
  }

  void loop(const Code& c) {
    if (options_.observer != nullptr) options_.observer->begin_loop(c.for_kind);
    iterations(c);
    if (options_.observer != nullptr) options_.observer->end_loop();
  }
  void iteration(const Code& c, int64_t value) {
    if (options_.observer != nullptr) options_.observer->begin_iteration(value);
    slot(c.slot).i = value;
    run(*c.c);
  }
  void iterations(const Code& c) {
    const int64_t min = eval(*c.a, 0).i, extent = eval(*c.b, 0).i;
    if (c.for_kind == ForKind::Parallel && options_.shuffle_parallel && extent > 1) {
      std::vector<int64_t> order(static_cast<size_t>(extent));
      std::iota(order.begin(), order.end(), min);
      for (size_t k = order.size(); k > 1; --k)
        std::swap(order[k - 1], order[next_random(random_) % k]);
      for (int64_t i : order) iteration(c, i);
      return;
    }
    for (int64_t k = 0; k < extent; ++k) iteration(c, min + k);
  }

  // Of all lanes of all components, one after the other.
  std::vector<Scalar> lanes_of(const std::vector<const Code*>& components) {
    std::vector<Scalar> values;
    for (const Code* e : components) {
      for (int lane = 0; lane < e->type.lanes; ++lane) values.push_back(eval(*e, lane));
    }
    return values;
  }
  [[gnu::noinline]] Scalar reduce(const Reduction& r, int lane) {
    std::vector<Scalar> total = lanes_of(r.identity);
    reduce_from(r, 0, total);
    auto first = static_cast<size_t>(r.identity[r.value_index]->type.lanes > 1 ? lane : 0);
    for (size_t k = 0; k < r.value_index; ++k) first += r.identity[k]->type.lanes;
    return total[first];
  }
  void reduce_from(const Reduction& r, size_t axis, std::vector<Scalar>& total) {
    if (axis < r.axes.size()) {
      const Reduction::Axis& a = r.axes[axis];
      const int64_t min = eval(*a.min, 0).i, extent = eval(*a.extent, 0).i;
      for (int64_t k = 0; k < extent; ++k) {
        slot(a.slot).i = min + k;
        reduce_from(r, axis + 1, total);
      }
      return;
    }
    if (r.condition != nullptr && eval(*r.condition, 0).i == 0) return;
    const std::vector<Scalar> next = lanes_of(r.source);
    size_t value = 0;
    for (size_t k = 0; k < r.identity.size(); ++k) {
      for (int lane = 0; lane < r.identity[k]->type.lanes; ++lane, ++value) {
        slot(r.lhs[k] + lane) = total[value];
        slot(r.rhs[k] + lane) = next[value];
      }
    }
    total = lanes_of(r.result);
  }

  [[gnu::noinline]] Scalar intrinsic(const Code& c, int lane) {
    Scalar args[8];
    const size_t n = std::min<size_t>(c.args.size(), 8);
    for (size_t k = 0; k < n; ++k) args[k] = eval(*c.args[k], lane);
    return scalar::apply(*c.intrinsic, c.type, args, c.arg_types.data(), static_cast<int>(n));
  }
  [[gnu::noinline]] Scalar effect(const Code& c) {
    if (c.name == "prefetch") return {.i = 0};
    raise({.code = ErrorCode::UnknownFunction,
           .what = fmt::format("the interpreter cannot run '{}'", c.name)});
  }

  // argument_error(check, function, argument, index, expected, got) raises what the compiled
  // kernel would.
  [[noreturn]] void assertion_failed(const Code* message) {
    if (message != nullptr && message->op == Op::Effect && message->args.size() == 6) {
      const auto number = [&](size_t k) { return eval(*message->args[k], 0).i; };
      const std::string& function = message->args[1]->name;
      tw_raise_argument_error(static_cast<int32_t>(number(0)), function.c_str(),
                              message->args[2]->name.c_str(), static_cast<int32_t>(number(3)),
                              number(4), number(5));
      raise_last_error(last_error(), function);
    }
    raise({.code = ErrorCode::AssertionFailed,
           .what =
               message != nullptr && !message->name.empty() ? message->name : "assertion failed"});
  }

  [[gnu::noinline]] Scalar argument(const Code& c) {
    if (c.name == "argument_count") return of_int(static_cast<int64_t>(arguments_.size()));
    if (c.name == "num_threads") return of_int(options_.num_threads);
    const Scalar first = eval(*c.args[0], 0);
    // Of the buffer object: not null, and as aligned as anybody may ask for.
    if (c.name == "address_bits") return of_int(first.i & ~int64_t{4095});
    if (first.i < 0 || first.i >= static_cast<int64_t>(arguments_.size())) {
      raise({.code = ErrorCode::ArgumentCount,
             .what = fmt::format("{}({}) with {} arguments", c.name, first.i, arguments_.size())});
    }
    const InterpreterArgument& a = arguments_[static_cast<size_t>(first.i)];
    if (c.name == "argument_type") {
      return of_int(a.tensor != nullptr ? TW_ARG_TENSOR
                                        : (a.value.type.is_float() ? TW_ARG_FLOAT : TW_ARG_INT));
    }
    if (c.name == "argument_int" && a.tensor == nullptr) return of_int(a.value.i);
    if (c.name == "argument_float" && a.tensor == nullptr) return of_float(a.value.f);
    if (a.tensor == nullptr || c.name == "argument_int" || c.name == "argument_float") {
      raise({.code = ErrorCode::TypeMismatch,
             .what = fmt::format("{}({}) of another kind of argument", c.name, first.i)});
    }
    if (c.name == "tensor_data") return of_int(reinterpret_cast<int64_t>(a.tensor));
    if (c.name == "tensor_has_strides") return of_int(!a.strides.empty());
    if (c.name == "tensor_rank") return of_int(static_cast<int64_t>(a.shape.size()));
    if (c.name == "tensor_device") return of_int(kDLCPU);
    if (c.name == "tensor_dtype") {
      const DType t = a.tensor->element();
      return of_int(static_cast<int64_t>(t.code) | (t.is_bool() ? 8 : t.bits) << 8 | 1 << 16);
    }
    const int64_t d = eval(*c.args[1], 0).i;
    // Tensors of the interpreter are the same or apart.
    if (c.name == "tensor_partial_overlap") return of_int(0);
    if (c.name == "tensor_overlap") {
      const bool same = arguments_.at(static_cast<size_t>(d)).tensor == a.tensor;
      return of_int(same ? a.tensor->size() * a.tensor->element().element_bytes() : 0);
    }
    const std::vector<int64_t>& list = c.name == "tensor_shape" ? a.shape : a.strides;
    if (d < 0 || d >= static_cast<int64_t>(list.size())) {
      raise({.code = ErrorCode::OutOfBounds,
             .what = fmt::format("{}({}, {}) of {} dimensions", c.name, first.i, d, list.size())});
    }
    return of_int(list[static_cast<size_t>(d)]);
  }

  const InterpretOptions& options_;
  const std::vector<InterpreterArgument>& arguments_;
  uint64_t random_;
  int64_t steps_ = 0;
  std::vector<Scalar> frame_;
  std::vector<Region> regions_;
};

}  // namespace
}  // namespace interpreter

void interpret(const Stmt& s, InterpreterScope& scope, const InterpretOptions& options) {
  if (!s.defined()) return;
  interpreter::Program program;
  interpreter::compile(s, scope, program);
  interpreter::Machine(program, options, scope).run(*program.root);
}

std::vector<Value> evaluate_lanes(const Expr& e, const InterpreterScope& scope) {
  TW_CHECK(e.defined(), "nothing to evaluate");
  interpreter::Program program;
  interpreter::compile(e, scope, {}, program);
  const InterpretOptions options;
  interpreter::Machine machine(program, options, scope);
  std::vector<Value> result;
  for (int lane = 0; lane < e.dtype().lanes; ++lane) {
    result.push_back(interpreter::to_value(e.dtype(), machine.eval(*program.root, lane)));
  }
  return result;
}

Value evaluate(const Expr& e, const InterpreterScope& scope) {
  return evaluate_lanes(e, scope).front();
}

struct CompiledExpr::State {
  interpreter::Program program;
  InterpretOptions options = {.max_steps = INT64_MAX};
  InterpreterScope scope;
  std::unique_ptr<interpreter::Machine> machine;
  DType type;
  std::vector<Var> parameters;
};

CompiledExpr::CompiledExpr(const Expr& e, const std::vector<Var>& parameters,
                           const InterpreterScope& scope)
    : state_(std::make_unique<State>()) {
  state_->scope = scope;
  interpreter::compile(e, scope, parameters, state_->program);
  state_->machine =
      std::make_unique<interpreter::Machine>(state_->program, state_->options, state_->scope);
  state_->type = e.dtype();
  state_->parameters = parameters;
}
CompiledExpr::~CompiledExpr() = default;
CompiledExpr::CompiledExpr(CompiledExpr&&) noexcept = default;

void CompiledExpr::set(size_t parameter, const Value& v) {
  const DType type = state_->parameters[parameter].dtype();
  state_->machine->slot(static_cast<int>(parameter)) =
      scalar::convert(v.type, type, interpreter::to_scalar(v));
}
void CompiledExpr::set(size_t parameter, int64_t v) {
  state_->machine->slot(static_cast<int>(parameter)).i = v;
}
Value CompiledExpr::operator()() {
  return interpreter::to_value(state_->type, state_->machine->eval(*state_->program.root, 0));
}

}  // namespace tw
