// SPDX-License-Identifier: Apache-2.0
// The table of all operators: name, parameters, documentation and function of each, from which the
// functions of Python, their stubs and docs/operators.md are made. A row stands beside its
// function: each file of operators returns its rows, and operators() has them all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "schedule/topi/common.h"
#include "schedule/topi/slice.h"

namespace tw::topi {

enum class ParameterType : uint8_t {
#define PARAMETER_TYPE(name, type, annotation, legal) name,
#include "schedule/topi/parameter_types.def"
#undef PARAMETER_TYPE
};
// How Python annotates it, and what errors call legal.
std::string_view annotation_of(ParameterType type);
std::string_view legal_of(ParameterType type);

// An argument, or the default of a parameter; monostate is Python's None.
using Value = std::variant<std::monostate, bool, int64_t, double, std::string, DType, Expr,
                           std::vector<Expr>, Tensor, std::vector<Tensor>, std::vector<int64_t>,
                           std::vector<int>, std::vector<double>, Padding>;
using Result = std::variant<Tensor, Expr, std::vector<Tensor>>;

// What a row writes of a parameter. Without `initial` it must be given.
struct ParameterText {
  std::string_view name;
  std::string_view doc = {};
  std::optional<Value> initial = {};
};
struct Parameter : ParameterText {
  ParameterType type = ParameterType::Tensor;
  bool optional = false;  // None is legal
};

struct Operator {
  std::string_view module;  // "topi", "topi.nn"
  std::string_view name;    // TVM's
  std::vector<Parameter> parameters;
  // What it computes; shapes, types, errors and source.
  std::string_view doc;
  // An argument for each parameter, of the parameter's type.
  std::function<Result(std::span<const Value>)> apply;

  std::string full_name() const;  // "topi.nn.softmax"
};

const std::vector<Operator>& operators();
// By full name; null when there is none.
const Operator* find_operator(std::string_view full_name);

namespace detail {

// A C++ type of parameters: its row in parameter_types.def, and how a value becomes it.
template <class T>
struct ParameterOf;
#define PARAMETER_TYPE(name, Type, annotation, legal)           \
  template <>                                                   \
  struct ParameterOf<Type> {                                    \
    static constexpr ParameterType kType = ParameterType::name; \
    static constexpr bool kOptional = false;                    \
    static Type get(const Value& v) { return take<Type>(v); }   \
  };
template <class T>
T take(const Value& v) {
  if constexpr (std::is_same_v<T, Operand>) {
    const Tensor* tensor = std::get_if<Tensor>(&v);
    return tensor != nullptr ? Operand(*tensor) : Operand(std::get<Expr>(v));
  } else if constexpr (std::is_same_v<T, Sections>) {
    const int64_t* parts = std::get_if<int64_t>(&v);
    return parts != nullptr ? Sections(*parts) : Sections(std::get<std::vector<int64_t>>(v));
  } else {
    return std::get<T>(v);
  }
}
#include "schedule/topi/parameter_types.def"
#undef PARAMETER_TYPE
template <class T>
struct ParameterOf<std::optional<T>> : ParameterOf<T> {
  static constexpr bool kOptional = true;
  static std::optional<T> get(const Value& v) {
    if (std::holds_alternative<std::monostate>(v)) return std::nullopt;
    return ParameterOf<T>::get(v);
  }
};

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  static constexpr size_t kCount = sizeof...(A);
  static void describe(std::vector<Parameter>& parameters) {
    size_t k = 0;
    ((parameters[k].type = ParameterOf<std::decay_t<A>>::kType,
      parameters[k].optional = ParameterOf<std::decay_t<A>>::kOptional, ++k),
     ...);
  }
  template <class F>
  static Result call(const F& function, std::span<const Value> values) {
    return [&]<size_t... K>(std::index_sequence<K...>) -> Result {
      return function(ParameterOf<std::decay_t<A>>::get(values[K])...);
    }(std::make_index_sequence<kCount>());
  }
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};

// Internal unless a row has a text for each parameter of its function.
void require_texts(std::string_view name, size_t texts, size_t parameters);

}  // namespace detail

// A row. Types of parameters are those of the function's, which may be a lambda where names or
// arguments in Python are not those in C++.
template <class F>
Operator make_operator(std::string_view module, std::string_view name, F function,
                       const std::vector<ParameterText>& texts, std::string_view doc) {
  using S = detail::Signature<F>;
  detail::require_texts(name, texts.size(), S::kCount);
  std::vector<Parameter> parameters;
  for (const ParameterText& text : texts) parameters.push_back({text});
  S::describe(parameters);
  return {.module = module,
          .name = name,
          .parameters = std::move(parameters),
          .doc = doc,
          .apply = [function](std::span<const Value> values) { return S::call(function, values); }};
}

}  // namespace tw::topi
