// SPDX-License-Identifier: Apache-2.0
// The recursive descent behind parse.h. Expressions are in parse_expr.cc, statements and
// declarations in parse.cc.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/lexer.h"
#include "ir/node.h"
#include "ir/parse.h"
#include "runtime/error.h"

namespace tw::words {

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokenize(text)) {}
  Parser(std::string_view text, const ParseScope& scope);

  // Whole texts: declarations, then one expression or a sequence of statements.
  Expr whole_expr();
  Stmt whole_stmt();

 private:
  // --- Tokens
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is_symbol(std::string_view text, size_t ahead = 0) const {
    return peek(ahead).kind == Token::Kind::Symbol && peek(ahead).text == text;
  }
  bool is_word(std::string_view text, size_t ahead = 0) const {
    return peek(ahead).kind == Token::Kind::Word && peek(ahead).text == text;
  }
  bool accept(std::string_view symbol_or_word);
  Token expect(std::string_view symbol_or_word);
  Token expect_kind(Token::Kind kind, std::string_view what);
  [[noreturn]] void unexpected(std::string_view legal) const;
  int expect_int();
  DType expect_dtype();
  // A word or a quoted string.
  std::string expect_label();
  // Whether the next token continues the expression before it: outside brackets, a new line ends
  // it.
  bool continues() const { return brackets_ != 0 || !peek().starts_line; }

  // Builds a node; what `make` finds wrong with it becomes an error at `token`.
  template <class F>
  auto build(const Token& token, F f) {
    try {
      return f();
    } catch (const InternalError& e) {
      syntax_error(token, e.info().what);
    }
  }
  // item, item, … until `close`, which is taken.
  template <class F>
  void separated(std::string_view close, F item) {
    if (accept(close)) return;
    do {
      item();
    } while (accept(","));
    expect(close);
  }

  // One level of the tree; too many would overflow the stack, here and in every walk after.
  class Level {
   public:
    explicit Level(Parser& p) : depth_(p.depth_) {
      if (++depth_ > kMaxDepth) syntax_error(p.peek(), "nested too deeply", "at most 1000 levels");
    }
    Level(const Level&) = delete;
    ~Level() { --depth_; }

   private:
    static constexpr int kMaxDepth = 1000;
    int& depth_;
  };

  // --- Names
  // One name is one variable in the whole text.
  struct Name {
    Var var;
    int in_scope = 0;
  };
  Var bind(const Token& name, DType type, DType element = {});
  // Ends the scope of the last binding.
  void unbind() {
    --bound_.back()->in_scope;
    bound_.pop_back();
  }
  Var use(const Token& name);
  // "A", or "A.v1" for one of several outputs.
  std::pair<ProducerRef, int> use_output(const Token& name);
  ProducerRef use_producer(const Token& name);

  // --- Expressions (parse_expr.cc)
  Expr expr(int least_precedence = 1);
  Expr unary();
  Expr primary();
  Expr number(bool negative, const DType* type);
  Expr parenthesised();
  Expr let_expr();
  Expr load(const Token& name);
  Expr function(const Token& name);
  Expr call(const Token& name);
  Expr reduce(const Token& name);
  std::vector<Expr> arguments();              // after "(", takes ")"
  std::vector<Expr> list();                   // "[" … "]"
  Var let_binding(Token& name, Expr& value);  // after "let"; binds the variable

  // --- Statements (parse.cc)
  void declarations();
  void declaration();
  Stmt sequence(std::string_view close);  // until `close`, which is not taken
  Stmt braces();
  Stmt statement(std::string_view close);
  Stmt attr(std::string_view close);
  Stmt allocate(std::string scope, std::string_view close);
  Stmt loop(ForKind kind);
  Stmt assertion(std::string_view close);
  Stmt let_stmt(std::string_view close);
  Stmt condition();
  Stmt while_loop();
  Stmt realize();
  Stmt prefetch(bool for_write);
  Stmt produce();
  Stmt other();
  std::vector<Range> region();
  Stmt body(std::string_view close);  // the rest of the block, at least one statement

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int brackets_ = 0;
  int depth_ = 0;
  std::unordered_map<std::string, Name> variables_;
  std::vector<Name*> bound_;
  std::unordered_map<std::string, ProducerRef> producers_;
};

}  // namespace tw::words
