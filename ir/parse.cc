// SPDX-License-Identifier: Apache-2.0
#include "ir/parse.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/attributes.h"
#include "ir/parser.h"
#include "ir/words.h"

namespace tw {
namespace words {
namespace {

// What a declaration of a producer says, and nothing else.
struct DeclaredProducer : Producer {
  struct Output {
    DType dtype;
    std::vector<Expr> shape;
  };
  std::vector<Output> outputs;

  int num_outputs() const override { return static_cast<int>(outputs.size()); }
  DType output_dtype(int k) const override { return outputs[static_cast<size_t>(k)].dtype; }
  std::vector<Expr> output_shape(int k) const override {
    return outputs[static_cast<size_t>(k)].shape;
  }
};

std::string describe(const Token& token) {
  switch (token.kind) {
    case Token::Kind::End:
      return "the end of the text";
    case Token::Kind::String:
      return fmt::format("\"{}\"", token.text);
    default:
      return fmt::format("'{}{}'", token.text, token.suffix);
  }
}

}  // namespace

Parser::Parser(std::string_view text, const ParseScope& scope)
    : tokens_(tokenize(text, scope.line, scope.column)), producers_(scope.producers) {
  for (const auto& [name, var] : scope.variables) variables_[name] = {.var = var, .in_scope = 1};
}

// --- Tokens

bool Parser::accept(std::string_view text) {
  if (!is_symbol(text) && !is_word(text)) return false;
  take();
  return true;
}

Token Parser::expect(std::string_view text) {
  if (!is_symbol(text) && !is_word(text)) unexpected(fmt::format("'{}'", text));
  return take();
}

Token Parser::expect_kind(Token::Kind kind, std::string_view what) {
  if (peek().kind != kind) unexpected(what);
  return take();
}

void Parser::unexpected(std::string_view legal) const {
  syntax_error(peek(), "found " + describe(peek()), std::string(legal));
}

int Parser::expect_int() {
  const Token token = expect_kind(Token::Kind::Integer, "an integer");
  if (token.text.size() > 9 || !token.suffix.empty()) {
    syntax_error(token, fmt::format("{} is out of range", describe(token)), "0 to 999999999");
  }
  return std::stoi(token.text);
}

DType Parser::expect_dtype() {
  const Token token = expect_kind(Token::Kind::Word, "a data type");
  try {
    return parse_dtype(token.text);
  } catch (const UserError& e) {
    syntax_error(token, e.info().what, e.info().legal);
  }
}

std::string Parser::expect_label() {
  if (peek().kind != Token::Kind::Word && peek().kind != Token::Kind::String) {
    unexpected("a word or a string");
  }
  return take().text;
}

// --- Names

Var Parser::bind(const Token& token, DType type, DType element) {
  if (is_reserved_for_variables(token.text)) {
    syntax_error(token, fmt::format("'{}' is a reserved word", token.text), "another name");
  }
  Name& name = variables_[token.text];
  if (!name.var.defined()) {
    const Expr e = make(Variable{.name = token.text, .type = type, .element = element});
    name.var = Var(as<Variable>(e));
  } else if (name.var->type != type || (type.is_handle() && name.var->element != element)) {
    syntax_error(
        token,
        fmt::format("'{}' is a variable of type {} already", token.text, to_string(name.var->type)),
        "one type for one name");
  }
  ++name.in_scope;
  bound_.push_back(&name);
  return name.var;
}

Var Parser::use(const Token& token) {
  auto it = variables_.find(token.text);
  if (it == variables_.end() || it->second.in_scope == 0) {
    syntax_error(
        token, fmt::format("unknown variable '{}'", token.text),
        fmt::format("a variable in scope, or 'declare {}: int32' ahead of the text", token.text));
  }
  return it->second.var;
}

ProducerRef Parser::use_producer(const Token& token) {
  auto it = producers_.find(token.text);
  if (it == producers_.end()) {
    syntax_error(
        token, fmt::format("unknown producer '{}'", token.text),
        fmt::format("a declared one: 'declare {}: float32[16]' ahead of the text", token.text));
  }
  return it->second;
}

std::pair<ProducerRef, int> Parser::use_output(const Token& token) {
  const size_t dot = token.text.rfind(".v");
  if (producers_.count(token.text) == 0 && dot != std::string::npos) {
    auto it = producers_.find(token.text.substr(0, dot));
    const std::string digits = token.text.substr(dot + 2);
    const bool numbered = !digits.empty() && digits.size() < 6 &&
                          digits.find_first_not_of("0123456789") == std::string::npos;
    if (it != producers_.end() && numbered && std::stoi(digits) < it->second->num_outputs()) {
      return {it->second, std::stoi(digits)};
    }
  }
  return {use_producer(token), 0};
}

// --- Statements

Expr Parser::whole_expr() {
  declarations();
  ++brackets_;  // one expression may stand on several lines
  Expr e = expr();
  if (peek().kind != Token::Kind::End) unexpected("the end of the text");
  return e;
}

Stmt Parser::whole_stmt() {
  declarations();
  Stmt s = sequence("");
  if (!s.defined()) unexpected("a statement");
  if (peek().kind != Token::Kind::End) unexpected("a statement");
  return s;
}

void Parser::declarations() {
  while (is_word("declare")) declaration();
}

// declare n: int32      declare A: float32*      declare C: float32[7, n]
// declare T: (float32[7], int32[7])
void Parser::declaration() {
  expect("declare");
  const Token name = expect_kind(Token::Kind::Word, "a name");
  expect(":");
  const bool tuple = accept("(");
  const DType first = expect_dtype();
  if (!tuple && accept("*")) {
    bind(name, handle_type(), first);
    return;
  }
  if (!tuple && !is_symbol("[")) {
    bind(name, first);
    return;
  }
  if (is_reserved_for_producers(name.text) || producers_.count(name.text) != 0) {
    syntax_error(name, fmt::format("'{}' cannot name a producer", name.text),
                 "a name that is neither taken nor that of a function");
  }
  auto* producer = new DeclaredProducer;
  producers_[name.text] = ProducerRef(producer);
  producer->name = name.text;
  producer->outputs.push_back({first, list()});
  if (!tuple) return;
  while (accept(",")) {
    const DType type = expect_dtype();
    producer->outputs.push_back({type, list()});
  }
  expect(")");
}

Stmt Parser::sequence(std::string_view close) {
  std::vector<Stmt> stmts;
  while (peek().kind != Token::Kind::End && !(is_symbol("}") && close == "}")) {
    stmts.push_back(statement(close));
  }
  return block(stmts);
}

Stmt Parser::braces() {
  expect("{");
  Stmt s = sequence("}");
  if (!s.defined()) unexpected("a statement");
  expect("}");
  return s;
}

Stmt Parser::body(std::string_view close) {
  Stmt s = sequence(close);
  if (!s.defined()) unexpected("a statement");
  return s;
}

Stmt Parser::statement(std::string_view close) {
  const Level level(*this);
  if (peek().kind == Token::Kind::Attr) return attr(close);
  if (is_symbol("{")) return braces();
  if (peek().kind == Token::Kind::Word) {
    for (ForKind kind :
         {ForKind::Serial, ForKind::Parallel, ForKind::Vectorized, ForKind::Unrolled}) {
      if (is_word(to_string(kind))) return loop(kind);
    }
    if (is_word("while")) return while_loop();
    if (is_word("if")) return condition();
    if (is_word("let")) return let_stmt(close);
    if (is_word("assert")) return assertion(close);
    if (is_word("allocate")) return allocate("global", close);
    if (is_word("produce")) return produce();
    if (is_word("realize")) return realize();
    if (is_word("prefetch") && !is_symbol("(", 1) && !is_symbol("<", 1)) return prefetch(false);
    if (is_word("prefetch_write")) return prefetch(true);
  }
  return other();
}

Stmt Parser::attr(std::string_view close) {
  const Token start = take();
  expect("[");
  if (is_symbol("]", 1) && is_word("storage_scope", 2)) {
    const Token buffer = take();
    take();
    take();
    expect("=");
    const std::string scope = expect_kind(Token::Kind::String, "a scope in quotes").text;
    if (!is_word("allocate") || !is_word(buffer.text, 1)) {
      unexpected(fmt::format("the allocation of '{}'", buffer.text));
    }
    return allocate(scope, close);
  }
  AttrStmt node;
  if (is_symbol("]", 1) && attr::is_parallel_launch(peek(2).text)) {
    const Token name = expect_kind(Token::Kind::Word, "the name of a task variable");
    take();
    node.key = take().text;
    expect("=");
    node.value = expr();
    const Var task = bind(name, node.value.dtype());
    node.node = task;
    node.body = body(close);
    unbind();
    return build(start, [&] { return make(node); });
  }
  if (is_symbol("]", 1) && peek(2).text == attr::kBufferBind) {
    const Token name = expect_kind(Token::Kind::Word, "the name of a buffer");
    take();
    node.key = take().text;
    expect("=");
    node.value = expr();
    const Var buffer = bind(name, handle_type(), node.value.dtype());
    node.node = buffer;
    node.body = body(close);
    unbind();
    return build(start, [&] { return make(node); });
  }
  if (!is_symbol("]")) node.node = expr();
  expect("]");
  node.key = expect_label();
  if (accept("=")) node.value = expr();
  node.body = body(close);
  return build(start, [&] { return make(node); });
}

Stmt Parser::allocate(std::string scope, std::string_view close) {
  expect("allocate");
  const Token name = expect_kind(Token::Kind::Word, "the name of a buffer");
  Allocate node{.scope = std::move(scope)};
  DType element;
  const bool other_element = accept("<");
  if (other_element) {
    element = expect_dtype();
    expect(">");
  }
  expect("[");
  node.type = expect_dtype();
  while (accept("*")) node.extents.push_back(unary());
  expect("]");
  node.buffer = bind(name, handle_type(), other_element ? element : node.type);
  node.body = body(close);
  unbind();
  return build(name, [&] { return make(node); });
}

Stmt Parser::loop(ForKind kind) {
  take();
  expect("(");
  const Token name = expect_kind(Token::Kind::Word, "the name of a loop variable");
  For node{.for_kind = kind};
  ++brackets_;
  expect(",");
  node.min = expr();
  expect(",");
  node.extent = expr();
  expect(")");
  --brackets_;
  node.var = bind(name, node.min.dtype());
  node.body = braces();
  unbind();
  return build(name, [&] { return make(node); });
}

Stmt Parser::while_loop() {
  const Token start = take();
  While node;
  ++brackets_;
  expect("(");
  node.condition = expr();
  expect(")");
  --brackets_;
  node.body = braces();
  return build(start, [&] { return make(node); });
}

Stmt Parser::assertion(std::string_view close) {
  const Token start = take();
  AssertStmt node;
  ++brackets_;
  expect("(");
  node.condition = expr();
  if (accept(",")) node.message = expr();
  expect(")");
  --brackets_;
  node.body = sequence(close);
  return build(start, [&] { return make(node); });
}

Stmt Parser::let_stmt(std::string_view close) {
  Token name;
  LetStmt node;
  node.var = let_binding(name, node.value);
  node.body = body(close);
  unbind();
  return build(name, [&] { return make(node); });
}

Stmt Parser::condition() {
  const Token start = take();
  IfThenElse node;
  ++brackets_;
  expect("(");
  node.condition = expr();
  expect(")");
  --brackets_;
  node.then_case = braces();
  if (accept("else")) node.else_case = is_word("if") ? condition() : braces();
  return build(start, [&] { return make(node); });
}

std::vector<Range> Parser::region() {
  std::vector<Range> bounds;
  ++brackets_;
  expect("(");
  separated(")", [&] {
    expect("[");
    const Expr min = expr();
    expect(",");
    const Expr extent = expr();
    expect("]");
    bounds.push_back({min, extent});
  });
  --brackets_;
  return bounds;
}

Stmt Parser::realize() {
  const Token start = take();
  Realize node;
  const Token name = expect_kind(Token::Kind::Word, "the name of a producer");
  std::tie(node.producer, node.value_index) = use_output(name);
  expect("<");
  node.scope = expect_label();
  expect(">");
  node.bounds = region();
  node.body = braces();
  return build(start, [&] { return make(node); });
}

Stmt Parser::prefetch(bool for_write) {
  const Token start = take();
  Prefetch node;
  node.for_write = for_write;
  const Token name = expect_kind(Token::Kind::Word, "the name of a producer");
  std::tie(node.producer, node.value_index) = use_output(name);
  node.bounds = region();
  return build(start, [&] { return make(node); });
}

Stmt Parser::produce() {
  const Token start = take();
  Produce node;
  node.producer = use_producer(expect_kind(Token::Kind::Word, "the name of a producer"));
  node.body = braces();
  return build(start, [&] { return make(node); });
}

// A[i] = v      A(i, j) = v      v
Stmt Parser::other() {
  const Token start = peek();
  const Expr target = expr();
  if (!is_symbol("=") || !continues()) {
    return build(start, [&] { return make(Evaluate{.value = target}); });
  }
  const Token equals = take();
  const Expr value = expr();
  if (const ProducerLoad* p = as<ProducerLoad>(target)) {
    return build(equals, [&] {
      return make(Provide{.producer = p->producer,
                          .value_index = p->value_index,
                          .value = value,
                          .indices = p->indices});
    });
  }
  const Load* load = as<Load>(target);
  if (load == nullptr || load->predicate.defined()) {
    syntax_error(equals, "what is left of '=' cannot be stored to", "A[i] = v or A(i, j) = v");
  }
  Store node{.buffer = load->buffer, .value = value, .index = load->index};
  if (is_word("if") && continues()) {
    take();
    node.predicate = expr();
  }
  return build(equals, [&] { return make(node); });
}

}  // namespace words

Expr parse_expr(std::string_view text) { return words::Parser(text).whole_expr(); }
Expr parse_expr(std::string_view text, const ParseScope& scope) {
  return words::Parser(text, scope).whole_expr();
}
Stmt parse_stmt(std::string_view text) { return words::Parser(text).whole_stmt(); }
Stmt parse_stmt(std::string_view text, const ParseScope& scope) {
  return words::Parser(text, scope).whole_stmt();
}

}  // namespace tw
