// SPDX-License-Identifier: Apache-2.0
#include "ir/words.h"

#include <algorithm>
#include <cctype>

#include "runtime/error.h"

namespace tw::words {
namespace {

constexpr Binary kBinaries[] = {
    {NodeKind::Or, "||", 1, false},
    {NodeKind::And, "&&", 2, false},
    {NodeKind::Equal, "==", 3, false},
    {NodeKind::NotEqual, "!=", 3, false},
    {NodeKind::Less, "<", 3, false},
    {NodeKind::LessEqual, "<=", 3, false},
    {NodeKind::Greater, ">", 3, false},
    {NodeKind::GreaterEqual, ">=", 3, false},
    {NodeKind::Add, "+", 4, false},
    {NodeKind::Sub, "-", 4, false},
    {NodeKind::Mul, "*", 5, true},
    {NodeKind::Div, "/", 5, true},
    {NodeKind::Mod, "%", 5, false},
    {NodeKind::FloorDiv, "floordiv", 0, false},
    {NodeKind::FloorMod, "floormod", 0, false},
    {NodeKind::Min, "min", 0, false},
    {NodeKind::Max, "max", 0, false},
};

constexpr std::string_view kKeywords[] = {
    "for", "parallel", "vectorized", "unrolled", "while",  "if",       "else",           "let",
    "in",  "allocate", "produce",    "realize",  "assert", "prefetch", "prefetch_write", "inf",
    "nan", "declare",
};

constexpr std::string_view kFunctions[] = {"select", "ramp", "shuffle", "reduce"};

struct GenericCall {
  CallKind kind;
  std::string_view word;
};
constexpr GenericCall kGenericCalls[] = {
    {CallKind::PureIntrinsic, "call_pure_intrinsic"},
    {CallKind::Intrinsic, "call_intrinsic"},
    {CallKind::PureExtern, "call_pure_extern"},
    {CallKind::Extern, "call_extern"},
};

}  // namespace

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool continues_word(char c) { return starts_word(c) || is_digit(c) || c == '.'; }

const Binary* find_binary(NodeKind kind) {
  for (const Binary& b : kBinaries) {
    if (b.kind == kind) return &b;
  }
  return nullptr;
}

const Binary* find_infix(std::string_view symbol) {
  for (const Binary& b : kBinaries) {
    if (b.precedence != 0 && b.symbol == symbol) return &b;
  }
  return nullptr;
}

const Binary* find_binary_function(std::string_view name) {
  for (const Binary& b : kBinaries) {
    if (b.precedence == 0 && b.symbol == name) return &b;
  }
  return nullptr;
}

bool is_dtype(std::string_view word) {
  if (!word.starts_with("int") && !word.starts_with("uint") && !word.starts_with("float") &&
      !word.starts_with("bfloat") && !word.starts_with("bool") && word != "handle") {
    return false;
  }
  try {
    parse_dtype(word);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

bool is_broadcast(std::string_view word) {
  return word.size() > 1 && word[0] == 'x' && std::all_of(word.begin() + 1, word.end(), is_digit);
}

bool is_identifier(std::string_view word) {
  return !word.empty() && starts_word(word[0]) && std::ranges::all_of(word, continues_word);
}

bool is_reserved_for_variables(std::string_view word) {
  return std::find(std::begin(kKeywords), std::end(kKeywords), word) != std::end(kKeywords) ||
         is_dtype(word);
}

bool is_reserved_for_producers(std::string_view word) {
  CallKind kind;
  return is_reserved_for_variables(word) || is_broadcast(word) ||
         find_binary_function(word) != nullptr || find_printed_intrinsic(word) != nullptr ||
         find_generic_call(word, kind) ||
         std::find(std::begin(kFunctions), std::end(kFunctions), word) != std::end(kFunctions);
}

std::string_view generic_call(CallKind kind) {
  for (const GenericCall& c : kGenericCalls) {
    if (c.kind == kind) return c.word;
  }
  return "call_extern";
}

bool find_generic_call(std::string_view word, CallKind& kind) {
  for (const GenericCall& c : kGenericCalls) {
    if (c.word != word) continue;
    kind = c.kind;
    return true;
  }
  return false;
}

DType default_type(const Intrinsic& intrinsic, const std::vector<Expr>& args) {
  const std::string_view name = intrinsic.name;
  const auto is_one_of = [&](auto... names) { return ((name == names) || ...); };
  if (name == "if_then_else" && args.size() == 3) return args[1].dtype();
  if (is_one_of("isnan", "isinf") && !args.empty()) return bool_type(args[0].dtype().lanes);
  if (is_one_of("argument_int", "tensor_shape", "tensor_stride", "tensor_overlap",
                "tensor_partial_overlap"))
    return int_type(64);
  if (name == "argument_float") return float_type(64);
  if (is_one_of("tensor_data", "address_of")) return handle_type();
  if (is_one_of("tensor_has_strides", "tensorized")) return bool_type();
  if (name == "address_bits") return uint_type(64);
  if (intrinsic.kind == CallKind::Intrinsic || args.empty() ||
      is_one_of("argument_type", "argument_count", "tensor_rank", "tensor_dtype", "tensor_device",
                "num_threads", "tensor_operands", "tensor_operand", "tensor_values")) {
    return int_type(32);
  }
  return args[0].dtype();
}

}  // namespace tw::words
