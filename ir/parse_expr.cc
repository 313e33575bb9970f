// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "ir/expr.h"
#include "ir/parser.h"
#include "ir/words.h"
#include "runtime/read_number.h"

namespace tw::words {
namespace {

DType suffix_type(const Token& token) {
  if (token.suffix.empty()) return float_type(64);
  if (token.suffix == "f") return float_type(32);
  if (token.suffix == "h") return float_type(16);
  if (token.suffix == "bf") return bfloat_type(16);
  syntax_error(token, fmt::format("unknown suffix '{}' of a number", token.suffix),
               "f, h, bf or none");
}

double floating(const Token& token) {
  const auto value = read_double(token.text);
  if (!value) syntax_error(token, fmt::format("found '{}'", token.text), "a number");
  return *value;
}

}  // namespace

// Printed text is fully parenthesised; by hand, the usual precedences may be used.
Expr Parser::expr(int least_precedence) {
  Expr left = unary();
  for (;;) {
    if (peek().kind != Token::Kind::Symbol || !continues()) return left;
    const Binary* op = find_infix(peek().text);
    if (op == nullptr || op->precedence < least_precedence) return left;
    const Token token = take();
    const Expr right = expr(op->precedence + 1);
    left = build(token, [&] { return raw_binary(op->kind, left, right); });
  }
}

Expr Parser::unary() {
  const Level level(*this);
  if (is_symbol("!")) {
    const Token token = take();
    const Expr a = unary();
    return build(token, [&] { return make(Not{.a = a}); });
  }
  if (is_symbol("-")) {
    take();
    return number(true, nullptr);
  }
  return primary();
}

Expr Parser::primary() {
  const Token& token = peek();
  switch (token.kind) {
    case Token::Kind::Integer:
    case Token::Kind::Floating:
      return number(false, nullptr);
    case Token::Kind::String:
      return make(StringImm{.value = take().text});
    case Token::Kind::Symbol:
      if (token.text == "(") {
        ++brackets_;
        take();
        Expr e = parenthesised();
        --brackets_;
        return e;
      }
      break;
    case Token::Kind::Word: {
      const Token name = take();
      if (is_symbol("(") && continues()) return function(name);
      // name<type>(…) and name<type>[…]: no variable is called like a type.
      if (is_symbol("<") && continues() && is_dtype(peek(1).text) && is_symbol(">", 2)) {
        return is_symbol("[", 3) ? load(name) : function(name);
      }
      if (is_symbol("[") && continues()) return load(name);
      return use(name);
    }
    default:
      break;
  }
  unexpected("an expression");
}

// A literal, of a type that stood before it in parentheses or of the one its suffix says.
Expr Parser::number(bool negative, const DType* type) {
  const Token token = take();
  if (token.kind == Token::Kind::Word && (token.text == "inf" || token.text == "nan") && type) {
    double v = token.text == "inf" ? std::numeric_limits<double>::infinity() : std::nan("");
    return build(token, [&] { return make(FloatImm{.type = *type, .value = negative ? -v : v}); });
  }
  if (token.kind == Token::Kind::Floating ||
      (token.kind == Token::Kind::Integer && !token.suffix.empty())) {
    const double v = floating(token);
    const DType t = type != nullptr ? *type : suffix_type(token);
    return build(token, [&] { return make(FloatImm{.type = t, .value = negative ? -v : v}); });
  }
  if (token.kind != Token::Kind::Integer) {
    syntax_error(token, fmt::format("found '{}'", token.text), "a number");
  }
  const DType t = type != nullptr ? *type : int_type(32);
  uint64_t magnitude = 0;
  const char* end = token.text.data() + token.text.size();
  const bool read = std::from_chars(token.text.data(), end, magnitude).ec == std::errc();
  if (t.is_float()) {
    const double v = floating(token);
    return build(token, [&] { return make(FloatImm{.type = t, .value = negative ? -v : v}); });
  }
  const uint64_t value = negative ? uint64_t{0} - magnitude : magnitude;
  const auto bits = static_cast<int64_t>(value);
  const bool overflow = t.is_int() && bits != 0 && (bits < 0) != negative;
  Expr e = build(token, [&] { return make(IntImm{.type = t, .value = bits}); });
  if (!read || overflow || as<IntImm>(e)->value != bits) {
    syntax_error(
        token, fmt::format("{}{} does not fit {}", negative ? "-" : "", token.text, to_string(t)));
  }
  return e;
}

// After "(": a typed literal, a let, a load with its predicate, or any expression.
Expr Parser::parenthesised() {
  if (peek().kind == Token::Kind::Word && is_dtype(peek().text) && is_symbol(")", 1)) {
    const DType type = parse_dtype(take().text);
    take();
    const bool negative = accept("-");
    return number(negative, &type);
  }
  if (is_word("let")) return let_expr();
  Expr e = expr();
  if (is_word("if")) {
    const Token token = take();
    if (!is<Load>(e)) syntax_error(token, "a predicate on what is not a load", "A[i] if p");
    const Expr predicate = expr();
    e = build(token, [&] { return with(e, [&](Load& l) { l.predicate = predicate; }); });
  }
  expect(")");
  return e;
}

Var Parser::let_binding(Token& name, Expr& value) {
  expect("let");
  name = expect_kind(Token::Kind::Word, "the name of a variable");
  DType element;
  if (accept(":")) {
    element = expect_dtype();
    expect("*");
  }
  expect("=");
  value = expr();
  return bind(name, value.dtype(), element);
}

Expr Parser::let_expr() {
  Token name;
  Expr value;
  const Var var = let_binding(name, value);
  expect("in");
  const Expr body = expr();
  unbind();
  expect(")");
  return build(name, [&] { return make(Let{.var = var, .value = value, .body = body}); });
}

Expr Parser::load(const Token& name) {
  const Var buffer = use(name);
  DType type = buffer->element.element();
  if (accept("<")) {
    type = expect_dtype();
    expect(">");
  }
  ++brackets_;
  expect("[");
  const Expr index = expr();
  expect("]");
  --brackets_;
  return build(name, [&] { return make(Load{.type = type, .buffer = buffer, .index = index}); });
}

std::vector<Expr> Parser::arguments() {
  std::vector<Expr> result;
  separated(")", [&] { result.push_back(expr()); });
  return result;
}

std::vector<Expr> Parser::list() {
  std::vector<Expr> result;
  expect("[");
  separated("]", [&] { result.push_back(expr()); });
  return result;
}

Expr Parser::function(const Token& name) {
  ++brackets_;
  Expr result;
  const auto three = [&](Expr& a, Expr& b, Expr& c) {
    a = expr();
    expect(",");
    b = expr();
    expect(",");
    c = expr();
    expect(")");
  };
  if (name.text == "reduce" && accept("(")) {
    result = reduce(name);
  } else if (name.text == "select" && accept("(")) {
    Expr a, b, c;
    three(a, b, c);
    result = build(name,
                   [&] { return make(Select{.condition = a, .true_value = b, .false_value = c}); });
  } else if (name.text == "ramp" && accept("(")) {
    const Expr base = expr();
    expect(",");
    const Expr stride = expr();
    expect(",");
    const int lanes = expect_int();
    expect(")");
    result =
        build(name, [&] { return make(Ramp{.base = base, .stride = stride, .lanes = lanes}); });
  } else if (name.text == "shuffle" && accept("(")) {
    Shuffle node;
    node.vectors = list();
    expect(",");
    expect("[");
    separated("]", [&] { node.indices.push_back(expect_int()); });
    expect(")");
    result = build(name, [&] { return make(node); });
  } else if (is_dtype(name.text) && accept("(")) {
    const Expr value = expr();
    expect(")");
    result =
        build(name, [&] { return make(Cast{.type = parse_dtype(name.text), .value = value}); });
  } else if (is_broadcast(name.text) && accept("(")) {
    const Expr value = expr();
    expect(")");
    int lanes = 0;
    std::from_chars(name.text.data() + 1, name.text.data() + name.text.size(), lanes);
    result = build(name, [&] { return make(Broadcast{.value = value, .lanes = lanes}); });
  } else if (const Binary* binary = find_binary_function(name.text); binary && accept("(")) {
    const Expr a = expr();
    expect(",");
    const Expr b = expr();
    expect(")");
    result = build(name, [&] { return raw_binary(binary->kind, a, b); });
  } else {
    result = call(name);
  }
  --brackets_;
  return result;
}

// Intrinsics, calls by quoted name, and reads of producers.
Expr Parser::call(const Token& name) {
  const Intrinsic* known = find_printed_intrinsic(name.text);
  CallKind kind = known != nullptr ? known->kind : CallKind::Extern;
  const bool generic = find_generic_call(name.text, kind);
  if (known == nullptr && !generic) {
    const auto [producer, value_index] = use_output(name);
    expect("(");
    ProducerLoad node{.producer = producer, .value_index = value_index, .indices = arguments()};
    return build(name, [&] { return make(node); });
  }
  Call node{.name = known != nullptr ? std::string(known->name) : "", .call_kind = kind};
  const bool typed = generic ? (expect("<"), true) : accept("<");
  if (typed) {
    node.type = expect_dtype();
    expect(">");
  }
  expect("(");
  if (generic) {
    node.name = expect_kind(Token::Kind::String, "the name of a function in quotes").text;
    if (accept(",")) {
      node.args = arguments();
    } else {
      expect(")");
    }
  } else {
    node.args = arguments();
    if (known->arity >= 0 && node.args.size() != static_cast<size_t>(known->arity)) {
      syntax_error(name, fmt::format("'{}' with {} arguments", name.text, node.args.size()),
                   fmt::format("{} arguments", known->arity));
    }
    if (!typed) node.type = default_type(*known, node.args);
  }
  return build(name, [&] { return make(node); });
}

Expr Parser::reduce(const Token& name) {
  Reduce node;
  size_t bindings = 0;
  const auto field = [&](std::string_view key) {
    expect(key);
    expect("=");
  };
  const auto operands = [&](std::string_view key, std::vector<Var>& vars) {
    field(key);
    expect("[");
    size_t k = 0;
    separated("]", [&] {
      const Token var = expect_kind(Token::Kind::Word, "the name of a variable");
      if (k >= node.combiner.identity.size()) {
        syntax_error(var, "more operands than identity elements");
      }
      vars.push_back(bind(var, node.combiner.identity[k++].dtype()));
      ++bindings;
    });
    expect(",");
  };
  field("identity");
  node.combiner.identity = list();
  expect(",");
  operands("lhs", node.combiner.lhs);
  operands("rhs", node.combiner.rhs);
  field("result");
  node.combiner.result = list();
  expect(",");
  field("axis");
  expect("[");
  separated("]", [&] {
    const Token var = expect_kind(Token::Kind::Word, "the name of an axis");
    expect("in");
    expect("(");
    const Expr min = expr();
    expect(",");
    const Expr extent = expr();
    expect(")");
    IterKind kind = IterKind::Reduction;
    if (accept("data_parallel")) kind = IterKind::DataParallel;
    if (accept("ordered")) kind = IterKind::Ordered;
    if (accept("opaque")) kind = IterKind::Opaque;
    node.axis.push_back(IterVar({min, extent}, bind(var, min.dtype()), kind));
    ++bindings;
  });
  expect(",");
  field("source");
  node.source = list();
  expect(",");
  if (accept("where")) {
    expect("=");
    node.condition = expr();
    expect(",");
  }
  field("value_index");
  node.value_index = expect_int();
  expect(")");
  for (size_t k = 0; k < bindings; ++k) unbind();
  return build(name, [&] { return make(node); });
}

}  // namespace tw::words
