// SPDX-License-Identifier: Apache-2.0
#include "ir/arithmetic/rule_table.h"

#include <fmt/format.h>

#include <cctype>

#include "ir/equal.h"
#include "runtime/error.h"

namespace tw::arithmetic {
namespace {

using Op = RuleNode::Op;

constexpr std::string_view kRules[] = {
#define RULE(text) text,
#include "ir/arithmetic/rules.def"
#undef RULE
};

// Recursive descent over the text of one rule.
class RuleParser {
 public:
  explicit RuleParser(std::string_view text) { rule_.text = text; }

  Rule parse() {
    rule_.pattern = disjunction();
    expect("=>");
    rule_.replacement = disjunction();
    if (accept("if")) rule_.guard = disjunction();
    skip_space();
    if (position_ != rule_.text.size()) fail("end of rule");
    return std::move(rule_);
  }

 private:
  [[noreturn]] void fail(std::string_view wanted) const {
    raise({.code = ErrorCode::Internal,
           .what = fmt::format("rule '{}': {} expected at column {}", rule_.text, wanted,
                               position_ + 1)});
  }
  void skip_space() {
    while (position_ < rule_.text.size() && rule_.text[position_] == ' ') ++position_;
  }
  bool accept(std::string_view token) {
    skip_space();
    if (rule_.text.substr(position_, token.size()) != token) return false;
    // "<" is not the beginning of "<=", "=" of "=>" and so on.
    const size_t end = position_ + token.size();
    const char next = end < rule_.text.size() ? rule_.text[end] : ' ';
    if ((token == "<" || token == ">" || token == "!") && next == '=') return false;
    position_ = end;
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(token);
  }

  int16_t add(RuleNode node) {
    rule_.nodes.push_back(node);
    return static_cast<int16_t>(rule_.nodes.size() - 1);
  }
  const RuleNode& at(int16_t index) const { return rule_.nodes[static_cast<size_t>(index)]; }
  int16_t binary(NodeKind kind, int16_t a, int16_t b) {
    return add({.op = Op::Binary,
                .kind = kind,
                .constant = at(a).constant && at(b).constant,
                .boolean = kind >= NodeKind::Equal && kind <= NodeKind::Or,
                .a = a,
                .b = b});
  }

  int16_t disjunction() {
    int16_t a = conjunction();
    while (accept("||")) a = binary(NodeKind::Or, a, conjunction());
    return a;
  }
  int16_t conjunction() {
    int16_t a = comparison();
    while (accept("&&")) a = binary(NodeKind::And, a, comparison());
    return a;
  }
  int16_t comparison() {
    const int16_t a = sum();
    static constexpr std::pair<std::string_view, NodeKind> kComparisons[] = {
        {"==", NodeKind::Equal}, {"!=", NodeKind::NotEqual},     {"<=", NodeKind::LessEqual},
        {"<", NodeKind::Less},   {">=", NodeKind::GreaterEqual}, {">", NodeKind::Greater}};
    for (const auto& [token, kind] : kComparisons) {
      if (accept(token)) return binary(kind, a, sum());
    }
    return a;
  }
  int16_t sum() {
    int16_t a = product();
    for (;;) {
      if (accept("+")) {
        a = binary(NodeKind::Add, a, product());
      } else if (accept("-")) {
        a = binary(NodeKind::Sub, a, product());
      } else {
        return a;
      }
    }
  }
  int16_t product() {
    int16_t a = unary();
    for (;;) {
      if (accept("*")) {
        a = binary(NodeKind::Mul, a, unary());
      } else if (accept("//")) {
        a = binary(NodeKind::FloorDiv, a, unary());
      } else if (accept("%")) {
        a = binary(NodeKind::FloorMod, a, unary());
      } else {
        return a;
      }
    }
  }
  int16_t unary() {
    if (accept("!")) {
      const int16_t a = unary();
      return add({.op = Op::Not,
                  .kind = NodeKind::Not,
                  .constant = at(a).constant,
                  .boolean = true,
                  .a = a});
    }
    if (accept("-")) {
      const int16_t a = unary();
      if (at(a).op == Op::Literal) {
        rule_.nodes[static_cast<size_t>(a)].literal *= -1;
        return a;
      }
      const int16_t zero = add({.op = Op::Literal, .constant = true});
      return binary(NodeKind::Sub, zero, a);
    }
    if (accept("(")) {
      const int16_t a = disjunction();
      expect(")");
      return a;
    }
    return leaf();
  }
  int16_t call(NodeKind kind) {
    expect("(");
    const int16_t a = disjunction();
    expect(",");
    const int16_t b = disjunction();
    expect(")");
    return binary(kind, a, b);
  }
  int16_t leaf() {
    skip_space();
    const size_t begin = position_;
    while (position_ < rule_.text.size() &&
           std::isalnum(static_cast<unsigned char>(rule_.text[position_]))) {
      ++position_;
    }
    const std::string_view word = rule_.text.substr(begin, position_ - begin);
    if (word.empty()) fail("an operand");
    if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      int64_t value = 0;
      for (char c : word) value = value * 10 + (c - '0');
      return add({.op = Op::Literal, .constant = true, .literal = value});
    }
    if (word == "true" || word == "false") {
      return add({.op = Op::Literal, .constant = true, .boolean = true, .literal = word == "true"});
    }
    if (word == "min") return call(NodeKind::Min);
    if (word == "max") return call(NodeKind::Max);
    if (word == "truncdiv") return call(NodeKind::Div);
    if (word == "truncmod") return call(NodeKind::Mod);
    if (word == "least" || word == "greatest" || word == "nonzero") {
      expect("(");
      const int16_t a = leaf();
      expect(")");
      if (at(a).op != Op::Var) fail("a letter");
      const Op op = word == "least" ? Op::Least : word == "greatest" ? Op::Greatest : Op::Nonzero;
      return add({.op = op, .index = at(a).index, .constant = true, .boolean = op == Op::Nonzero});
    }
    if (word == "select") {
      expect("(");
      const int16_t a = disjunction();
      expect(",");
      const int16_t b = disjunction();
      expect(",");
      const int16_t c = disjunction();
      expect(")");
      return add({.op = Op::Select, .kind = NodeKind::Select, .a = a, .b = b, .c = c});
    }
    if (word.size() == 2 && word[0] == 'c' && word[1] >= '0' && word[1] < '0' + kMaxConstants) {
      return add(
          {.op = Op::Constant, .index = static_cast<uint8_t>(word[1] - '0'), .constant = true});
    }
    static constexpr std::string_view kLetters = "xyzwuvpqr";
    static_assert(kLetters.size() == kMaxVars);
    const size_t letter = word.size() == 1 ? kLetters.find(word[0]) : std::string_view::npos;
    if (letter == std::string_view::npos) fail("a letter, a constant or a function");
    return add({.op = Op::Var, .index = static_cast<uint8_t>(letter), .boolean = letter >= 6});
  }

  Rule rule_;
  size_t position_ = 0;
};

bool match(const Rule& rule, int16_t index, const ExprBase* e, Bindings& bindings) {
  const RuleNode& n = rule.nodes[static_cast<size_t>(index)];
  switch (n.op) {
    case Op::Var: {
      const ExprBase*& bound = bindings.vars[n.index];
      if (bound != nullptr) return same(bound, e);
      bound = e;
      return true;
    }
    case Op::Constant:
    case Op::Literal: {
      const ExprBase* scalar = e;
      if (e->kind == NodeKind::Broadcast) scalar = static_cast<const Broadcast*>(e)->value.get();
      if (scalar->kind != NodeKind::IntImm) return false;
      const int64_t value = static_cast<const IntImm*>(scalar)->value;
      if (n.op == Op::Literal) return value == n.literal;
      const auto bit = static_cast<uint8_t>(1u << n.index);
      if (bindings.constants_seen & bit) return bindings.constants[n.index] == value;
      bindings.constants_seen |= bit;
      bindings.constants[n.index] = value;
      return true;
    }
    case Op::Binary: {
      if (e->kind != n.kind) return false;
      const Operands o = operands(e);
      if (n.kind != NodeKind::And && n.kind != NodeKind::Or) {
        if (!o.a.dtype().is_int()) return false;  // floats and unsigned obey other laws
        if (is_comparison(n.kind)) bindings.type = o.a.dtype();
      }
      return match(rule, n.a, o.a.get(), bindings) && match(rule, n.b, o.b.get(), bindings);
    }
    case Op::Not:
      return e->kind == NodeKind::Not &&
             match(rule, n.a, static_cast<const Not*>(e)->a.get(), bindings);
    case Op::Select: {
      if (e->kind != NodeKind::Select) return false;
      const Select* s = static_cast<const Select*>(e);
      return match(rule, n.a, s->condition.get(), bindings) &&
             match(rule, n.b, s->true_value.get(), bindings) &&
             match(rule, n.c, s->false_value.get(), bindings);
    }
    default:
      return false;
  }
}

// Kinds that a pattern's operand can have, as a bit set.
uint32_t operand_kinds(const RuleNode& n) {
  const auto bit = [](NodeKind k) { return uint32_t{1} << static_cast<unsigned>(k); };
  switch (n.op) {
    case Op::Var:
      return ~uint32_t{0};
    case Op::Constant:
    case Op::Literal:
      return bit(NodeKind::IntImm) | bit(NodeKind::Broadcast);
    default:
      return bit(n.kind);
  }
}

}  // namespace

static_assert(static_cast<int>(NodeKind::ProducerLoad) < 32, "kinds of expressions in one word");

const RuleTable& RuleTable::get() {
  static const RuleTable table;
  return table;
}

RuleTable::RuleTable() {
  rules_.reserve(std::size(kRules));
  for (std::string_view text : kRules) rules_.push_back(RuleParser(text).parse());
  for (size_t i = 0; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    const RuleNode& pattern = rule.nodes[static_cast<size_t>(rule.pattern)];
    Root& root = roots_[static_cast<size_t>(pattern.kind)];
    const size_t slot = root.rules.size();
    TW_CHECK(slot < kWords * 64, "more rules of one kind than the index holds");
    root.rules.push_back(static_cast<uint16_t>(i));
    const auto fill = [&](int16_t operand, Mask& mask) {
      if (operand < 0) return;
      const uint32_t kinds = operand_kinds(rule.nodes[static_cast<size_t>(operand)]);
      for (size_t k = 0; k < kKinds; ++k) {
        if (kinds >> k & 1) mask[k][slot / 64] |= uint64_t{1} << (slot % 64);
      }
    };
    fill(pattern.a, root.first);
    fill(pattern.b, root.second);
  }
}

bool RuleTable::match_root(const Rule& rule, const ExprBase* a, const ExprBase* b,
                           const ExprBase* c, Bindings& bindings) {
  const RuleNode& n = rule.nodes[static_cast<size_t>(rule.pattern)];
  bindings.type = n.op == Op::Select ? b->dtype : a->dtype;
  return match(rule, n.a, a, bindings) && (n.b < 0 || match(rule, n.b, b, bindings)) &&
         (n.c < 0 || match(rule, n.c, c, bindings));
}

bool is_binary(NodeKind kind) { return kind >= NodeKind::Add && kind <= NodeKind::Or; }

Operands operands(const ExprBase* e) {
  switch (e->kind) {
#define BINARY_NODE(Name)                        \
  case NodeKind::Name: {                         \
    const Name* n = static_cast<const Name*>(e); \
    return {n->a, n->b};                         \
  }
#include "ir/binary_nodes.def"
#undef BINARY_NODE
    default:
      raise({.code = ErrorCode::Internal, .what = "not a binary operation"});
  }
}

namespace {

// `equal` compares parts that stand in several places once, and takes longer to begin.
bool same_within(const ExprBase* a, const ExprBase* b, int& steps) {
  if (a == b) return true;
  if (a->kind != b->kind || a->dtype != b->dtype) return false;
  if (is_binary(a->kind) && --steps >= 0) {
    const Operands x = operands(a), y = operands(b);
    return same_within(x.b.get(), y.b.get(), steps) && same_within(x.a.get(), y.a.get(), steps);
  }
  switch (a->kind) {
    case NodeKind::Variable:
      return false;
    case NodeKind::IntImm:
      return static_cast<const IntImm*>(a)->value == static_cast<const IntImm*>(b)->value;
    default:
      return equal(Expr::of(a), Expr::of(b));
  }
}

}  // namespace

bool same(const ExprBase* a, const ExprBase* b) {
  int steps = 200;
  return same_within(a, b, steps);
}

}  // namespace tw::arithmetic
