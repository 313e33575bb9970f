// SPDX-License-Identifier: Apache-2.0
// Printing and hashing; schedule/te/parse.cc is the inverse. The hash is that of the text in which
// nothing has a name of its own, so that the two can never disagree about what a program is.
#include "schedule/te/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/expr.h"
#include "ir/intrinsics.h"
#include "ir/visit.h"
#include "ir/words.h"
#include "runtime/error.h"
#include "schedule/te/reducers.h"
#include "schedule/te/writer.h"

namespace tw::te {
namespace {

std::string quoted(const std::string& text) { return to_string(make(StringImm{.value = text})); }

std::string attribute_text(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".ein") == std::string::npos ? text + ".0" : text;
}
std::string attribute_text(int64_t value) { return std::to_string(value); }
std::string attribute_text(const std::string& value) { return quoted(value); }
std::string attribute_text(const std::vector<int64_t>& value) {
  std::string text;
  for (int64_t v : value) text += (text.empty() ? "" : ", ") + std::to_string(v);
  return "[" + text + "]";
}

// FNV-1a, then the finalizer of MurmurHash3, because short texts differ in few bytes.
uint64_t hash_bytes(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccd;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53;
  return h ^ (h >> 33);
}

bool same_constant(const Expr& a, const Expr& b) {
  if (a.dtype() != b.dtype()) return false;
  const Broadcast *va = as<Broadcast>(a), *vb = as<Broadcast>(b);
  if (va && vb) return same_constant(va->value, vb->value);
  const FloatImm *fa = as<FloatImm>(a), *fb = as<FloatImm>(b);
  if (fa && fb) return fa->value == fb->value && std::signbit(fa->value) == std::signbit(fb->value);
  const IntImm *ia = as<IntImm>(a), *ib = as<IntImm>(b);
  return ia && ib && ia->value == ib->value;
}

}  // namespace

std::string_view reducer_name(const CommReducer& c) {
  if (c.result.size() != 1) return "";
  const DType type = c.identity[0].dtype();
  const auto combines = [&](const auto* node, const Expr& identity) {
    return node && node->a.same_as(c.lhs[0]) && node->b.same_as(c.rhs[0]) &&
           same_constant(c.identity[0], identity);
  };
  const Expr& r = c.result[0];
  if (combines(as<Add>(r), make_zero(type))) return "sum";
  if (combines(as<Mul>(r), make_const(type, 1))) return "prod";
  if (combines(as<Max>(r), max_identity(type))) return "max";
  if (combines(as<Min>(r), min_identity(type))) return "min";
  return "";
}

// ---------------------------------------------------------------------------------------------
// Writer

std::string Writer::program(const Program& p) {
  std::vector<Tensor> roots = p.outputs;
  roots.insert(roots.end(), p.arguments.begin(), p.arguments.end());
  const std::vector<Operation> ops = operations(roots);
  put("te 1\n");
  for (const Operation& op : ops) declare_variables(*op.get());
  for (const Operation& op : ops) {
    put(names_.of(op.get()), " = ");
    op->write(*this);
    if (!anonymous_) annotations(*op.get());
    put(")\n");
  }
  line("arguments", p.arguments);
  line("outputs", p.outputs);
  return std::move(out_);
}

namespace {

[[noreturn]] void not_textual(const OperationNode& op, std::string what, std::string legal) {
  raise({.code = ErrorCode::NotTextual,
         .what = std::move(what),
         .stage = op.name,
         .legal = std::move(legal)});
}

void require_registered(const Call& call, const OperationNode& op) {
  const Intrinsic* intrinsic = find_intrinsic(call.name);
  if (intrinsic && intrinsic->kind == call.call_kind) return;
  not_textual(op, fmt::format("a call of '{}', which is no registered intrinsic", call.name),
              "the intrinsics of ir/intrinsics.def");
}

}  // namespace

void Writer::check_textual(const Stmt& s, const std::vector<Var>& buffers,
                           const OperationNode& op) const {
  VarSet known = declared_;
  known.insert(buffers.begin(), buffers.end());
  for (const Var& v : free_vars(s)) {
    if (known.contains(v)) continue;
    not_textual(op, fmt::format("variable '{}', which no shape declares", v.name()),
                "variables of the program's shapes");
  }
  for_each_expr(s, [&](const Expr& e) {
    if (const Call* call = as<Call>(e)) require_registered(*call, op);
  });
}

void Writer::check_textual(const Expr& e, const OperationNode& op) const {
  const auto fail = [&](std::string what, std::string legal) {
    not_textual(op, std::move(what), std::move(legal));
  };
  VarSet known = declared_;
  for (const IterVar& a : op.root_axes()) known.insert(a.var());
  for (const Var& v : free_vars(e)) {
    if (known.contains(v)) continue;
    fail(fmt::format("variable '{}' is no axis and no shape declares it", v.name()),
         "axes of the compute and variables of the program's shapes");
  }
  for_each_expr(e, [&](const Expr& sub) {
    if (const Call* call = as<Call>(sub)) require_registered(*call, op);
    if (is<Load>(sub)) fail("a load from a buffer", "reads of tensors");
  });
}

void Writer::declare(const std::vector<Expr>& extents, const VarSet& except) {
  for (const Expr& e : extents) {
    for (const Var& v : free_vars(e)) {
      if (except.contains(v) || !declared_.insert(v).second) continue;
      put(names_.of(v.operator->()), " = var(", to_string(v.dtype()), ")\n");
    }
  }
}

void Writer::declare_variables(const OperationNode& op) {
  if (op.root_axes().empty()) {
    for (int k = 0; k < op.num_outputs(); ++k) declare(op.output_shape(k), {});
    return;
  }
  VarSet axes;
  for (const IterVar& a : op.root_axes()) axes.insert(a.var());
  for (const IterVar& a : op.root_axes()) declare({a->domain.min, a->domain.extent}, axes);
}

void Writer::axes(const std::vector<IterVar>& axes, Names& scope) {
  put("[");
  for (size_t i = 0; i < axes.size(); ++i) {
    const Range& domain = axes[i]->domain;
    const std::string extent = to_string(domain.extent, scope);
    put(i == 0 ? "" : ", ", scope.of(axes[i].var().operator->()), ": ");
    if (is_zero(domain.min)) {
      put(extent);
    } else {
      put("(", to_string(domain.min, scope), ", ", extent, ")");
    }
  }
  put("]");
}

void Writer::reduction(const Reduce& op, Names& scope) {
  const CommReducer& c = op.combiner;
  const std::string_view name = reducer_name(c);
  if (!name.empty()) {
    put(name, "(", to_string(op.source[0], scope));
  } else {
    put("reduce(identity=");
    list(c.identity, scope);
    put(", lhs=");
    list({c.lhs.begin(), c.lhs.end()}, scope);
    put(", rhs=");
    list({c.rhs.begin(), c.rhs.end()}, scope);
    put(", result=");
    list(c.result, scope);
    put(", source=");
    list(op.source, scope);
  }
  if (op.condition.defined()) put(", where=", to_string(op.condition, scope));
  put(")");
}

void Writer::list(const std::vector<Expr>& list, Names& scope) {
  put("[");
  for (size_t i = 0; i < list.size(); ++i) put(i == 0 ? "" : ", ", to_string(list[i], scope));
  put("]");
}

void Writer::annotations(const OperationNode& op) {
  if (!op.tag.empty()) put(", tag=", quoted(op.tag));
  if (op.attributes.empty()) return;
  put(", attributes={");
  std::string separator;
  for (const auto& [key, value] : op.attributes) {
    put(separator, words::is_identifier(key) ? key : quoted(key), ": ",
        std::visit([](const auto& v) { return attribute_text(v); }, value));
    separator = ", ";
  }
  put("}");
}

void Writer::tensor(const Tensor& t) {
  put(names_.of(t.op().get()));
  if (t.op()->num_outputs() != 1) put(".v", std::to_string(t.value_index()));
}

void Writer::tensors(const std::vector<Tensor>& list) {
  put("[");
  for (size_t i = 0; i < list.size(); ++i) {
    put(i == 0 ? "" : ", ");
    tensor(list[i]);
  }
  put("]");
}

void Writer::line(std::string_view what, const std::vector<Tensor>& tensors) {
  put(what);
  for (const Tensor& t : tensors) {
    put(" ");
    tensor(t);
  }
  put("\n");
}

// ---------------------------------------------------------------------------------------------
// Programs

std::vector<Tensor> constants_of(const Program& program) {
  std::vector<Tensor> constants;
  for (const Tensor& t : program.arguments) {
    if (is_constant(t)) constants.push_back(t);
  }
  return constants;
}

Program make_program(const std::vector<Tensor>& outputs) {
  Program p{.arguments = placeholders(outputs), .outputs = outputs};
  for (const Tensor& t : outputs) {
    // An output that is a placeholder, or stands twice, is one argument.
    bool known = false;
    for (const Tensor& a : p.arguments) known |= a == t;
    if (!known) p.arguments.push_back(t);
  }
  return p;
}

std::string to_text(const Program& program) { return Writer(false).program(program); }

uint64_t workload_hash(const Program& program) {
  // Arguments that nothing reads change no schedule.
  Program read{.arguments = {}, .outputs = program.outputs};
  const std::vector<Operation> used = operations(program.outputs);
  for (const Tensor& t : program.arguments) {
    const auto is_its = [&](const Operation& op) { return op.same_as(t.op()); };
    if (std::ranges::any_of(used, is_its)) read.arguments.push_back(t);
  }
  return hash_bytes(Writer(true).program(read));
}

std::string workload_id(const Program& program) {
  return fmt::format("{:016x}", workload_hash(program));
}

}  // namespace tw::te
