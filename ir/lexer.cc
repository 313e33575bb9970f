// SPDX-License-Identifier: Apache-2.0
#include "ir/lexer.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>

#include "ir/words.h"
#include "runtime/error.h"

namespace tw::words {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

class Lexer {
 public:
  Lexer(std::string_view text, int line, int column) : text_(text), line_(line), column_(column) {}

  std::vector<Token> run() {
    for (;;) {
      skip_space();
      begin();
      if (at_ == text_.size()) break;
      const char c = peek();
      if (starts_word(c)) {
        while (continues_word(peek())) token_.text += next();
        token_.kind = Token::Kind::Word;
      } else if (is_digit(c)) {
        number();
      } else if (c == '"') {
        string();
      } else if (rest().starts_with("//")) {
        comment();
        continue;
      } else {
        symbol();
      }
      end();
    }
    token_.kind = Token::Kind::End;
    end();
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  char next() {
    const char c = text_[at_++];
    if (c == '\n') {
      ++line_;
      column_ = 1;
      fresh_line_ = true;
    } else {
      ++column_;
    }
    return c;
  }
  void skip_space() {
    while (at_ < text_.size() && is_space(peek())) next();
  }
  void begin() {
    token_ = Token{};
    token_.line = line_;
    token_.column = column_;
    token_.starts_line = fresh_line_;
  }
  void end() {
    fresh_line_ = false;
    tokens_.push_back(token_);
  }

  void number() {
    token_.kind = Token::Kind::Integer;
    while (is_digit(peek())) token_.text += next();
    if (peek() == '.' && is_digit(peek(1))) {
      token_.kind = Token::Kind::Floating;
      token_.text += next();
      while (is_digit(peek())) token_.text += next();
    }
    const bool sign = peek(1) == '+' || peek(1) == '-';
    if (peek() == 'e' && is_digit(peek(sign ? 2 : 1))) {
      token_.kind = Token::Kind::Floating;
      token_.text += next();
      token_.text += next();
      while (is_digit(peek())) token_.text += next();
    }
    while (continues_word(peek())) token_.suffix += next();
  }

  void string() {
    token_.kind = Token::Kind::String;
    next();
    for (;;) {
      if (at_ == text_.size() || peek() == '\n')
        syntax_error(token_, "a string without its end", "\"");
      const char c = next();
      if (c == '"') return;
      token_.text += c == '\\' ? escape() : c;
    }
  }
  char escape() {
    if (at_ == text_.size()) syntax_error(token_, "a string without its end", "\"");
    const char c = next();
    switch (c) {
      case 'n':
        return '\n';
      case 't':
        return '\t';
      case '"':
      case '\\':
        return c;
      case 'x': {
        const std::string digits(rest().substr(0, 2));
        char* end = nullptr;
        const long code = std::strtol(digits.c_str(), &end, 16);
        if (digits.size() == 2 && end == digits.c_str() + 2) {
          next();
          next();
          return static_cast<char>(code);
        }
        break;
      }
      default:
        break;
    }
    syntax_error(token_, fmt::format("unknown escape '\\{}'", c), "\\n, \\t, \\\", \\\\ or \\x1f");
  }

  // Only "// attr [" says something.
  void comment() {
    next();
    next();
    while (peek() == ' ') next();
    size_t after = 4;
    while (peek(after) == ' ') ++after;
    if (rest().starts_with("attr") && peek(after) == '[') {
      for (int k = 0; k < 4; ++k) next();
      token_.kind = Token::Kind::Attr;
      token_.text = "// attr";
      end();
      return;
    }
    while (at_ < text_.size() && peek() != '\n') next();
  }

  void symbol() {
    token_.kind = Token::Kind::Symbol;
    for (std::string_view two : {"&&", "||", "==", "!=", "<=", ">="}) {
      if (!rest().starts_with(two)) continue;
      token_.text = two;
      next();
      next();
      return;
    }
    const char c = peek();
    token_.text = c;
    if (std::string_view("()[]{}<>,:=+-*/%!").find(c) == std::string_view::npos) {
      syntax_error(token_, fmt::format("unknown character '{}'", c));
    }
    next();
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_, column_;
  bool fresh_line_ = true;
  Token token_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text, int line, int column) {
  return Lexer(text, line, column).run();
}

void syntax_error(const Token& token, std::string what, std::string legal) {
  raise({.code = ErrorCode::ParseError,
         .what = std::move(what),
         .where = fmt::format("{}:{}", token.line, token.column),
         .legal = std::move(legal)});
}

}  // namespace tw::words
