// SPDX-License-Identifier: Apache-2.0
// What the binding files share: how Python objects become expressions, types and errors, and one
// function a subject that adds its classes to the module.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <vector>

#include "ir/node.h"
#include "runtime/dtype.h"
#include "runtime/error.h"
#include "schedule/schedule.h"
#include "schedule/te/operation.h"
#include "schedule/te/text.h"

namespace tw::python {

namespace py = pybind11;

// An expression as a Python object; `wrap` makes one of the class of the node's kind.
struct PyExpr {
  Expr e;
};
template <class T>
struct PyNode : PyExpr {
  const T& node() const { return *as<T>(e); }
};
// A[i] of a tensor that has more dimensions; an element once all indices are there.
struct TensorSlice {
  te::Tensor tensor;
  std::vector<Expr> indices;  // where it begins
  std::vector<Expr> extents;  // for each; undefined: that element alone
};

py::object wrap(const Expr& e);
py::object wrap(const te::Operation& op);
// Of a stage: Split, Fuse, …; what is marked on axes, by axis.
py::list relations_of(const StageData& stage);
py::dict axis_attributes_of(const StageData& stage);
// Expressions, axes, rank-0 tensors, full slices, and numbers of Python and NumPy.
std::optional<Expr> try_expr(py::handle object);
// TypeMismatch for anything else.
Expr to_expr(py::handle object);
// The name of a type, or what NumPy's and ml_dtypes' types are called.
DType to_dtype(py::handle object);
// "str 'x'": an object as a message shows it.
std::string describe(py::handle object);

// The operators of Python on a class of expressions or tensors.
void bind_operators(py::object cls);
// A function of topi/elementwise.def: of a tensor a tensor, of an expression an expression.
py::object unary(std::string_view name, py::handle a);

// Sets Python's exception to the class of the error's kind.
void raise_in_python(const Error& error);
// Makes the functions of a module, its classes and its submodules answer arguments of wrong types
// with a UserError (TypeMismatch) in place of pybind11's TypeError.
void guard_functions(py::handle module);

// "conv.py:12": the innermost Python frame outside this package; "" when there is none.
std::string caller();

// Arguments given as tensors: outputs alone, or all arguments in call order.
te::Program to_program(const std::vector<te::Tensor>& tensors);

void bind_errors(py::module_& m);
void bind_expr(py::module_& m);
void bind_te(py::module_& m);
void bind_intrin(py::module_& m);
void bind_topi(py::module_& m);
void bind_schedule(py::module_& m);
void bind_schedule_views(py::module_& m);
void bind_lower(py::module_& m);
void bind_array(py::module_& m);
void bind_module(py::module_& m);
void bind_autotune(py::module_& m);
void bind_seams(py::module_& autotune);
void bind_graph(py::module_& m);
void bind_byoc(py::module_& m);
void bind_byoc_choice(py::module_& m);
void bind_patterns(py::module_& m);
void bind_compiler(py::module_& m);
void bind_executor(py::module_& m);

}  // namespace tw::python

namespace pybind11::detail {

template <>
struct type_caster<tw::Expr> {
  PYBIND11_TYPE_CASTER(tw::Expr, const_name("PrimExpr"));
  bool load(handle source, bool) {
    value = tw::python::to_expr(source);
    return true;
  }
  static handle cast(const tw::Expr& e, return_value_policy, handle) {
    return tw::python::wrap(e).release();
  }
};

template <>
struct type_caster<tw::Var> {
  PYBIND11_TYPE_CASTER(tw::Var, const_name("Var"));
  bool load(handle source, bool) {
    const std::optional<tw::Expr> e = tw::python::try_expr(source);
    if (!e || !tw::is<tw::Variable>(*e)) return false;
    value = tw::Var(tw::as<tw::Variable>(*e));
    return true;
  }
  static handle cast(const tw::Var& v, return_value_policy, handle) {
    return tw::python::wrap(v).release();
  }
};

template <>
struct type_caster<tw::DType> {
  PYBIND11_TYPE_CASTER(tw::DType, const_name("str"));
  bool load(handle source, bool) {
    value = tw::python::to_dtype(source);
    return true;
  }
  static handle cast(tw::DType type, return_value_policy, handle) {
    return str(tw::to_string(type)).release();
  }
};

}  // namespace pybind11::detail
