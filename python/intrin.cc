// SPDX-License-Identifier: Apache-2.0
// Tensor intrinsics: buffers, the statements that an intrinsic consists of, the registry.
#include <fmt/format.h>

#include "ir/expr.h"
#include "ir/intrinsics.h"
#include "ir/print.h"
#include "python/bind.h"
#include "schedule/intrin_call.h"
#include "schedule/tensor_intrin.h"

namespace tw::python {
namespace {

std::vector<Expr> to_list(py::handle object) {
  std::vector<Expr> list;
  if (py::isinstance<py::tuple>(object) || py::isinstance<py::list>(object)) {
    for (py::handle e : object) list.push_back(to_expr(e));
  } else {
    list.push_back(to_expr(object));
  }
  return list;
}

Expr lanes_from(const Expr& index, int lanes) {
  if (lanes == 1) return index;
  return make(Ramp{.base = index, .stride = make_const(index.dtype(), 1), .lanes = lanes});
}
// Where the lanes of elements are that are vectors.
Expr element_places(const Expr& index, int lanes) {
  return lanes_from(lanes == 1 ? index : index * make_const(index.dtype(), lanes), lanes);
}

// The number of an element, from one index a dimension, or from one alone counted in strides of 1.
Expr place(const IntrinBuffer& buffer, py::handle begin) {
  const std::vector<Expr> indices = to_list(begin);
  const std::vector<Expr> strides =
      buffer.strides.empty() ? compact_strides(buffer.shape) : buffer.strides;
  Expr index = buffer.elem_offset;
  if (indices.size() == 1 && strides.size() != 1) return index + indices[0];
  if (indices.size() != strides.size()) {
    raise({.code = ErrorCode::IndexCount,
           .what = fmt::format("{} indices for buffer '{}' of {} dimensions", indices.size(),
                               buffer.name, strides.size()),
           .where = caller()});
  }
  for (size_t d = 0; d < indices.size(); ++d) index = index + indices[d] * strides[d];
  return index;
}
// Where a value of `type` begins at a position: elements, or lanes of them side by side.
Expr places_from(const IntrinBuffer& buffer, py::handle begin, DType type) {
  const Expr index = place(buffer, begin);
  return buffer.dtype.is_vector() ? element_places(index, buffer.dtype.lanes)
                                  : lanes_from(index, type.lanes);
}
// Lanes of a buffer of scalars, or an element of one of vectors.
bool holds(const IntrinBuffer& buffer, DType type) {
  return buffer.dtype.is_vector() ? type == buffer.dtype : type.element() == buffer.dtype;
}

Expr vload(const IntrinBuffer& buffer, py::handle begin, const py::object& type) {
  const DType t = type.is_none() ? buffer.dtype : to_dtype(type);
  if (!holds(buffer, t)) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("{} read from buffer '{}' of {}", to_string(t), buffer.name,
                               to_string(buffer.dtype)),
           .where = caller(),
           .legal = "the buffer's type or lanes of it, and tir.reinterpret of them"});
  }
  return make(
      Load{.type = t.element(), .buffer = buffer.data, .index = places_from(buffer, begin, t)});
}
Stmt vstore(const IntrinBuffer& buffer, py::handle begin, const Expr& value) {
  if (!holds(buffer, value.dtype())) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("{} stored in buffer '{}' of {}", to_string(value.dtype()),
                               buffer.name, to_string(buffer.dtype)),
           .where = caller(),
           .legal = "the buffer's type or lanes of it"});
  }
  return make(Store{
      .buffer = buffer.data, .value = value, .index = places_from(buffer, begin, value.dtype())});
}

IntrinBuffer declare(const py::object& shape, DType dtype, const std::string& name,
                     const std::optional<Var>& data, const py::object& strides,
                     const py::object& elem_offset, const std::string& scope,
                     int64_t data_alignment, int64_t offset_factor) {
  IntrinBuffer buffer = decl_buffer(to_list(shape), dtype, name,
                                    strides.is_none() ? std::vector<Expr>() : to_list(strides),
                                    offset_factor, scope, data_alignment);
  if (data) buffer.data = *data;
  if (!elem_offset.is_none()) {
    buffer.elem_offset = to_expr(elem_offset);
    if (offset_factor == 0 && !is_zero(buffer.elem_offset)) buffer.offset_factor = 1;
  }
  return buffer;
}

void bind_buffer(py::module_& m) {
  py::class_<IntrinBuffer>(m, "Buffer",
                           "The memory of a tensor, as the statements of an intrinsic address it.")
      .def_property_readonly("data", [](const IntrinBuffer& b) { return b.data; })
      .def_readonly("dtype", &IntrinBuffer::dtype)
      .def_readonly("shape", &IntrinBuffer::shape)
      .def_readonly("strides", &IntrinBuffer::strides)
      .def_readonly("elem_offset", &IntrinBuffer::elem_offset)
      .def_readonly("scope", &IntrinBuffer::scope)
      .def_readonly("data_alignment", &IntrinBuffer::data_alignment)
      .def_readonly("offset_factor", &IntrinBuffer::offset_factor)
      .def_readonly("name", &IntrinBuffer::name)
      .def(
          "access_ptr",
          [](const IntrinBuffer& b, const py::object&, const std::string&, int,
             const Expr& offset) { return address_of(b, offset); },
          py::arg("access_mask"), py::arg("ptr_type") = "handle", py::arg("content_lanes") = 1,
          py::arg("offset") = 0,
          "The address of an element, `offset` after the first, for a call. What may be read and "
          "written there is known from the tensor expression.")
      .def("vload", &vload, py::arg("begin"), py::arg("dtype") = py::none(),
           "The element at a position, or as many from there on as the type has lanes.")
      .def("vstore", &vstore, py::arg("begin"), py::arg("value"),
           "The statement that stores a value, or its lanes, from a position on.")
      .def("__repr__",
           [](const IntrinBuffer& b) { return fmt::format("buffer({}, {})", b.name, b.scope); });
  m.def("decl_buffer", &declare, py::arg("shape"), py::arg("dtype"), py::arg("name"),
        py::arg("data"), py::arg("strides"), py::arg("elem_offset"), py::arg("scope"),
        py::arg("data_alignment"), py::arg("offset_factor"));
}

ForKind for_kind(const std::string& name) {
  for (const ForKind kind :
       {ForKind::Serial, ForKind::Parallel, ForKind::Vectorized, ForKind::Unrolled}) {
    if (to_string(kind) == name) return kind;
  }
  if (name == "serial") return ForKind::Serial;
  if (name == "unroll") return ForKind::Unrolled;
  if (name == "vectorize") return ForKind::Vectorized;
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("there are no loops of kind '{}'", name),
         .where = caller(),
         .legal = "serial, parallel, unroll, vectorize"});
}

void bind_statements(py::module_& m) {
  m.def("evaluate", [](const Expr& value) { return make(Evaluate{.value = value}); });
  m.def("attr_stmt", [](const std::string& key, const Expr& value, const Stmt& body) {
    return make(AttrStmt{.node = {}, .key = key, .value = value, .body = body});
  });
  m.def("let_stmt", [](const Var& var, const Expr& value, const Stmt& body) {
    return make(LetStmt{.var = var, .value = value, .body = body});
  });
  m.def("assert_stmt", [](const Expr& condition, const std::string& message, const Stmt& body) {
    return make(AssertStmt{
        .condition = condition, .message = make(StringImm{.value = message}), .body = body});
  });
  m.def("block", [](const std::vector<Stmt>& list) {
    return list.empty() ? make(Evaluate{.value = make_zero(int_type(32))}) : block(list);
  });
  // Elements by their number; those of a vector type are as many places as they have lanes.
  m.def("load", [](DType type, const Var& buffer, const Expr& index) {
    return make(
        Load{.type = type.element(), .buffer = buffer, .index = element_places(index, type.lanes)});
  });
  m.def("store", [](DType type, const Var& buffer, const Expr& index, const Expr& value) {
    const Expr places = element_places(index, type.lanes);
    const DType stored = type.element().with_lanes(places.dtype().lanes);
    return make(Store{.buffer = buffer, .value = tw::cast(stored, value), .index = places});
  });
  m.def("for_loop", [](const Var& var, const Expr& min, const Expr& extent, const std::string& kind,
                       const Stmt& body) {
    return make(
        For{.var = var, .min = min, .extent = extent, .for_kind = for_kind(kind), .body = body});
  });
  m.def("while_loop", [](const Expr& condition, const Stmt& body) {
    return make(While{.condition = condition, .body = body});
  });
  m.def("if_statement",
        [](const Expr& condition, const Stmt& then_case, const std::optional<Stmt>& other) {
          return make(IfThenElse{
              .condition = condition, .then_case = then_case, .else_case = other.value_or(Stmt())});
        });
  m.def("buffer_var", &buffer_var);
  m.def("allocate", [](const Var& buffer, DType type, const std::vector<Expr>& extents,
                       const std::string& scope, const Stmt& body) {
    return make(
        Allocate{.buffer = buffer, .type = type, .extents = extents, .scope = scope, .body = body});
  });
  m.def("call_extern", [](DType type, const std::string& name, std::vector<Expr> args, bool pure) {
    return tw::call(type, name, std::move(args), pure ? CallKind::PureExtern : CallKind::Extern);
  });
  // An intrinsic of ir/intrinsics.def, with a type.
  m.def("call_intrin", [](DType type, const std::string& name, std::vector<Expr> args) {
    const Intrinsic* row = find_intrinsic(name);
    if (row == nullptr) row = find_printed_intrinsic(name);
    if (row == nullptr) {
      raise({.code = ErrorCode::UnknownIntrinsic,
             .what = fmt::format("no intrinsic '{}'", name),
             .where = caller(),
             .legal = "those of ir/intrinsics.def"});
    }
    return tw::call(type, std::string(row->name), std::move(args), row->kind);
  });
}

TensorIntrin declare_intrin(const std::string& name, const te::Operation& op,
                            const std::vector<IntrinBuffer>& buffers,
                            const std::optional<Stmt>& body, const std::optional<Stmt>& reset,
                            const std::optional<Stmt>& update,
                            const std::vector<Var>& scalar_params) {
  TensorIntrin intrin = make_tensor_intrin({.name = name,
                                            .op = op,
                                            .inputs = op->input_tensors(),
                                            .buffers = buffers,
                                            .body = body.value_or(Stmt()),
                                            .reset = reset.value_or(Stmt()),
                                            .update = update.value_or(Stmt()),
                                            .scalar_params = scalar_params});
  register_tensor_intrin(intrin);
  return intrin;
}

Range one_element(const Expr& index) { return {index, make_const(index.dtype(), 1)}; }

// The slice of a tensor that an argument of a call is; nothing where it is a scalar.
std::optional<TensorRegion> region_of(py::handle argument) {
  TensorRegion result;
  if (py::isinstance<TensorSlice>(argument)) {
    const auto& slice = argument.cast<const TensorSlice&>();
    result.tensor = slice.tensor;
    for (size_t d = 0; d < slice.indices.size(); ++d) {
      result.region.push_back(slice.extents[d].defined() ? Range{slice.indices[d], slice.extents[d]}
                                                         : one_element(slice.indices[d]));
    }
  } else if (py::isinstance<te::Tensor>(argument)) {
    result.tensor = argument.cast<const te::Tensor&>();
  } else {
    const std::optional<Expr> e = try_expr(argument);
    const ProducerLoad* element = e ? as<ProducerLoad>(*e) : nullptr;
    if (element == nullptr) return std::nullopt;
    result.tensor = te::Tensor(te::Operation(te::as_op<te::OperationNode>(element->producer)),
                               element->value_index);
    for (const Expr& index : element->indices) result.region.push_back(one_element(index));
  }
  const std::vector<Expr> shape = result.tensor.shape();
  for (size_t d = result.region.size(); d < shape.size(); ++d)
    result.region.push_back({make_zero(shape[d].dtype()), shape[d]});
  return result;
}

IntrinCall call_intrin(const TensorIntrin& intrin, const py::args& arguments,
                       const py::object& reduce_axis) {
  IntrinCall call{.intrin = intrin, .inputs = {}, .scalars = {}, .reduction = {}};
  for (py::handle argument : arguments) {
    if (auto region = region_of(argument)) {
      call.inputs.push_back(std::move(*region));
    } else {
      call.scalars.push_back(to_expr(argument));
    }
  }
  if (py::isinstance<IterVar>(reduce_axis)) {
    call.reduction.push_back(reduce_axis.cast<IterVar>());
  } else if (!reduce_axis.is_none()) {
    call.reduction = reduce_axis.cast<std::vector<IterVar>>();
  }
  return call;
}

void bind_call(py::module_& m) {
  py::class_<IntrinCall>(m, "TensorIntrinCall",
                         "A tensor intrinsic called on slices, for te.compute.")
      .def_readonly("intrin", &IntrinCall::intrin)
      .def_property_readonly("tensors",
                             [](const IntrinCall& c) {
                               std::vector<te::Tensor> tensors;
                               for (const TensorRegion& r : c.inputs) tensors.push_back(r.tensor);
                               return tensors;
                             })
      .def_property_readonly("regions",
                             [](const IntrinCall& c) {
                               std::vector<std::vector<Range>> regions;
                               for (const TensorRegion& r : c.inputs) regions.push_back(r.region);
                               return regions;
                             })
      .def_readonly("reduce_axis", &IntrinCall::reduction)
      .def_readonly("scalar_inputs", &IntrinCall::scalars);
}

}  // namespace

void bind_intrin(py::module_& m) {
  bind_buffer(m);
  bind_statements(m);
  py::class_<TensorIntrin> intrin(
      m, "TensorIntrin", "What a processor or a library computes at once, for Stage.tensorize.");
  bind_call(m);
  intrin.def_property_readonly("name", [](const TensorIntrin& i) { return i->name; })
      .def_property_readonly("op", [](const TensorIntrin& i) { return wrap(i->op); })
      .def_property_readonly("inputs", [](const TensorIntrin& i) { return i->inputs; })
      .def_property_readonly("buffers", [](const TensorIntrin& i) { return i->buffers; })
      .def_property_readonly(
          "features", [](const TensorIntrin& i) { return i->features; },
          "What the target must have, by LLVM's names.")
      .def_property_readonly("body",
                             [](const TensorIntrin& i) -> py::object {
                               return i->body.defined() ? py::cast(i->body) : py::none();
                             })
      .def_property_readonly("reduce_init",
                             [](const TensorIntrin& i) -> py::object {
                               return i->reset.defined() ? py::cast(i->reset) : py::none();
                             })
      .def_property_readonly("reduce_update",
                             [](const TensorIntrin& i) -> py::object {
                               return i->update.defined() ? py::cast(i->update) : py::none();
                             })
      .def_property_readonly(
          "scalar_params", [](const TensorIntrin& i) { return i->scalar_params; },
          "Variables that stand for expressions of where the intrinsic is used.")
      .def("__call__", &call_intrin, py::arg("reduce_axis") = py::none(),
           "What te.compute makes an operation of: slices of tensors, A[i, 0:16], in the order of "
           "the intrinsic's inputs, and among them expressions for its scalar parameters. "
           "reduce_axis: loops around the calls that add to the same block.")
      .def("__repr__", [](const TensorIntrin& i) {
        return fmt::format("tensor_intrin({}: {})", i->name, expression_text(i->op));
      });
  m.def("decl_tensor_intrin", &declare_intrin);
  m.def(
      "tensor_intrin", [](const std::string& name) { return tensor_intrin(name, caller()); },
      py::arg("name"), "A declared or built-in intrinsic by its name.");
  m.def("tensor_intrin_names", &tensor_intrin_names, "Of all that are declared or built in.");
}

}  // namespace tw::python
