// SPDX-License-Identifier: Apache-2.0
// The words of IR text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tw::words {

struct Token {
  enum class Kind : uint8_t { Word, Integer, Floating, String, Symbol, Attr, End };
  Kind kind = Kind::End;
  std::string text;    // of a string: what it stands for; of a number: without its suffix
  std::string suffix;  // of a number: letters that follow it, "f" in 0.5f
  int line = 1, column = 1;
  bool starts_line = false;  // the first token of its line
};

// Text in tokens, the last of them End. Comments are dropped, but "// attr" before a "[" is a
// token. `line` and `column` are those of the first character. Throws UserError (ParseError).
std::vector<Token> tokenize(std::string_view text, int line = 1, int column = 1);

// Throws UserError (ParseError) at the place of `token`.
[[noreturn]] void syntax_error(const Token& token, std::string what, std::string legal = {});

}  // namespace tw::words
