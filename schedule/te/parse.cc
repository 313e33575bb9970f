// SPDX-License-Identifier: Apache-2.0
// Reads the text that schedule/te/text.cc prints. The grammar of a program is here, a line an
// operation; expressions are read by ir/parse.
#include "ir/parse.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <map>

#include "ir/expr.h"
#include "ir/words.h"
#include "runtime/error.h"
#include "runtime/read_number.h"
#include "schedule/te/extern.h"
#include "schedule/te/placeholder.h"
#include "schedule/te/scan.h"
#include "schedule/te/start.h"
#include "schedule/te/tensor_compute.h"
#include "schedule/te/text.h"

namespace tw::te {
namespace {

// One line, read from left to right.
class Line {
 public:
  Line(std::string_view text, int number) : text_(text), number_(number) {}

  [[noreturn]] void fail(std::string what, std::string legal, size_t at) const {
    raise({.code = ErrorCode::ParseError,
           .what = std::move(what),
           .where = fmt::format("{}:{}", number_, at + 1),
           .legal = std::move(legal)});
  }
  [[noreturn]] void expected(std::string legal) {
    skip_spaces();
    fail(at_end() ? "found the end of the line" : fmt::format("found '{}'", next_word()),
         std::move(legal), at_);
  }

  bool at_end() const { return at_ >= text_.size(); }
  size_t position() const { return at_; }
  int number() const { return number_; }
  void skip_spaces() {
    while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool peek(std::string_view symbol) {
    skip_spaces();
    return text_.substr(at_).starts_with(symbol);
  }
  bool accept(std::string_view symbol) {
    if (!peek(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!accept(symbol)) expected(fmt::format("'{}'", symbol));
  }
  void expect_end() {
    skip_spaces();
    if (!at_end()) expected("the end of the line");
  }
  std::string_view word(std::string_view what) {
    skip_spaces();
    const std::string_view w = next_word();
    if (!words::is_identifier(w)) expected(std::string(what));
    at_ += w.size();
    return w;
  }
  // A string with its quotes.
  std::string_view quoted() {
    skip_spaces();
    if (!peek("\"")) expected("a string in quotes");
    const size_t start = at_;
    skip_string();
    return text_.substr(start, ++at_ - start);
  }
  // The text up to the next comma or bracket that closes what is open here.
  std::string_view expression(size_t& start) {
    skip_spaces();
    start = at_;
    int depth = 0;
    for (; !at_end(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
      } else if (c == '(' || c == '[' || c == '{') {
        ++depth;
      } else if (c == ')' || c == ']' || c == '}') {
        if (depth-- == 0) break;
      } else if (c == ',' && depth == 0) {
        break;
      }
    }
    if (at_ == start) expected("an expression");
    return text_.substr(start, at_ - start);
  }

 private:
  // An identifier, or the one character that is none.
  std::string_view next_word() const {
    size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) ||
                                  text_[end] == '_' || text_[end] == '.')) {
      ++end;
    }
    return text_.substr(at_, std::max(end, at_ + 1) - at_);
  }
  // Leaves the position on the closing quote.
  void skip_string() {
    const size_t start = at_;
    for (++at_; !at_end() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    if (at_end()) fail("a string without an end", "a closing '\"'", start);
  }

  std::string_view text_;
  int number_;
  size_t at_ = 0;
};

using NamedReduction = Expr (*)(const Expr&, const std::vector<IterVar>&, const Expr&);
NamedReduction find_reduction(std::string_view name) {
  if (name == "sum") return &sum;
  if (name == "prod") return &prod;
  if (name == "max") return &max;
  if (name == "min") return &min;
  return nullptr;
}

constexpr std::string_view kDefinitions =
    "'var', 'placeholder', 'compute', 'tensor_compute', 'scan' or 'extern'";

class Reader {
 public:
  Program program(std::string_view text) {
    int number = 0;
    bool header = false;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      Line line(text.substr(0, end), ++number);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      line.skip_spaces();
      if (line.at_end() || line.peek("#")) continue;
      if (!header) {
        read_header(line);
        header = true;
      } else {
        read_line(line);
      }
    }
    if (!header) Line("", 1).expected("'te 1'");
    if (program_.outputs.empty()) Line("", number + 1).expected("a line 'outputs …'");
    return std::move(program_);
  }

 private:
  void read_header(Line& line) {
    if (line.word("'te 1'") != "te") line.fail("this is no te text", "a first line 'te 1'", 0);
    size_t start;
    const std::string_view version = line.expression(start);
    if (version != "1") {
      line.fail(fmt::format("version {} of te text", version), "version 1", start);
    }
  }

  void read_line(Line& line) {
    const size_t start = line.position();
    const std::string name(line.word("a definition, 'arguments' or 'outputs'"));
    if (line.accept("=")) {
      try {
        return define(line, name, start);
      } catch (const UserError& e) {
        // What a line builds may be wrong though it reads well.
        if (!e.info().where.empty()) throw;
        ErrorInfo info = e.info();
        info.where = fmt::format("{}:1", line.number());
        raise(std::move(info));
      }
    }
    if (name != "arguments" && name != "outputs") line.expected("'='");
    std::vector<Tensor>& list = name == "outputs" ? program_.outputs : program_.arguments;
    for (line.skip_spaces(); !line.at_end(); line.skip_spaces()) list.push_back(read_tensor(line));
  }

  Tensor read_tensor(Line& line) const {
    const size_t at = (line.skip_spaces(), line.position());
    const std::string name(line.word("the name of a tensor"));
    const auto it = tensors_.find(name);
    if (it != tensors_.end()) return it->second;
    line.fail(fmt::format("unknown tensor '{}'", name), "a tensor defined above", at);
  }

  // "key=[A, B.v1]"
  std::vector<Tensor> read_tensors(Line& line, std::string_view key) const {
    line.expect(key);
    line.expect("=");
    line.expect("[");
    std::vector<Tensor> list;
    if (line.accept("]")) return list;
    do {
      list.push_back(read_tensor(line));
    } while (line.accept(","));
    line.expect("]");
    return list;
  }

  void define(Line& line, const std::string& name, size_t at) {
    const size_t kind_at = (line.skip_spaces(), line.position());
    const std::string_view kind = line.word(kDefinitions);
    line.expect("(");
    if (kind == "var") {
      define_variable(line, name, at);
    } else if (kind == "placeholder") {
      define_operation(line, read_placeholder(line, name), name, at);
    } else if (kind == "compute") {
      define_operation(line, read_compute(line, name), name, at);
    } else if (kind == "tensor_compute") {
      define_operation(line, read_tensor_compute(line, name), name, at);
    } else if (kind == "extern") {
      define_operation(line, read_extern(line, name), name, at);
    } else if (kind == "scan") {
      define_operation(line, read_scan(line, name), name, at);
    } else {
      line.fail(fmt::format("unknown operation '{}'", kind), std::string(kDefinitions), kind_at);
    }
    line.expect_end();
  }

  void define_variable(Line& line, const std::string& name, size_t at) {
    const DType type = read_type(line);
    line.expect(")");
    if (!scope_.variables.emplace(name, Var(name, type)).second) duplicate(line, name, at);
  }

  void define_operation(Line& line, const Operation& op, const std::string& name, size_t at) {
    if (!scope_.producers.emplace(name, op).second) duplicate(line, name, at);
    for (int k = 0; k < op->num_outputs(); ++k) {
      const bool several = op->num_outputs() != 1;
      tensors_[several ? fmt::format("{}.v{}", name, k) : name] = op.output(k);
    }
  }

  [[noreturn]] static void duplicate(Line& line, const std::string& name, size_t at) {
    line.fail(fmt::format("'{}' is defined twice", name), "a name of its own for each definition",
              at);
  }

  static DType read_type(Line& line) {
    const size_t at = (line.skip_spaces(), line.position());
    const std::string_view word = line.word("an element type");
    if (!words::is_dtype(word)) {
      line.fail(fmt::format("unknown element type '{}'", word), "float32, int8, bool, …", at);
    }
    return parse_dtype(word);
  }

  static Expr read_expr(Line& line, ParseScope& scope) {
    size_t start;
    const std::string_view text = line.expression(start);
    scope.line = line.number();
    scope.column = static_cast<int>(start) + 1;
    return parse_expr(text, scope);
  }

  static std::vector<Expr> read_list(Line& line, ParseScope& scope) {
    std::vector<Expr> list;
    line.expect("[");
    if (line.accept("]")) return list;
    do {
      list.push_back(read_expr(line, scope));
    } while (line.accept(","));
    line.expect("]");
    return list;
  }

  Operation read_placeholder(Line& line, const std::string& name) {
    const DType type = read_type(line);
    line.expect(",");
    const std::vector<Expr> shape = read_list(line, scope_);
    Line ahead = line;
    const bool constant = ahead.accept(",") && ahead.accept("constant");
    if (constant) line = ahead;
    const Tensor t = placeholder(shape, type, name, constant);
    std::string tag;
    Attributes attributes;
    read_annotations(line, tag, attributes);
    if (tag.empty() && attributes.empty()) return t.op();
    auto* node = new PlaceholderNode(static_cast<const PlaceholderNode&>(*t.op()));
    node->tag = tag;
    node->attributes = attributes;
    return Operation(node);
  }

  Operation read_compute(Line& line, const std::string& name) {
    Bodies b = read_bodies(line);
    return compute_op(name, std::move(b.axis), std::move(b.body), b.tag, b.attributes);
  }

  // tensor_compute("vadd", 1, 0, [i: 4, j: 16], (A(i, j) + B(i, j)))
  Operation read_tensor_compute(Line& line, const std::string& name) {
    const std::string intrin = read_string(line);
    line.expect(",");
    const size_t data = read_count(line);
    line.expect(",");
    const size_t reduction = read_count(line);
    line.expect(",");
    Bodies b = read_bodies(line);
    return tensor_compute_op(name, intrin, data, reduction, std::move(b.axis), std::move(b.body),
                             b.tag, b.attributes);
  }

  size_t read_count(Line& line) {
    const size_t at = (line.skip_spaces(), line.position());
    const auto count = as_const_int(read_expr(line, scope_));
    if (!count || *count < 0) line.fail("no number of axes", "0, 1, …", at);
    return static_cast<size_t>(*count);
  }

  // What stands in the parenthesis of a compute.
  struct Bodies {
    std::vector<IterVar> axis;
    std::vector<Expr> body;
    std::string tag;
    Attributes attributes;
  };
  Bodies read_bodies(Line& line) {
    ParseScope scope = scope_;
    std::vector<IterVar> axis = read_axes(line, scope, IterKind::DataParallel), reduce_axes;
    line.expect(",");
    if (line.peek("reduce [")) {
      line.expect("reduce");
      reduce_axes = read_axes(line, scope, IterKind::Reduction);
      line.expect(",");
    }
    std::vector<Expr> body;
    if (!reduce_axes.empty()) {
      body = read_reduction(line, scope, reduce_axes);
      if (line.accept(", init=")) body = starting_from(body, read_list(line, scope));
    } else if (line.peek("[")) {
      body = read_list(line, scope);
    } else {
      body.push_back(read_expr(line, scope));
    }
    Bodies result{.axis = std::move(axis), .body = std::move(body), .tag = {}, .attributes = {}};
    read_annotations(line, result.tag, result.attributes);
    return result;
  }

  Operation read_scan(Line& line, const std::string& name) {
    const std::vector<Tensor> init = read_tensors(line, "init");
    line.expect(",");
    const std::vector<Tensor> update = read_tensors(line, "update");
    line.expect(",");
    const std::vector<Tensor> state = read_tensors(line, "state");
    std::vector<Tensor> inputs;
    Line ahead = line;
    if (ahead.accept(",") && ahead.peek("inputs")) {
      line.expect(",");
      inputs = read_tensors(line, "inputs");
    }
    std::string tag;
    Attributes attributes;
    read_annotations(line, tag, attributes);
    return scan_op(name, init, update, state, inputs, tag, attributes);
  }

  // extern(inputs=[A], outputs=[float32: [4, n]], memory=[A, E], body="…")
  Operation read_extern(Line& line, const std::string& name) {
    ExternParts parts{.name = name, .inputs = read_tensors(line, "inputs")};
    ParseScope scope = scope_;
    line.expect(",");
    line.expect("outputs=[");
    while (!line.accept("]")) {
      if (!parts.outputs.empty()) line.expect(",");
      const DType type = read_type(line);
      line.expect(":");
      parts.outputs.push_back({read_list(line, scope), type});
    }
    line.expect(",");
    line.expect("memory=[");
    const size_t tensors = parts.inputs.size() + parts.outputs.size();
    for (size_t k = 0; k < tensors; ++k) {
      if (k != 0) line.expect(",");
      const std::string buffer(line.word("the name of a tensor's memory"));
      const DType type = k < parts.inputs.size() ? parts.inputs[k].dtype()
                                                 : parts.outputs[k - parts.inputs.size()].dtype;
      parts.memory.push_back(
          scope.variables.emplace(buffer, buffer_var(buffer, type)).first->second);
    }
    line.expect("]");
    line.expect(",");
    line.expect("body=");
    const std::string body = read_string(line);
    scope.line = line.number();
    scope.column = 1;
    parts.body = parse_stmt(body, scope);
    read_annotations(line, parts.tag, parts.attributes);
    return extern_op(std::move(parts));
  }

  static std::vector<IterVar> read_axes(Line& line, ParseScope& scope, IterKind kind) {
    std::vector<IterVar> axes;
    line.expect("[");
    if (line.accept("]")) return axes;
    do {
      const size_t at = (line.skip_spaces(), line.position());
      const std::string name(line.word("the name of an axis"));
      line.expect(":");
      Range domain = read_domain(line, scope);
      if (kind == IterKind::Reduction) {
        axes.push_back(reduce_axis(domain, name));
      } else {
        axes.emplace_back(domain, Var(name, domain.extent.dtype()), kind);
      }
      if (!scope.variables.emplace(name, axes.back().var()).second) duplicate(line, name, at);
    } while (line.accept(","));
    line.expect("]");
    return axes;
  }

  // An extent, or "(min, extent)".
  static Range read_domain(Line& line, ParseScope& scope) {
    Line ahead = line;
    if (ahead.accept("(")) {
      size_t start;
      ahead.expression(start);
      if (ahead.peek(",")) {
        line.expect("(");
        const Expr min = read_expr(line, scope);
        line.expect(",");
        const Expr extent = read_expr(line, scope);
        line.expect(")");
        return {min, extent};
      }
    }
    const Expr extent = read_expr(line, scope);
    return {make_zero(extent.dtype()), extent};
  }

  static std::vector<Expr> read_reduction(Line& line, ParseScope& scope,
                                          const std::vector<IterVar>& axes) {
    const size_t at = (line.skip_spaces(), line.position());
    const std::string_view name = line.word("a reduction");
    const NamedReduction named = find_reduction(name);
    if (!named && name != "reduce") {
      line.fail(fmt::format("unknown reduction '{}'", name), "sum, prod, max, min or reduce", at);
    }
    line.expect("(");
    if (named) {
      const Expr source = read_expr(line, scope);
      const Expr condition = read_condition(line, scope);
      return {named(source, axes, condition)};
    }
    CommReducer combiner;
    line.expect("identity=");
    combiner.identity = read_list(line, scope);
    ParseScope inner = scope;
    combiner.lhs = read_operands(line, "lhs=", combiner.identity, inner);
    combiner.rhs = read_operands(line, "rhs=", combiner.identity, inner);
    line.expect(",");
    line.expect("result=");
    combiner.result = read_list(line, inner);
    line.expect(",");
    line.expect("source=");
    const std::vector<Expr> sources = read_list(line, scope);
    const Expr condition = read_condition(line, scope);
    return reduce(combiner, sources, axes, condition);
  }

  static Expr read_condition(Line& line, ParseScope& scope) {
    Expr condition;
    if (line.accept(",")) {
      line.expect("where=");
      condition = read_expr(line, scope);
    }
    line.expect(")");
    return condition;
  }

  static std::vector<Var> read_operands(Line& line, std::string_view key,
                                        const std::vector<Expr>& identity, ParseScope& scope) {
    std::vector<Var> vars;
    line.expect(",");
    line.expect(key);
    line.expect("[");
    for (size_t k = 0; k < identity.size(); ++k) {
      if (k != 0) line.expect(",");
      const size_t at = (line.skip_spaces(), line.position());
      const std::string name(line.word("the name of an operand"));
      vars.emplace_back(name, identity[k].dtype());
      if (!scope.variables.emplace(name, vars.back()).second) duplicate(line, name, at);
    }
    line.expect("]");
    return vars;
  }

  // What may follow the body, and the parenthesis that ends the operation.
  static void read_annotations(Line& line, std::string& tag, Attributes& attributes) {
    while (line.accept(",")) {
      if (line.accept("tag=")) {
        tag = read_string(line);
      } else if (line.accept("attributes=")) {
        line.expect("{");
        do {
          const std::string key =
              line.peek("\"") ? read_string(line) : std::string(line.word("a key"));
          line.expect(":");
          attributes[key] = read_attribute(line);
        } while (line.accept(","));
        line.expect("}");
      } else {
        line.expected("'tag=' or 'attributes='");
      }
    }
    line.expect(")");
  }

  static std::string read_string(Line& line) {
    ParseScope nothing;
    const size_t at = (line.skip_spaces(), line.position());
    nothing.line = line.number();
    nothing.column = static_cast<int>(at) + 1;
    return as<StringImm>(parse_expr(line.quoted(), nothing))->value;
  }

  static int64_t read_integer(Line& line) {
    size_t start;
    const std::string_view text = line.expression(start);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      line.fail(fmt::format("'{}' is no integer", text), "an integer of 64 bits", start);
    }
    return value;
  }

  static AttributeValue read_attribute(Line& line) {
    if (line.peek("\"")) return read_string(line);
    if (line.accept("[")) {
      std::vector<int64_t> list;
      if (line.accept("]")) return list;
      do {
        list.push_back(read_integer(line));
      } while (line.accept(","));
      line.expect("]");
      return list;
    }
    Line ahead = line;
    size_t start;
    const std::string text(ahead.expression(start));
    if (text.find_first_of(".ein") == std::string::npos) return read_integer(line);
    const auto value = read_double(text);
    if (!value) line.fail(fmt::format("'{}' is no number", text), "a number", start);
    line = ahead;
    return *value;
  }

  Program program_;
  ParseScope scope_;  // the variables of shapes and all operations
  std::map<std::string, Tensor> tensors_;
};

}  // namespace

Program parse_program(std::string_view text) { return Reader().program(text); }

}  // namespace tw::te
