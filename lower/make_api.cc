// SPDX-License-Identifier: Apache-2.0
// make_api: the body unpacks the arguments of the calling convention (runtime/c_api.h) and checks
// them. A check reads only what the checks before it have made safe to read.
//
// before (argument A: float32[n]):               after, leaving out the messages of the checks:
//   for (i, 0, n) { A[i] = 0 }                     assert((argument_count() == 1))
//                                                  assert((argument_type(0) == 0))
//                                                  assert((tensor_rank(0) == 1))
//                                                  assert((tensor_dtype(0) == 73730))
//                                                  let n = int32(tensor_shape(0, 0))
//                                                  …
//                                                  let A = tensor_data(0)
//                                                  // attr compute_scope = "f_compute"
//                                                  for (i, 0, n) { A[i] = 0 }
//
// A symbolic extent is bound by the first scalar argument or extent that is it, and checked
// wherever else it occurs. Strides must be those of a compact row-major array, or absent; an extent
// of one, or an array without elements, has none to speak of. Data is as aligned as its elements.
// Outputs share memory with no other argument, as code generation takes for granted, but for the
// inputs that share_arguments found, which may begin where the output begins; inputs may share
// theirs.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "lower/passes.h"
#include "runtime/c_api.h"
#include "runtime/error.h"

namespace tw::pass {
namespace {

constexpr DType kInt64 = int_type(64);

class Unpack {
 public:
  explicit Unpack(const Kernel& kernel) : kernel_(kernel) {}

  Stmt run() {
    const auto& arguments = kernel_.arguments;
    const auto count = static_cast<int>(arguments.size());
    check(pure("argument_count", {}) == count, TW_CHECK_Count, {}, 0, count,
          pure("argument_count", {}));
    for (size_t k = 0; k < arguments.size(); ++k) check_kind(static_cast<int>(k));
    for (size_t k = 0; k < arguments.size(); ++k) bind_scalars(static_cast<int>(k));
    while (std::ranges::any_of(arguments, [&](const KernelArgument& a) { return solve(a); })) {
    }
    for (size_t k = 0; k < arguments.size(); ++k) check_shape(static_cast<int>(k));
    for (size_t k = 0; k < arguments.size(); ++k) bind_data(static_cast<int>(k));
    for (size_t k = 0; k < arguments.size(); ++k) check_overlap(static_cast<int>(k));

    require_no_other_variables();

    Stmt body = make(AttrStmt{.key = attr::kComputeScope,
                              .value = make(StringImm{.value = kernel_.name + "_compute"}),
                              .body = kernel_.body});
    for (auto s = steps_.rbegin(); s != steps_.rend(); ++s) {
      if (s->var.defined()) {
        body = make(LetStmt{.var = s->var, .value = s->value, .body = body});
      } else {
        body = make(AssertStmt{.condition = s->value, .message = s->message, .body = body});
      }
    }
    return body;
  }

 private:
  // let var = value, or where var is undefined assert(value, message).
  struct Step {
    Var var;
    Expr value, message;
  };

  static Expr pure(const char* name, std::vector<Expr> args, DType type = int_type(32)) {
    return call(type, name, std::move(args), CallKind::PureIntrinsic);
  }
  static Expr text(const std::string& s) { return make(StringImm{.value = s}); }
  const KernelArgument& argument(int k) const { return kernel_.arguments[static_cast<size_t>(k)]; }
  // Whether the array has no elements.
  static Expr is_empty(const KernelArgument& a) {
    Expr empty = make_bool(false);
    for (const Expr& extent : a.shape) {
      if (is_zero(extent)) return make_bool(true);
      if (!is_const(extent)) empty = empty || cast(kInt64, extent) == make_zero(kInt64);
    }
    return empty;
  }
  static Expr extent_of(int k, int d) { return pure("tensor_shape", {k, d}, kInt64); }

  void let(const Var& var, const Expr& value) {
    steps_.push_back({.var = var, .value = value});
    bound_.insert(var);
  }
  void check(const Expr& condition, int which, const std::string& name, int index,
             const Expr& expected, const Expr& got) {
    if (is_one(condition)) return;
    const Expr message = call(
        int_type(32), "argument_error",
        {which, text(kernel_.name), text(name), index, cast(kInt64, expected), cast(kInt64, got)},
        CallKind::Intrinsic);
    steps_.push_back({.value = condition, .message = message});
  }

  void check_kind(int k) {
    const KernelArgument& a = argument(k);
    const int kind = a.is_tensor ? TW_ARG_TENSOR : a.dtype.is_float() ? TW_ARG_FLOAT : TW_ARG_INT;
    check(pure("argument_type", {k}) == kind, TW_CHECK_Kind, a.name, k, kind,
          pure("argument_type", {k}));
    if (!a.is_tensor) return;
    const auto rank = static_cast<int>(a.shape.size());
    check(pure("tensor_rank", {k}) == rank, TW_CHECK_Rank, a.name, 0, rank,
          pure("tensor_rank", {k}));
    const DType t = a.dtype;
    // A bool takes a byte in memory.
    const int word = static_cast<int>(t.code) | (t.is_bool() ? 8 : t.bits) << 8 | 1 << 16;
    check(pure("tensor_dtype", {k}) == word, TW_CHECK_DType, a.name, 0, word,
          pure("tensor_dtype", {k}));
    check(pure("tensor_device", {k}) == kDLCPU, TW_CHECK_Device, a.name, 0, kDLCPU,
          pure("tensor_device", {k}));
  }

  // Scalars, and the extents that are plain variables: the first occurrence decides.
  void bind_scalars(int k) {
    const KernelArgument& a = argument(k);
    if (!a.is_tensor) {
      if (bound_.count(a.var) != 0) return;
      const bool real = a.dtype.is_float();
      const Expr value =
          real ? pure("argument_float", {k}, float_type(64)) : pure("argument_int", {k}, kInt64);
      let(a.var, cast(a.dtype, value));
      if (!real && a.dtype.bits < 64) {
        check(cast(kInt64, a.var) == value, TW_CHECK_Value, a.name, k, cast(kInt64, a.var), value);
      }
      return;
    }
    for (size_t d = 0; d < a.shape.size(); ++d) {
      const Variable* v = as<Variable>(a.shape[d]);
      if (v == nullptr || bound_.count(Var(v)) != 0) continue;
      // A scalar argument of that name comes with its own value.
      bool given = false;
      for (const KernelArgument& other : kernel_.arguments) {
        given |= !other.is_tensor && other.var.operator->() == v;
      }
      if (!given) let(Var(v), cast(v->type, extent_of(k, static_cast<int>(d))));
    }
  }

  // Binds the one variable that an extent of the tensor leaves open, as 8*m does where m stands
  // alone nowhere; whether the extent has such a value is checked with the others.
  bool solve(const KernelArgument& a) {
    for (size_t d = 0; a.is_tensor && d < a.shape.size(); ++d) {
      if (count_unknown(a.shape[d]) == 0) continue;
      const int k = static_cast<int>(&a - kernel_.arguments.data());
      if (solve(a.shape[d], extent_of(k, static_cast<int>(d)))) return true;
    }
    return false;
  }
  size_t count_unknown(const Expr& e) const {
    return static_cast<size_t>(
        std::ranges::count_if(free_vars(e), [&](const Var& v) { return !bound_.contains(v); }));
  }
  // Where `e` is known to be `value`.
  bool solve(const Expr& e, const Expr& value) {
    if (const Variable* v = as<Variable>(e)) {
      let(Var(v), cast(v->type, value));
      return true;
    }
    const auto aside = [&](const Expr& open, const Expr& other, auto inverse) {
      return count_unknown(other) == 0 && solve(open, inverse(cast(kInt64, other)));
    };
    const auto less = [&](const Expr& by) { return value - by; };
    if (const Add* sum = as<Add>(e))
      return aside(sum->a, sum->b, less) || aside(sum->b, sum->a, less);
    if (const Sub* rest = as<Sub>(e))
      return aside(rest->a, rest->b, [&](const Expr& by) { return value + by; });
    const Mul* product = as<Mul>(e);
    if (product == nullptr) return false;
    for (const auto& [open, factor] :
         {std::pair(&product->a, &product->b), std::pair(&product->b, &product->a)}) {
      const auto count = as_const_int(*factor);
      if (count && *count > 0) {
        return solve(*open, make(Div{.a = value, .b = make_const(kInt64, *count)}));
      }
    }
    return false;
  }

  void check_shape(int k) {
    const KernelArgument& a = argument(k);
    if (!a.is_tensor) return;
    Expr stride = make_const(kInt64, 1);
    const auto rank = static_cast<int>(a.shape.size());
    for (int d = 0; d < rank; ++d) {
      const Expr& extent = a.shape[static_cast<size_t>(d)];
      for (const Var& v : free_vars(extent)) {
        if (bound_.count(v) != 0) continue;
        raise(
            {.code = ErrorCode::UnboundVariable,
             .what = fmt::format("extent {} depends on '{}', which no argument gives", d, v.name()),
             .where = fmt::format("argument '{}' of '{}'", a.name, kernel_.name),
             .legal = "pass the variable as an argument, or a tensor that has it as an extent"});
      }
      const Expr expected = cast(kInt64, extent), got = extent_of(k, d);
      check(got == expected, TW_CHECK_Shape, a.name, d, expected, got);
    }
    for (int d = rank - 1; d >= 0; --d) {
      const Expr extent = cast(kInt64, a.shape[static_cast<size_t>(d)]);
      if (!is_one(extent)) {
        const Expr got = if_then_else(pure("tensor_has_strides", {k}, bool_type()),
                                      pure("tensor_stride", {k, d}, kInt64), stride);
        const Expr compact = got == stride;
        const Expr fits = is_const(extent) ? compact : compact || extent == make_const(kInt64, 1);
        check(fits || is_empty(a), TW_CHECK_Strides, a.name, d, stride, got);
      }
      stride = stride * extent;
    }
    // 32-bit indices must reach every element; storage_flatten saw to constant shapes.
    const bool narrow =
        std::ranges::all_of(a.shape, [](const Expr& e) { return e.dtype().bits <= 32; });
    const Expr most = make_const(kInt64, std::numeric_limits<int32_t>::max());
    if (narrow && !is_const(stride)) {
      check(stride <= most, TW_CHECK_Elements, a.name, k, most, stride);
    }
  }

  void bind_data(int k) {
    const KernelArgument& a = argument(k);
    if (!a.is_tensor) return;
    let(a.var, pure("tensor_data", {k}, handle_type()));
    const DType address = uint_type(64);
    const Expr bits = pure("address_bits", {a.var}, address);
    const int bytes = a.dtype.element_bytes();
    // DLPack wants a null pointer of a tensor without elements.
    check(bits != make_zero(address) || is_empty(a), TW_CHECK_Null, a.name, k, 0, 0);
    check((bytes == 1
               ? make_zero(address)
               : call("bitwise_and", {bits, make_const(address, bytes - 1)})) == make_zero(address),
          TW_CHECK_Alignment, a.name, k, bytes, bits);
  }

  void require_no_other_variables() {
    for (const KernelConstant& c : kernel_.constants) bound_.insert(c.var);
    for (const Var& v : free_vars(kernel_.body)) {
      if (bound_.count(v) != 0) continue;
      raise({.code = ErrorCode::UnboundVariable,
             .what = fmt::format("no loop, reduction or argument of '{}' gives '{}'", kernel_.name,
                                 v.name()),
             .legal = "a variable among the arguments; a reduce axis inside a reduction over it"});
    }
  }

  // An output against every other tensor.
  void check_overlap(int k) {
    if (!argument(k).is_tensor || !argument(k).is_output) return;
    for (int j = 0; j < static_cast<int>(kernel_.arguments.size()); ++j) {
      const KernelArgument& other = argument(j);
      if (j == k || !other.is_tensor || (other.is_output && j < k)) continue;
      const bool may_share = std::ranges::count(argument(k).may_share, j) != 0;
      const Expr shared =
          pure(may_share ? "tensor_partial_overlap" : "tensor_overlap", {k, j}, kInt64);
      check(shared == make_zero(kInt64), may_share ? TW_CHECK_PartialOverlap : TW_CHECK_Overlap,
            argument(k).name, j, 0, shared);
    }
  }

  const Kernel& kernel_;
  std::vector<Step> steps_;
  VarSet bound_;
};

}  // namespace

Kernel make_api(Kernel kernel, const PassContext&) {
  if (kernel.role == KernelRole::Device) return kernel;  // its caller has checked them
  kernel.body = Unpack(kernel).run();
  return kernel;
}

}  // namespace tw::pass
