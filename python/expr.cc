// SPDX-License-Identifier: Apache-2.0
// Expressions: a class for each kind of node, and functions that build them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/intrinsics.h"
#include "ir/print.h"
#include "python/bind.h"

namespace tw::python {

std::string describe(py::handle object) {
  const auto type = py::type::of(object).attr("__name__").cast<std::string>();
  std::string text;
  try {
    text = py::repr(object).cast<std::string>();
  } catch (const py::error_already_set&) {
    return type;  // it cannot show itself
  }
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return fmt::format("{} {}", type, text);
}

py::object wrap(const Expr& e) {
  if (!e.defined()) return py::none();
  switch (e->kind) {
#define EXPR_NODE(Name) \
  case NodeKind::Name:  \
    return py::cast(PyNode<Name>{{e}});
#define STMT_NODE(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
    default:
      return py::cast(PyExpr{e});
  }
}

DType to_dtype(py::handle object) {
  if (py::isinstance<py::str>(object)) {
    const auto name = object.cast<std::string>();
    // Scripts leave out the width, as TVM does; texts of programs never do.
    for (const std::string_view shorthand : {"int", "uint", "float"}) {
      if (name == shorthand) return parse_dtype(name + "32");
    }
    return parse_dtype(name);
  }
  // np.float32 and ml_dtypes.bfloat16 are classes, np.dtype("float32") has a name.
  if (py::hasattr(object, "name"))
    return parse_dtype(py::str(object.attr("name")).cast<std::string>());
  if (py::hasattr(object, "__name__")) {
    return parse_dtype(object.attr("__name__").cast<std::string>());
  }
  raise({.code = ErrorCode::UnknownDType,
         .what = fmt::format("{} is not a type of elements", describe(object)),
         .legal = "a name such as \"float32\", or a NumPy type"});
}

namespace {

// A number of Python as a constant of a type. Beyond int64 only uint64, and floats, have it.
Expr number(py::handle value, DType type) {
  if (!PyLong_Check(value.ptr())) return tw::cast(type, to_expr(value));
  int overflow = 0;
  const int64_t small = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow == 0) return tw::cast(type, make_const(int_type(64), small));
  if (type.is_float()) {
    const double real = PyLong_AsDouble(value.ptr());
    if (!PyErr_Occurred()) return make_const_float(type, real);
  } else if (type.element() == uint_type(64)) {
    const uint64_t bits = PyLong_AsUnsignedLongLong(value.ptr());
    if (!PyErr_Occurred()) return make_const(type, static_cast<int64_t>(bits));
  }
  PyErr_Clear();
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("{} does not fit into {}", describe(value), to_string(type)),
         .legal = "a number that the type has"});
}

}  // namespace

std::optional<Expr> try_expr(py::handle object) {
  if (py::isinstance<PyExpr>(object)) return object.cast<const PyExpr&>().e;
  if (py::isinstance<IterVar>(object)) return object.cast<const IterVar&>().var();
  if (py::isinstance<TensorSlice>(object)) {
    const auto& slice = object.cast<const TensorSlice&>();
    if (std::ranges::any_of(slice.extents, [](const Expr& e) { return e.defined(); })) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("a slice of '{}' is no element", slice.tensor.name()),
             .where = caller(),
             .legal = "an index for each dimension; slices are arguments of tensor intrinsics"});
    }
    return slice.tensor(slice.indices);
  }
  if (py::isinstance<te::Tensor>(object)) {
    const auto& tensor = object.cast<const te::Tensor&>();
    if (tensor.rank() == 0) return tensor(std::vector<Expr>{});
    return std::nullopt;
  }
  if (PyBool_Check(object.ptr())) return make_bool(object.ptr() == Py_True);
  if (PyLong_Check(object.ptr())) {
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
    if (overflow != 0) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("{} does not fit into int64", describe(object)),
             .legal = "tir.const(value, \"uint64\"), or of a float type"});
    }
    const bool small = value >= std::numeric_limits<int32_t>::min() &&
                       value <= std::numeric_limits<int32_t>::max();
    return make_const(int_type(small ? 32 : 64), value);
  }
  // np.float64 is a float too, but says what it is. Its class has the same attributes.
  if (!PyType_Check(object.ptr()) && py::hasattr(object, "dtype") && py::hasattr(object, "item") &&
      py::hasattr(object, "ndim") && object.attr("ndim").cast<int>() == 0) {
    const DType type = to_dtype(object.attr("dtype"));
    const py::object value = object.attr("item")();
    if (type.is_float()) return make_const_float(type, py::float_(value).cast<double>());
    if (type.is_bool()) return make_bool(value.cast<bool>());
    return number(value, type);
  }
  if (PyFloat_Check(object.ptr())) {
    return make_const_float(float_type(32), PyFloat_AsDouble(object.ptr()));
  }
  if (!PyUnicode_Check(object.ptr()) && PyIndex_Check(object.ptr())) {
    const auto integer = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
    if (integer) return try_expr(integer);
    PyErr_Clear();  // an array of several elements has the method, and raises
  }
  return std::nullopt;
}

Expr to_expr(py::handle object) {
  if (auto e = try_expr(object)) return *e;
  std::string legal = "an expression, an axis, or a number";
  if (py::isinstance<te::Tensor>(object)) legal = "an element of the tensor, such as A[i, j]";
  raise({.code = ErrorCode::TypeMismatch,
         .what = fmt::format("{} is not an expression", describe(object)),
         .legal = legal});
}

namespace {

// A condition asked for its truth: constants have one, equalities compare identities, so that
// `axis in list` works.
bool truth(const Expr& e) {
  if (auto value = as_const_int(e)) return *value != 0;
  if (const Equal* op = as<Equal>(e)) return op->a.same_as(op->b);
  if (const NotEqual* op = as<NotEqual>(e)) return !op->a.same_as(op->b);
  raise({.code = ErrorCode::TypeMismatch,
         .what =
             fmt::format("the value of {} is not known while the program is written", to_string(e)),
         .legal =
             "te.if_then_else or tir.Select instead of if, te.all and te.any instead of and, or"});
}

// Conditions are bool: what else is true of a number, the program has to say.
const Expr& condition(const Expr& e, const char* operation) {
  if (e.dtype().is_bool()) return e;
  raise({.code = ErrorCode::TypeMismatch,
         .what = fmt::format("{} of {}, of type {}", operation, to_string(e), to_string(e.dtype())),
         .legal = "a bool, such as a comparison"});
}

// What a call calls, by TVM's name.
struct Op {
  std::string name;
  bool operator==(const Op&) const = default;
};

std::string operator_name(const Call& call) {
  const bool pure = call.call_kind == CallKind::PureExtern;
  if (!pure && call.call_kind != CallKind::Extern) return "tir." + call.name;
  const bool llvm = call.name.starts_with("llvm.");
  return fmt::format("tir.call_{}{}{}", llvm ? "llvm_" : "", pure ? "pure_" : "",
                     llvm ? "intrin" : "extern");
}

void bind_op(py::module_& m) {
  py::class_<Op>(m, "Op", "What a call calls: an intrinsic, or a way of calling C functions.")
      .def_static(
          "get",
          [](const std::string& name) {
            constexpr std::string_view kPrefix = "tir.";
            const bool known =
                name.starts_with(kPrefix) &&
                (find_intrinsic(name.substr(kPrefix.size())) != nullptr ||
                 name == "tir.call_extern" || name == "tir.call_pure_extern" ||
                 name == "tir.call_llvm_intrin" || name == "tir.call_llvm_pure_intrin");
            if (known) return Op{name};
            raise({.code = ErrorCode::UnknownIntrinsic,
                   .what = fmt::format("no operator '{}'", name),
                   .legal = "tir. and a name of ir/intrinsics.def"});
          },
          py::arg("op_name"), "The operator of a name such as \"tir.exp\".")
      .def_readonly("name", &Op::name, "Such as \"tir.exp\".")
      .def(
          "same_as", [](const Op& a, const Op& b) { return a == b; }, py::arg("other"))
      .def("__eq__", [](const Op& a,
                        py::handle b) { return py::isinstance<Op>(b) && a == b.cast<const Op&>(); })
      .def("__hash__", [](const Op& self) { return std::hash<std::string>()(self.name); })
      .def("__repr__", [](const Op& self) { return fmt::format("Op({})", self.name); });
}

template <class T>
auto node_class(py::module_& m, const char* name) {
  return py::class_<PyNode<T>, PyExpr>(m, name);
}
template <class T, class M>
void field(py::class_<PyNode<T>, PyExpr>& cls, const char* name, M T::* member) {
  cls.def_property_readonly(name, [member](const PyNode<T>& self) { return self.node().*member; });
}
template <class T>
void binary_class(py::module_& m, const char* name) {
  auto cls = node_class<T>(m, name);
  cls.def(
      py::init([](const Expr& a, const Expr& b) { return PyNode<T>{{make(T{.a = a, .b = b})}}; }),
      py::arg("a"), py::arg("b"));
  field(cls, "a", &T::a);
  field(cls, "b", &T::b);
}

void bind_leaves(py::module_& m) {
  auto var = node_class<Variable>(m, "Var");
  var.def(py::init([](std::string name, DType type) {
            return PyNode<Variable>{{Var(std::move(name), type)}};
          }),
          py::arg("name") = "v", py::arg("dtype") = "int32");
  field(var, "name", &Variable::name);
  auto integer = node_class<IntImm>(m, "IntImm");
  integer.def(py::init([](DType type, const py::int_& value) {
                const Expr e = number(value, type);
                if (is<IntImm>(e)) return PyNode<IntImm>{{e}};
                raise({.code = ErrorCode::TypeMismatch,
                       .what = fmt::format("an integer constant of type {}", to_string(type)),
                       .legal = "a type of integers, or bool"});
              }),
              py::arg("dtype"), py::arg("value"));
  // What is stored of a uint64 are its bits.
  const auto value_of = [](const PyNode<IntImm>& self) -> py::int_ {
    const IntImm& n = self.node();
    if (n.type.is_uint()) return static_cast<uint64_t>(n.value);
    return n.value;
  };
  integer.def_property_readonly("value", value_of);
  integer.def("__int__", value_of);
  integer.def("__index__", value_of);
  auto real = node_class<FloatImm>(m, "FloatImm");
  real.def(py::init([](DType type, double value) {
             return PyNode<FloatImm>{{make(FloatImm{.type = type, .value = value})}};
           }),
           py::arg("dtype"), py::arg("value"));
  field(real, "value", &FloatImm::value);
  real.def("__float__", [](const PyNode<FloatImm>& self) { return self.node().value; });
  auto text = node_class<StringImm>(m, "StringImm");
  text.def(py::init([](std::string value) {
             return PyNode<StringImm>{{make(StringImm{.value = std::move(value)})}};
           }),
           py::arg("value"));
  field(text, "value", &StringImm::value);
}

void require_scalar(const char* what, const Expr& value, int lanes) {
  if (!value.dtype().is_vector() && lanes > 1 && lanes <= UINT16_MAX) return;
  raise({.code = ErrorCode::TypeMismatch,
         .what = fmt::format("{} of {} to {} lanes", what, to_string(value.dtype()), lanes),
         .where = caller(),
         .legal = "a scalar, and two lanes or more"});
}

// The lanes of the vectors, one after the other, are what the indices count.
void require_lanes(const std::vector<Expr>& vectors, const std::vector<int>& indices) {
  int lanes = 0;
  bool same = !vectors.empty() && !indices.empty();
  for (const Expr& v : vectors) {
    same = same && v.dtype().element() == vectors[0].dtype().element();
    lanes += v.dtype().lanes;
  }
  const bool inside =
      std::ranges::all_of(indices, [&](int index) { return index >= 0 && index < lanes; });
  if (same && inside) return;
  raise(
      {.code = ErrorCode::BadArgument,
       .what = same ? fmt::format("Shuffle takes lanes [{}] of {}", fmt::join(indices, ", "), lanes)
                    : "Shuffle of vectors of several types, or of none",
       .where = caller(),
       .legal = same ? fmt::format("0 to {}", lanes - 1) : "vectors of one type, and indices"});
}

void bind_composites(py::module_& m) {
  auto cast_class = node_class<Cast>(m, "Cast");
  cast_class.def(py::init([](DType type, const Expr& value) {
                   return PyNode<Cast>{{make(Cast{.type = type, .value = value})}};
                 }),
                 py::arg("dtype"), py::arg("value"));
  field(cast_class, "value", &Cast::value);
  binary_class<Add>(m, "Add");
  binary_class<Sub>(m, "Sub");
  binary_class<Mul>(m, "Mul");
  binary_class<Div>(m, "Div");
  binary_class<Mod>(m, "Mod");
  binary_class<FloorDiv>(m, "FloorDiv");
  binary_class<FloorMod>(m, "FloorMod");
  binary_class<Min>(m, "Min");
  binary_class<Max>(m, "Max");
  binary_class<Equal>(m, "EQ");
  binary_class<NotEqual>(m, "NE");
  binary_class<Less>(m, "LT");
  binary_class<LessEqual>(m, "LE");
  binary_class<Greater>(m, "GT");
  binary_class<GreaterEqual>(m, "GE");
  binary_class<And>(m, "And");
  binary_class<Or>(m, "Or");
  auto negation = node_class<Not>(m, "Not");
  negation.def(py::init([](const Expr& a) { return PyNode<Not>{{make(Not{.a = a})}}; }),
               py::arg("a"));
  field(negation, "a", &Not::a);
  auto select_class = node_class<Select>(m, "Select");
  // Both sides come to one type, as operands do.
  select_class.def(py::init([](const Expr& which, const Expr& t, const Expr& f) {
                     const Expr e = select(condition(which, "Select"), t, f);
                     if (is<Select>(e)) return PyNode<Select>{{e}};
                     const DType type = e.dtype();
                     return PyNode<Select>{{make(Select{.condition = which,
                                                        .true_value = tw::cast(type, t),
                                                        .false_value = tw::cast(type, f)})}};
                   }),
                   py::arg("condition"), py::arg("true_value"), py::arg("false_value"));
  field(select_class, "condition", &Select::condition);
  field(select_class, "true_value", &Select::true_value);
  field(select_class, "false_value", &Select::false_value);
  auto load = node_class<Load>(m, "Load");
  field(load, "buffer_var", &Load::buffer);
  field(load, "index", &Load::index);
  field(load, "predicate", &Load::predicate);
  auto ramp = node_class<Ramp>(m, "Ramp");
  ramp.def(py::init([](const Expr& base, const Expr& stride, int lanes) {
             require_scalar("Ramp", base, lanes);
             const Expr step = tw::cast(base.dtype(), stride);
             return PyNode<Ramp>{{make(Ramp{.base = base, .stride = step, .lanes = lanes})}};
           }),
           py::arg("base"), py::arg("stride"), py::arg("lanes"));
  field(ramp, "base", &Ramp::base);
  field(ramp, "stride", &Ramp::stride);
  field(ramp, "lanes", &Ramp::lanes);
  auto broadcast_class = node_class<Broadcast>(m, "Broadcast");
  broadcast_class.def(py::init([](const Expr& value, int lanes) {
                        require_scalar("Broadcast", value, lanes);
                        return PyNode<Broadcast>{{make(Broadcast{.value = value, .lanes = lanes})}};
                      }),
                      py::arg("value"), py::arg("lanes"));
  field(broadcast_class, "value", &Broadcast::value);
  field(broadcast_class, "lanes", &Broadcast::lanes);
  auto shuffle = node_class<Shuffle>(m, "Shuffle");
  shuffle.def(py::init([](const std::vector<Expr>& vectors, const std::vector<int>& indices) {
                require_lanes(vectors, indices);
                return PyNode<Shuffle>{{make(Shuffle{.vectors = vectors, .indices = indices})}};
              }),
              py::arg("vectors"), py::arg("indices"));
  field(shuffle, "vectors", &Shuffle::vectors);
  field(shuffle, "indices", &Shuffle::indices);
  auto call_class = node_class<Call>(m, "Call");
  field(call_class, "name", &Call::name);
  call_class.def_property_readonly(
      "op", [](const PyNode<Call>& self) { return Op{operator_name(self.node())}; });
  field(call_class, "args", &Call::args);
  auto let = node_class<Let>(m, "Let");
  field(let, "var", &Let::var);
  field(let, "value", &Let::value);
  field(let, "body", &Let::body);
  auto reduce = node_class<Reduce>(m, "Reduce");
  field(reduce, "source", &Reduce::source);
  field(reduce, "axis", &Reduce::axis);
  field(reduce, "condition", &Reduce::condition);
  field(reduce, "value_index", &Reduce::value_index);
  auto read = node_class<ProducerLoad>(m, "ProducerLoad");
  read.def_property_readonly("producer", [](const PyNode<ProducerLoad>& self) {
    return wrap(te::Operation(te::as_op<te::OperationNode>(self.node().producer)));
  });
  field(read, "value_index", &ProducerLoad::value_index);
  field(read, "indices", &ProducerLoad::indices);
}

void bind_functions(py::module_& m) {
  m.def(
      "const",
      [](py::handle value, py::object type) {
        return type.is_none() ? to_expr(value) : number(value, to_dtype(type));
      },
      py::arg("value"), py::arg("dtype") = py::none());
  m.def("min_value", &min_value, py::arg("dtype"));
  m.def("max_value", &max_value, py::arg("dtype"));
  m.def("cast", [](DType type, const Expr& e) { return tw::cast(type, e); });
  m.def("saturating_cast", [](DType type, const Expr& e) { return tw::saturating_cast(type, e); });
  m.def("if_then_else", &if_then_else, py::arg("cond"), py::arg("t"), py::arg("f"));
  m.def("select", &select);
  m.def("likely", &likely, py::arg("cond"));
  m.def("div", &div);
  m.def("trunc_div", &trunc_div);
  m.def("trunc_mod", &trunc_mod);
  m.def("fmod", [](const Expr& a, const Expr& b) { return tw::fmod(a, b); });
  m.def("floor_div", &floor_div);
  m.def("floor_mod", &floor_mod);
  m.def("max", [](const Expr& a, const Expr& b) { return tw::max(a, b); });
  m.def("min", [](const Expr& a, const Expr& b) { return tw::min(a, b); });
  m.def("logical_and",
        [](const Expr& a, const Expr& b) { return condition(a, "and") && condition(b, "and"); });
  m.def("logical_or",
        [](const Expr& a, const Expr& b) { return condition(a, "or") || condition(b, "or"); });
  m.def("logical_not", [](const Expr& a) { return !condition(a, "not"); });
  m.def("structural_equal",
        [](const Expr& a, const Expr& b) { return equal(a, b, {.map_free_vars = true}); });
  m.def("unary", &unary);
  // A pure intrinsic with the type of its first argument; arguments of two come to one type.
  m.def("intrinsic", [](const std::string& name, std::vector<Expr> arguments) {
    const Intrinsic* row = find_intrinsic(name);
    if (row == nullptr) {
      raise({.code = ErrorCode::UnknownIntrinsic, .what = fmt::format("no intrinsic '{}'", name)});
    }
    // Mathematics of integers is that of float32, but for what integers have too.
    const bool of_integers = name == "fabs" || name.starts_with("bitwise") ||
                             name.starts_with("shift") || name == "popcount";
    if (arguments.size() == 2) {
      const DType type = (arguments[0] + arguments[1]).dtype();
      for (Expr& e : arguments) e = tw::cast(type, e);
    }
    for (Expr& e : arguments) {
      if (!of_integers && e.dtype().is_integer()) e = tw::cast(float_type(32, e.dtype().lanes), e);
    }
    return tw::call(name, std::move(arguments));
  });
}

}  // namespace

void bind_expr(py::module_& m) {
  py::class_<PyExpr> expr(m, "PrimExpr", "An expression: immutable, compared by identity.");
  expr.def_property_readonly("dtype", [](const PyExpr& self) { return self.e.dtype(); })
      .def("__str__", [](const PyExpr& self) { return to_string(self.e); })
      .def("__repr__", [](const PyExpr& self) { return to_string(self.e); })
      .def("__hash__", [](const PyExpr& self) { return std::hash<const void*>()(self.e.get()); })
      .def("__bool__", [](const PyExpr& self) { return truth(self.e); })
      .def(
          "astype", [](const PyExpr& self, DType type) { return tw::cast(type, self.e); },
          py::arg("dtype"))
      .def(
          "equal",
          [](const PyExpr& self, py::handle other) { return Expr(self.e == to_expr(other)); },
          py::arg("other"))
      .def(
          "same_as",
          [](const PyExpr& self, py::handle other) {
            const auto e = try_expr(other);
            return e && e->same_as(self.e);
          },
          py::arg("other"));

  py::class_<Range>(m, "Range", "The integers from `min` to `min + extent`, exclusive.")
      .def(py::init([](py::object begin, py::object end) {
             if (end.is_none()) return Range{0, to_expr(begin)};
             return Range{to_expr(begin), to_expr(end) - to_expr(begin)};
           }),
           py::arg("begin"), py::arg("end") = py::none())
      .def_static(
          "from_min_extent", [](const Expr& min, const Expr& extent) { return Range{min, extent}; },
          py::arg("min_value"), py::arg("extent"))
      .def_readonly("min", &Range::min)
      .def_readonly("extent", &Range::extent)
      .def("__repr__", [](const Range& r) {
        return fmt::format("range(min={}, extent={})", to_string(r.min), to_string(r.extent));
      });

  py::class_<IterVar> axis(m, "IterVar", "An axis of a computation or of its loops.");
  axis.def_property_readonly("var", [](const IterVar& self) { return self.var(); })
      .def_property_readonly("name", [](const IterVar& self) { return self.name(); })
      .def_property_readonly("dtype", [](const IterVar& self) { return self.var().dtype(); })
      .def_property_readonly("dom",
                             [](const IterVar& self) -> py::object {
                               if (!self->domain.extent.defined()) return py::none();
                               return py::cast(self->domain);
                             })
      .def_property_readonly("iter_type",
                             [](const IterVar& self) {
                               switch (self->kind) {
                                 case IterKind::DataParallel:
                                   return "data_parallel";
                                 case IterKind::Reduction:
                                   return "reduction";
                                 case IterKind::Ordered:
                                   return "ordered";
                                 case IterKind::Opaque:
                                   return "opaque";
                               }
                               return "";
                             })
      .def("same_as", [](const IterVar& self, const IterVar& other) { return self.same_as(other); })
      .def("__hash__",
           [](const IterVar& self) { return std::hash<const void*>()(self.var().get()); })
      .def("__repr__", [](const IterVar& self) {
        if (!self->domain.extent.defined()) return fmt::format("iter_var({})", self.name());
        return fmt::format("iter_var({}, range(min={}, extent={}))", self.name(),
                           to_string(self->domain.min), to_string(self->domain.extent));
      });

  bind_op(m);
  bind_leaves(m);
  bind_composites(m);
  bind_functions(m);
  bind_operators(expr);
  bind_operators(axis);

  py::class_<Stmt>(m, "Stmt", py::dynamic_attr(), "A statement of lowered IR.")
      .def("__str__", [](const Stmt& self) { return to_string(self); })
      .def("__repr__", [](const Stmt& self) { return to_string(self); })
      .def("hash", [](const Stmt& self) { return fmt::format("{:016x}", structural_hash(self)); });
}

}  // namespace tw::python
