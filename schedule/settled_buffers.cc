// SPDX-License-Identifier: Apache-2.0
#include "schedule/settled_buffers.h"

#include <fmt/format.h>

#include "ir/arithmetic/analyzer.h"
#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/print.h"
#include "ir/substitute.h"
#include "runtime/c_api.h"
#include "runtime/error.h"

namespace tw {
namespace {

// A number that a buffer declares, and what it is of the tensor.
struct Declared {
  const IntrinBuffer* buffer;
  std::string what;
  Expr declared, is;
};

std::vector<Declared> declarations(const IntrinBuffer& buffer, const std::vector<Expr>& shape,
                                   const std::string& stage) {
  const auto require_rank = [&](size_t count, const char* of) {
    if (count == shape.size()) return;
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("buffer '{}' has {} {} and its tensor {} dimensions", buffer.name,
                               count, of, shape.size()),
           .stage = stage,
           .legal = "one for each dimension"});
  };
  require_rank(buffer.shape.size(), "extents");
  if (!buffer.strides.empty()) require_rank(buffer.strides.size(), "strides");
  std::vector<Declared> all;
  const auto each = [&](const char* what, const std::vector<Expr>& declared,
                        const std::vector<Expr>& is) {
    for (size_t d = 0; d < declared.size(); ++d)
      all.push_back({&buffer, fmt::format("{} {}", what, d), declared[d], is[d]});
  };
  each("extent", buffer.shape, shape);
  each("stride", buffer.strides, compact_strides(shape));
  all.push_back({&buffer, "offset", buffer.elem_offset, make_zero(buffer.elem_offset.dtype())});
  return all;
}

}  // namespace

Stmt aligned(const IntrinBuffer& buffer, const Stmt& statements, const std::string& function) {
  const int64_t bytes = buffer.data_alignment;
  if (bytes <= buffer.dtype.element_bytes()) return statements;
  const DType address = uint_type(64);
  const Expr bits = call(address, "address_bits", {buffer.data}, CallKind::PureIntrinsic);
  const auto text = [](const std::string& t) { return Expr(make(StringImm{.value = t})); };
  const Expr error = call(int_type(32), "argument_error",
                          {TW_CHECK_Alignment, text(function), text(buffer.name), 0,
                           make_const(int_type(64), bytes), cast(int_type(64), bits)},
                          CallKind::Intrinsic);
  const Expr low = call("bitwise_and", {bits, make_const(address, bytes - 1)});
  return make(AssertStmt{.condition = low == make_zero(address),
                         .message = error,
                         .body = make(AttrStmt{.node = buffer.data,
                                               .key = attr::kStorageAlignment,
                                               .value = make_const(address, bytes),
                                               .body = statements})});
}

Stmt settled(const std::vector<IntrinBuffer>& buffers, const std::vector<std::vector<Expr>>& shapes,
             const Stmt& statements, const std::string& stage) {
  std::vector<Declared> all;
  for (size_t k = 0; k < buffers.size(); ++k) {
    const std::vector<Declared> of_one = declarations(buffers[k], shapes[k], stage);
    all.insert(all.end(), of_one.begin(), of_one.end());
  }
  // Variables of the tensors' shapes are what they are.
  VarSet known;
  for (const std::vector<Expr>& shape : shapes) {
    for (const Expr& extent : shape) {
      for (const Var& v : free_vars(extent)) known.insert(v);
    }
  }
  VarMap values;
  for (const Declared& d : all) {
    const Variable* v = as<Variable>(d.declared);
    if (v != nullptr && !known.contains(Var(v))) values.emplace(Var(v), cast(v->type, d.is));
  }
  Analyzer analyzer;
  for (const Declared& d : all) {
    const Expr declared = substitute(d.declared, values);
    if (analyzer.can_prove_equal(cast(d.is.dtype(), declared), d.is)) continue;
    const Expr is = analyzer.simplify(d.is);
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("{} of buffer '{}' is declared as {}, and is {} of the tensor",
                               d.what, d.buffer->name, to_string(d.declared), to_string(is)),
           .stage = stage,
           .legal = fmt::format("{}, or a variable of its own; memory is row-major without gaps",
                                to_string(is))});
  }
  Stmt body = values.empty() ? statements : substitute(statements, values);
  for (size_t k = buffers.size(); k-- > 0;) body = aligned(buffers[k], body, stage);
  return body;
}

}  // namespace tw
