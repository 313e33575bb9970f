// SPDX-License-Identifier: Apache-2.0
#include "ir/print.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "ir/fields.h"
#include "ir/share.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "ir/words.h"
#include "runtime/element.h"
#include "runtime/error.h"
#include "runtime/read_number.h"

namespace tw {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (u < 0x20 || u == 0x7f) {
      out += fmt::format("\\x{:02x}", u);
    } else {
      out += c;
    }
  }
  return out + '"';
}

// A word that the parser takes as it stands, or the same in quotes.
std::string word(const std::string& text) {
  return words::is_identifier(text) ? text : quoted(text);
}

std::string float_text(DType type, double value) {
  if (!std::isfinite(value)) {
    return fmt::format("({}){}", to_string(type),
                       std::isnan(value) ? "nan" : (value < 0 ? "-inf" : "inf"));
  }
  const auto reads_back = [&](const std::string& text) {
    return round_to(type, *read_double(text)) == value;
  };
  std::string text = std::fabs(value) < 1e39 ? fmt::format("{:f}", value) : "";
  if (text.empty() || !reads_back(text)) text = fmt::format("{}", static_cast<float>(value));
  if (!reads_back(text)) text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (type.code == TypeCode::BFloat) return text + "bf";
  return text + (type.bits == 32 ? "f" : (type.bits == 16 ? "h" : ""));
}

std::string int_text(DType type, int64_t value) {
  if (type == int_type(32)) return fmt::format("{}", value);
  if (type.is_uint()) {
    return fmt::format("({}){}", to_string(type), static_cast<uint64_t>(value));
  }
  return fmt::format("({}){}", to_string(type), value);
}

std::string_view to_word(IterKind kind) {
  switch (kind) {
    case IterKind::DataParallel:
      return " data_parallel";
    case IterKind::Reduction:
      return "";
    case IterKind::Ordered:
      return " ordered";
    case IterKind::Opaque:
      return " opaque";
  }
  return "";
}

class Printer : public Visitor {
 public:
  Names names;
  std::string out;

  void print(const Expr& e) { visit(e); }
  void print(const Stmt& s) { visit(s); }

  // Lines that declare `free` and every producer that was printed.
  std::string declarations(const std::vector<Var>& free) {
    std::string body = std::exchange(out, "");
    VarSet declared;
    const auto declare = [&](const Var& v) {
      if (!declared.insert(v).second) return;
      put("declare ", names.of(v.operator->()), ": ", variable_type(*v.operator->()), "\n");
    };
    for (const Var& v : free) declare(v);
    for (size_t i = 0; i < names.producers().size(); ++i) {
      const ProducerRef p = names.producers()[i];
      const int n = p->num_outputs();
      for (int k = 0; k < n; ++k) {
        for (const Expr& extent : p->output_shape(k)) {
          for (const Var& v : free_vars(extent)) declare(v);
        }
      }
      put("declare ", names.of(p.get()), ": ");
      if (n != 1) put("(");
      for (int k = 0; k < n; ++k) {
        if (k != 0) put(", ");
        put(to_string(p->output_dtype(k)), "[");
        list(p->output_shape(k));
        put("]");
      }
      put(n != 1 ? ")\n" : "\n");
    }
    std::swap(body, out);
    return body;
  }

 protected:
  using Visitor::on;

  void on(const Variable& op) override { put(names.of(&op)); }
  void on(const IntImm& op) override { put(int_text(op.type, op.value)); }
  void on(const FloatImm& op) override { put(float_text(op.type, op.value)); }
  void on(const StringImm& op) override { put(quoted(op.value)); }
  void on(const Cast& op) override { function(to_string(op.type), op.value); }

#define BINARY_NODE(Name) \
  void on(const Name& op) override { binary(op.kind, op.a, op.b); }
#include "ir/binary_nodes.def"
#undef BINARY_NODE

  void on(const Not& op) override {
    put("!");
    visit(op.a);
  }
  void on(const Select& op) override {
    function("select", op.condition, op.true_value, op.false_value);
  }
  // The parentheses keep this predicate apart from that of a store.
  void on(const Load& op) override {
    if (op.predicate.defined()) put("(");
    put(names.of(op.buffer.operator->()));
    if (op.type.element() != op.buffer->element.element()) {
      put("<", to_string(op.type.element()), ">");
    }
    subscript(op.index);
    if (op.predicate.defined()) {
      put(" if ");
      visit(op.predicate);
      put(")");
    }
  }
  void on(const Ramp& op) override { function("ramp", op.base, op.stride, op.lanes); }
  void on(const Broadcast& op) override { function(fmt::format("x{}", op.lanes), op.value); }
  void on(const Shuffle& op) override {
    put("shuffle([");
    list(op.vectors);
    put("], [");
    for (size_t i = 0; i < op.indices.size(); ++i) {
      put(i == 0 ? "" : ", ", std::to_string(op.indices[i]));
    }
    put("])");
  }
  void on(const Call& op) override {
    const Intrinsic* known = find_intrinsic(op.name);
    if (known != nullptr && known->kind == op.call_kind) {
      put(known->printed);
      if (op.type != words::default_type(*known, op.args)) put("<", to_string(op.type), ">");
      put("(");
    } else {
      put(words::generic_call(op.call_kind), "<", to_string(op.type), ">(", quoted(op.name));
      if (!op.args.empty()) put(", ");
    }
    list(op.args);
    put(")");
  }
  void on(const Let& op) override {
    put("(");
    let(op.var, op.value);
    put(" in ");
    visit(op.body);
    put(")");
  }
  void on(const Reduce& op) override {
    put("reduce(identity=[");
    list(op.combiner.identity);
    put("], lhs=[");
    names_of(op.combiner.lhs);
    put("], rhs=[");
    names_of(op.combiner.rhs);
    put("], result=[");
    list(op.combiner.result);
    put("], axis=[");
    for (size_t i = 0; i < op.axis.size(); ++i) {
      const IterVar& iv = op.axis[i];
      put(i == 0 ? "" : ", ", names.of(iv.var().operator->()), " in (");
      visit(iv->domain.min);
      put(", ");
      visit(iv->domain.extent);
      put(")", to_word(iv->kind));
    }
    put("], source=[");
    list(op.source);
    put("]");
    if (op.condition.defined()) {
      put(", where=");
      visit(op.condition);
    }
    put(", value_index=", std::to_string(op.value_index), ")");
  }
  void on(const ProducerLoad& op) override {
    output(op.producer, op.value_index);
    put("(");
    list(op.indices);
    put(")");
  }

  void on(const LetStmt& op) override {
    indent();
    let(op.var, op.value);
    put("\n");
    visit(op.body);
  }
  void on(const AttrStmt& op) override {
    indent();
    put("// attr [");
    visit(op.node);
    // As a bare word this key belongs to the allocation below it.
    put("] ", op.key == "storage_scope" ? quoted(op.key) : word(op.key));
    if (op.value.defined()) {
      put(" = ");
      visit(op.value);
    }
    put("\n");
    visit(op.body);
  }
  void on(const AssertStmt& op) override {
    indent();
    put("assert(");
    visit(op.condition);
    if (op.message.defined()) {
      put(", ");
      visit(op.message);
    }
    put(")\n");
    visit(op.body);
  }
  void on(const For& op) override {
    indent();
    put(to_string(op.for_kind), " (", names.of(op.var.operator->()), ", ");
    visit(op.min);
    put(", ");
    visit(op.extent);
    put(")");
    braces(op.body);
    put("\n");
  }
  void on(const While& op) override {
    indent();
    put("while (");
    visit(op.condition);
    put(")");
    braces(op.body);
    put("\n");
  }
  void on(const Allocate& op) override {
    const std::string& name = names.of(op.buffer.operator->());
    indent();
    put("// attr [", name, "] storage_scope = ", quoted(op.scope), "\n");
    indent();
    put("allocate ", name);
    if (op.buffer->element != op.type) put("<", to_string(op.buffer->element), ">");
    put("[", to_string(op.type));
    for (const Expr& e : op.extents) {
      put(" * ");
      visit(e);
    }
    put("]\n");
    visit(op.body);
  }
  void on(const Store& op) override {
    indent();
    put(names.of(op.buffer.operator->()));
    subscript(op.index);
    put(" = ");
    visit(op.value);
    if (op.predicate.defined()) {
      put(" if ");
      visit(op.predicate);
    }
    put("\n");
  }
  void on(const Provide& op) override {
    indent();
    output(op.producer, op.value_index);
    put("(");
    list(op.indices);
    put(") = ");
    visit(op.value);
    put("\n");
  }
  void on(const Realize& op) override {
    indent();
    put("realize ");
    output(op.producer, op.value_index);
    put("<", word(op.scope), ">");
    region(op.bounds);
    braces(op.body);
    put("\n");
  }
  void on(const Produce& op) override {
    indent();
    put("produce ", names.of(op.producer.get()));
    braces(op.body);
    put("\n");
  }
  void on(const Prefetch& op) override {
    indent();
    put(op.for_write ? "prefetch_write " : "prefetch ");
    output(op.producer, op.value_index);
    region(op.bounds);
    put("\n");
  }
  // Statements without braces of their own reach to the end of the block they stand in. One that
  // ends earlier gets braces.
  void on(const Block& op) override {
    for (size_t i = 0; i < op.stmts.size(); ++i) {
      const Stmt& s = op.stmts[i];
      const bool open = is<LetStmt>(s) || is<AttrStmt>(s) || is<AssertStmt>(s) || is<Allocate>(s);
      if (!open || i + 1 == op.stmts.size()) {
        visit(s);
        continue;
      }
      indent();
      put("{\n");
      indent_ += 2;
      visit(s);
      indent_ -= 2;
      indent();
      put("}\n");
    }
  }
  void on(const IfThenElse& op) override {
    indent();
    put("if (");
    visit(op.condition);
    put(")");
    braces(op.then_case);
    if (op.else_case.defined()) {
      put(" else");
      braces(op.else_case);
    }
    put("\n");
  }
  void on(const Evaluate& op) override {
    indent();
    visit(op.value);
    put("\n");
  }

 private:
  template <class... T>
  void put(const T&... text) {
    (out.append(text), ...);
  }
  void indent() { out.append(static_cast<size_t>(indent_), ' '); }
  void list(const std::vector<Expr>& list) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (i != 0) put(", ");
      visit(list[i]);
    }
  }
  void names_of(const std::vector<Var>& list) {
    for (size_t i = 0; i < list.size(); ++i) {
      put(i == 0 ? "" : ", ", names.of(list[i].operator->()));
    }
  }
  void argument(const Expr& e) { visit(e); }
  void argument(int n) { put(std::to_string(n)); }
  template <class First, class... Rest>
  void function(const std::string& name, const First& first, const Rest&... rest) {
    put(name, "(");
    argument(first);
    ((put(", "), argument(rest)), ...);
    put(")");
  }
  void binary(NodeKind kind, const Expr& a, const Expr& b) {
    const words::Binary& spelling = *words::find_binary(kind);
    if (spelling.precedence == 0) return function(std::string(spelling.symbol), a, b);
    put("(");
    visit(a);
    if (spelling.tight) {
      put(spelling.symbol);
    } else {
      put(" ", spelling.symbol, " ");
    }
    visit(b);
    put(")");
  }
  void subscript(const Expr& index) {
    put("[");
    visit(index);
    put("]");
  }
  void output(const ProducerRef& p, int value_index) {
    put(names.of(p.get()));
    if (p->num_outputs() != 1) put(".v", std::to_string(value_index));
  }
  void region(const std::vector<Range>& bounds) {
    put("(");
    for (size_t i = 0; i < bounds.size(); ++i) {
      put(i == 0 ? "[" : ", [");
      visit(bounds[i].min);
      put(", ");
      visit(bounds[i].extent);
      put("]");
    }
    put(")");
  }
  // What the text of a binding cannot tell otherwise: the elements behind a handle.
  static std::string variable_type(const Variable& v) {
    return v.type.is_handle() ? to_string(v.element) + "*" : to_string(v.type);
  }
  void let(const Var& var, const Expr& value) {
    put("let ", names.of(var.operator->()));
    if (var.dtype().is_handle()) put(": ", variable_type(*var.operator->()));
    put(" = ");
    visit(value);
  }
  void braces(const Stmt& body) {
    put(" {\n");
    indent_ += 2;
    visit(body);
    indent_ -= 2;
    indent();
    put("}");
  }

  int indent_ = 0;
};

// A text has no parts that stand in several places but those that a Let binds.
constexpr int kMostParts = 65536;
Expr as_tree(const Expr& e) {
  if (!has_more_parts_than(e, kMostParts)) return e;
  const Expr bound = bind_shared_parts(e, kMostParts);
  if (bound.defined()) return bound;
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("the text of an expression of more than {} parts", kMostParts),
         .legal = "smaller expressions, or repeated parts that a Let can bind"});
}

template <class Handle>
std::string print(const Handle& handle, const PrintOptions& options) {
  Printer p;
  p.print(handle);
  if (!options.declarations) return p.out;
  // The body is printed first, so that its names are the same with and without declarations.
  const std::string declarations = p.declarations(free_vars(handle));
  return declarations + p.out;
}

}  // namespace

const std::string& Names::of(const Variable* v) {
  std::string& name = variables_[v];
  if (name.empty()) {
    name = choose(anonymous_ ? "v" : v->name, [&](const std::string& n) {
      return !words::is_reserved_for_variables(n) && taken_variables_.insert(n).second;
    });
  }
  return name;
}

const std::string& Names::of(const Producer* p) {
  std::string& name = producers_[p];
  if (name.empty()) {
    name = choose(anonymous_ ? "t" : p->name, [&](const std::string& n) { return take(*p, n); });
    order_.push_back(ProducerRef(p));
  }
  return name;
}

std::string Names::choose(const std::string& wanted,
                          const std::function<bool(const std::string&)>& take) {
  std::string base = wanted;
  for (char& c : base) {
    if (!words::is_identifier(std::string("a") + c)) c = '_';
  }
  if (!words::is_identifier(base)) base = "v" + base;
  if (take(base)) return base;
  for (int& k = suffix_[base];;) {
    std::string name = fmt::format("{}_{}", base, ++k);
    if (take(name)) return name;
  }
}

// With several outputs, "A.v0", "A.v1", … are names as well.
bool Names::take(const Producer& p, const std::string& name) {
  std::vector<std::string> all = {name};
  for (int k = 0; p.num_outputs() > 1 && k < p.num_outputs(); ++k) {
    all.push_back(fmt::format("{}.v{}", name, k));
  }
  for (const std::string& n : all) {
    if (words::is_reserved_for_producers(n) || taken_producers_.count(n) != 0) return false;
  }
  taken_producers_.insert(all.begin(), all.end());
  return true;
}

std::string to_string(const Expr& e, Names& names) {
  Printer p;
  std::swap(p.names, names);
  p.print(e);
  std::swap(p.names, names);
  return p.out;
}

std::string to_string(const Stmt& s, Names& names) {
  Printer p;
  std::swap(p.names, names);
  p.print(s);
  std::swap(p.names, names);
  return p.out;
}

std::string to_string(const Expr& e, const PrintOptions& options) {
  return print(as_tree(e), options);
}
std::string to_string(const Stmt& s, const PrintOptions& options) { return print(s, options); }

}  // namespace tw
