// SPDX-License-Identifier: Apache-2.0
// Values that go into and come out of the interpreter: buffers, and intrinsics applied to values.
#include <fmt/format.h>

#include "ir/interpret_program.h"
#include "ir/scalar.h"
#include "runtime/element.h"
#include "runtime/error.h"

namespace tw {
namespace interpreter {

using scalar::of_float;
using scalar::of_int;
using scalar::Scalar;

Scalar from_element(InterpreterBuffer::Element e) { return {.i = e.i}; }
InterpreterBuffer::Element to_element(Scalar s) { return {.i = s.i}; }

Value to_value(DType type, Scalar s) {
  Value v{.type = type.element()};
  if (type.is_float()) {
    v.f = s.f;
  } else {
    v.i = s.i;
  }
  return v;
}

Scalar to_scalar(const Value& v) { return v.type.is_float() ? of_float(v.f) : of_int(v.i); }

}  // namespace interpreter

InterpreterBuffer::InterpreterBuffer(DType element, int64_t size)
    : element_(element.element()),
      values_(static_cast<size_t>(size)),
      written_(static_cast<size_t>(size), 0) {}

InterpreterBuffer InterpreterBuffer::from_bytes(DType element, const void* data, int64_t size) {
  InterpreterBuffer buffer(element, size);
  const auto* bytes = static_cast<const unsigned char*>(data);
  const DType type = buffer.element_;
  for (int64_t k = 0; k < size; ++k) {
    const void* at = bytes + k * type.element_bytes();
    Element e;
    if (type.is_float()) {
      e.f = load_as_double(at, type);
    } else {
      e.i = load_as_int(at, type);
    }
    buffer.set_raw(k, e);
  }
  return buffer;
}

Value InterpreterBuffer::at(int64_t index) const {
  TW_CHECK(index >= 0 && index < size() && written(index), "an element that was never written");
  return interpreter::to_value(element_, interpreter::from_element(raw(index)));
}

void InterpreterBuffer::set(int64_t index, const Value& v) {
  TW_CHECK(index >= 0 && index < size(), "index out of range");
  set_raw(index,
          interpreter::to_element(scalar::convert(v.type, element_, interpreter::to_scalar(v))));
}

void InterpreterBuffer::copy_to(void* bytes) const {
  auto* out = static_cast<unsigned char*>(bytes);
  for (int64_t k = 0; k < size(); ++k) {
    void* at = out + k * element_.element_bytes();
    const Element e = written(k) ? raw(k) : Element{.i = 0};
    if (element_.is_float()) {
      store_double(at, element_, e.f);
    } else {
      store_int(at, element_, e.i);
    }
  }
}

Value apply_intrinsic(const Call& call, const std::vector<Value>& args) {
  const Intrinsic* known = find_intrinsic(call.name);
  if (known == nullptr) {
    raise({.code = ErrorCode::UnknownIntrinsic,
           .what = fmt::format("unknown intrinsic '{}'", call.name),
           .legal = "the names in ir/intrinsics.def"});
  }
  std::vector<scalar::Scalar> values;
  std::vector<DType> types;
  for (const Value& v : args) {
    values.push_back(interpreter::to_scalar(v));
    types.push_back(v.type);
  }
  if (call.name == "if_then_else" && args.size() == 3) return args[0].i != 0 ? args[1] : args[2];
  if (known->arity >= 0 && static_cast<size_t>(known->arity) != args.size()) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("'{}' applied to {} arguments", call.name, args.size()),
           .legal = fmt::format("{} arguments", known->arity)});
  }
  const DType type = call.type.element();
  return interpreter::to_value(type, scalar::apply(*known, type, values.data(), types.data(),
                                                   static_cast<int>(args.size())));
}

}  // namespace tw
