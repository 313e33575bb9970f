// SPDX-License-Identifier: Apache-2.0
// Tensors, operations, and te programs as text.
#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "ir/print.h"
#include "ir/substitute.h"
#include "python/bind.h"
#include "schedule/intrin_call.h"
#include "schedule/settled_buffers.h"
#include "schedule/te/check_body.h"
#include "schedule/te/compute.h"
#include "schedule/te/extern.h"
#include "schedule/te/scan.h"
#include "schedule/te/start.h"
#include "schedule/te/tensor_compute.h"
#include "schedule/topi/common.h"

namespace tw::python {
namespace {

// The operation's class in Python.
struct PlaceholderOp : te::Operation {
  using te::Operation::Operation;
};
struct ComputeOp : te::Operation {
  using te::Operation::Operation;
};
struct TensorComputeOp : te::Operation {
  using te::Operation::Operation;
};
struct ScanOp : te::Operation {
  using te::Operation::Operation;
};
struct ExternOp : te::Operation {
  using te::Operation::Operation;
};

const te::OperationNode& computed(const te::Operation& op) {
  if (op->is_placeholder()) {
    raise({.code = ErrorCode::PlaceholderStage,
           .what = "a placeholder is not computed and has no axes",
           .stage = op.name(),
           .legal = "an operation that computes"});
  }
  return *op;
}

std::vector<IterVar> data_axes(const te::Operation& op) {
  if (te::as_op<te::ExternNode>(op) != nullptr) {
    raise({.code = ErrorCode::BadArgument,
           .what = "it is computed by statements, whose loops are no axes of a schedule",
           .stage = op.name(),
           .legal = "loops that say themselves how they run, such as `for i in parallel(n)` of "
                    "te.hybrid.script and for_range(0, n, kind=\"parallel\") of te.extern; or "
                    "te.compute"});
  }
  return computed(op).data_axes();
}

std::vector<IterVar> reduction_axes(const te::Operation& op) {
  std::vector<IterVar> axes = computed(op).root_axes();
  std::erase_if(axes, [](const IterVar& a) { return a->kind != IterKind::Reduction; });
  return axes;
}

template <class Node>
const Node& node_of(const te::Operation& op, const char* kind) {
  const auto* node = te::as_op<Node>(op);
  if (node == nullptr) {
    raise({.code = ErrorCode::BadArgument,
           .what = "an operation of another kind",
           .stage = op.name(),
           .legal = fmt::format("an operation made by te.{}", kind)});
  }
  return *node;
}

te::Attributes to_attributes(const py::dict& dict) {
  te::Attributes attributes;
  for (const auto& [key, value] : dict) {
    te::AttributeValue& to = attributes[key.cast<std::string>()];
    if (PyLong_Check(value.ptr())) {
      to = value.cast<int64_t>();
    } else if (PyFloat_Check(value.ptr())) {
      to = value.cast<double>();
    } else if (PyUnicode_Check(value.ptr())) {
      to = value.cast<std::string>();
    } else {
      try {
        to = value.cast<std::vector<int64_t>>();
      } catch (const py::cast_error&) {
        raise(
            {.code = ErrorCode::BadArgument,
             .what = fmt::format("attribute '{}' is {}", key.cast<std::string>(), describe(value)),
             .legal = "an integer, a float, a string or a list of integers"});
      }
    }
  }
  return attributes;
}

// The first element and the extent of begin:end.
void add_slice(TensorSlice& to, py::handle slice) {
  const size_t d = to.indices.size();
  if (d >= static_cast<size_t>(to.tensor.rank())) to.tensor(std::vector<Expr>(d + 1, 0));
  const py::object begin = slice.attr("start"), end = slice.attr("stop"), step = slice.attr("step");
  if (!step.is_none()) {
    raise({.code = ErrorCode::BadArgument,
           .what = "a slice of a tensor with a step",
           .stage = to.tensor.name(),
           .where = caller(),
           .legal = "begin:end; topi.strided_slice takes every other element"});
  }
  const Expr whole = to.tensor.shape()[d];
  const Expr first = begin.is_none() ? make_zero(whole.dtype()) : to_expr(begin);
  const Expr extent = (end.is_none() ? whole : to_expr(end)) - first;
  to.indices.push_back(first);
  to.extents.push_back(extent);
}

// A slice, or the element once there is an index for each dimension.
py::object index(TensorSlice slice, py::handle indices) {
  const auto add = [&](py::handle i) {
    if (PySlice_Check(i.ptr())) return add_slice(slice, i);
    slice.indices.push_back(to_expr(i));
    slice.extents.emplace_back();
  };
  if (py::isinstance<py::tuple>(indices) || py::isinstance<py::list>(indices)) {
    for (py::handle i : indices) add(i);
  } else {
    add(indices);
  }
  const bool whole = std::ranges::any_of(slice.extents, [](const Expr& e) { return e.defined(); });
  if (static_cast<int>(slice.indices.size()) < slice.tensor.rank() ||
      (whole && static_cast<int>(slice.indices.size()) == slice.tensor.rank())) {
    return py::cast(std::move(slice));
  }
  return wrap(slice.tensor(slice.indices));
}

std::vector<Expr> to_indices(py::handle object) {
  std::vector<Expr> indices;
  if (py::isinstance<py::tuple>(object) || py::isinstance<py::list>(object)) {
    for (py::handle i : object) indices.push_back(to_expr(i));
  } else {
    indices.push_back(to_expr(object));
  }
  return indices;
}

std::vector<te::Tensor> compute(const std::vector<Expr>& shape, const py::function& f,
                                const std::string& name, const std::string& tag,
                                const py::dict& attributes,
                                const std::vector<std::string>& axis_names) {
  // The dimensions after those that have a name are of the block that an intrinsic computes.
  const size_t loops = axis_names.size();
  te::check_shape(shape, name);
  std::vector<IterVar> axes = te::axes_over(
      {shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(loops)}, axis_names, name);
  py::list arguments;
  for (const IterVar& a : axes) arguments.append(a->var);
  const py::object result = f(*arguments);
  te::Operation op;
  if (py::isinstance<IntrinCall>(result)) {
    const std::vector<Expr> block(shape.begin() + static_cast<std::ptrdiff_t>(loops), shape.end());
    op = called_op(result.cast<const IntrinCall&>(), name, std::move(axes), block, tag,
                   to_attributes(attributes));
  } else {
    if (loops != shape.size()) {
      raise({.code = ErrorCode::IndexCount,
             .what = fmt::format("the function has {} parameters and the shape {} dimensions",
                                 loops, shape.size()),
             .stage = name,
             .where = caller(),
             .legal = fmt::format("{} parameters, one for each axis", shape.size())});
    }
    std::vector<Expr> bodies;
    if (py::isinstance<py::tuple>(result) || py::isinstance<py::list>(result)) {
      for (py::handle e : result) bodies.push_back(to_expr(e));
    } else {
      bodies.push_back(to_expr(result));
    }
    op = te::compute_op(name, std::move(axes), std::move(bodies), tag, to_attributes(attributes));
  }
  return op.outputs();
}

std::vector<te::Tensor> extern_tensors(const std::string& name,
                                       const std::vector<te::Tensor>& inputs,
                                       const std::vector<std::vector<Expr>>& shapes,
                                       const std::vector<DType>& dtypes, const py::list& given,
                                       const Stmt& body,
                                       const std::vector<std::pair<Stmt, std::string>>& lines,
                                       const std::string& tag, const py::dict& attributes) {
  te::ExternParts parts{.name = name,
                        .inputs = inputs,
                        .tag = tag,
                        .attributes = to_attributes(attributes),
                        .where = caller()};
  for (const auto& [statement, line] : lines) parts.lines.emplace(statement.get(), line);
  const auto buffers = given.cast<std::vector<IntrinBuffer>>();
  std::vector<std::vector<Expr>> all;
  for (const te::Tensor& input : inputs) all.push_back(input.shape());
  all.insert(all.end(), shapes.begin(), shapes.end());
  for (const IntrinBuffer& buffer : buffers) parts.memory.push_back(buffer.data);
  for (size_t k = 0; k < shapes.size(); ++k) parts.outputs.push_back({shapes[k], dtypes[k]});
  parts.body = settled(buffers, all, body, name);
  return te::extern_op(std::move(parts)).outputs();
}

Expr reduce_expr(const std::string& name, const Expr& source, const std::vector<IterVar>& axes,
                 py::object where) {
  const Expr condition = where.is_none() ? Expr() : to_expr(where);
  if (name == "sum") return te::sum(source, axes, condition);
  if (name == "prod") return te::prod(source, axes, condition);
  if (name == "max") return te::max(source, axes, condition);
  return te::min(source, axes, condition);
}

std::string shape_text(const te::Tensor& t) {
  std::string text;
  for (const Expr& e : t.shape()) text += (text.empty() ? "" : ", ") + to_string(e);
  return text;
}

void bind_operation(py::module_& m, py::class_<te::Operation>& operation) {
  operation.def_property_readonly("name", [](const te::Operation& op) { return op.name(); })
      .def_property_readonly("tag", [](const te::Operation& op) { return op->tag; })
      .def_property_readonly("attrs",
                             [](const te::Operation& op) {
                               py::dict result;
                               for (const auto& [key, value] : op->attributes)
                                 result[py::str(key)] = value;
                               return result;
                             })
      .def_property_readonly("num_outputs",
                             [](const te::Operation& op) { return op->num_outputs(); })
      .def_property_readonly("input_tensors",
                             [](const te::Operation& op) { return op->input_tensors(); })
      .def(
          "output",
          [](const te::Operation& op, int k) {
            if (k < 0 || k >= op->num_outputs()) {
              raise({.code = ErrorCode::BadArgument,
                     .what = fmt::format("there is no output {}", k),
                     .stage = op.name(),
                     .legal = fmt::format("0 to {}", op->num_outputs() - 1)});
            }
            return op.output(k);
          },
          py::arg("index"))
      .def_property_readonly("axis", &data_axes)
      .def_property_readonly("reduce_axis", &reduction_axes)
      .def_property_readonly(
          "body",
          [](const te::Operation& op) { return node_of<te::ComputeNode>(op, "compute").body; })
      .def("same_as", [](const te::Operation& a, const te::Operation& b) { return a.same_as(b); })
      .def("__eq__",
           [](const te::Operation& a, py::handle b) {
             return py::isinstance<te::Operation>(b) && a.same_as(b.cast<const te::Operation&>());
           })
      .def("__hash__", [](const te::Operation& op) { return std::hash<const void*>()(op.get()); })
      .def("__repr__", [](const te::Operation& op) {
        const char* kind = !op->intrin().empty()            ? "tensor_compute"
                           : te::as_op<te::ComputeNode>(op) ? "compute"
                           : te::as_op<te::ScanNode>(op)    ? "scan"
                           : te::as_op<te::ExternNode>(op)  ? "extern"
                                                            : "placeholder";
        return fmt::format("{}({})", kind, op.name());
      });
  py::class_<PlaceholderOp, te::Operation>(m, "PlaceholderOp");
  py::class_<ComputeOp, te::Operation>(m, "ComputeOp");
  py::class_<TensorComputeOp, te::Operation>(m, "TensorComputeOp")
      .def_property_readonly(
          "intrin",
          [](const te::Operation& op) -> py::object {
            return py::cast(tensor_intrin(op->intrin()));
          },
          "The tensor intrinsic that it calls.")
      .def_property_readonly(
          "schedulable_ndim",
          [](const te::Operation& op) {
            const auto& node = node_of<te::TensorComputeNode>(op, "compute");
            return node.axis.size() - node.inner_data;
          },
          "How many of its axes are loops around the calls.");
  py::class_<ExternOp, te::Operation>(m, "ExternOp")
      .def_property_readonly("body", [](const te::Operation& op) {
        return node_of<te::ExternNode>(op, "extern").body;
      });
  py::class_<ScanOp, te::Operation>(m, "ScanOp")
      .def_property_readonly(
          "scan_axis",
          [](const te::Operation& op) { return node_of<te::ScanNode>(op, "scan").time; },
          "The axis of the steps.")
      .def_property_readonly(
          "fixed_axes",
          [](const te::Operation& op) {
            const auto& scan = node_of<te::ScanNode>(op, "scan");
            return te::fix_point(scan.updates, scan.states).fixed;
          },
          "For each state and each of its dimensions after the first, whether a position depends "
          "on "
          "the same position of earlier steps only.");
}

void bind_tensor(py::class_<te::Tensor>& tensor, py::class_<TensorSlice>& slice) {
  slice.def("__getitem__", [](const TensorSlice& self, py::handle i) { return index(self, i); })
      .def("asobject", [](py::handle self) { return to_expr(self); })
      .def("__hash__", [](py::handle self) { return std::hash<const void*>()(self.ptr()); })
      .def_property_readonly("dtype", [](const TensorSlice& self) { return self.tensor.dtype(); });
  bind_operators(slice);

  tensor.def_property_readonly("op", [](const te::Tensor& t) { return wrap(t.op()); })
      .def_property_readonly("value_index", &te::Tensor::value_index)
      .def_property_readonly("shape",
                             [](const te::Tensor& t) { return py::tuple(py::cast(t.shape())); })
      .def_property_readonly("ndim", &te::Tensor::rank)
      .def_property_readonly("axis", [](const te::Tensor& t) { return data_axes(t.op()); })
      .def_property_readonly("reduce_axis",
                             [](const te::Tensor& t) { return reduction_axes(t.op()); })
      .def_property_readonly("dtype", &te::Tensor::dtype)
      .def_property_readonly("name",
                             [](const te::Tensor& t) {
                               return t.op()->num_outputs() == 1
                                          ? t.name()
                                          : fmt::format("{}.v{}", t.name(), t.value_index());
                             })
      .def("__call__",
           [](const te::Tensor& t, const py::args& indices) { return t(to_indices(indices)); })
      .def("__getitem__",
           [](const te::Tensor& t, py::handle i) {
             return index({.tensor = t, .indices = {}, .extents = {}}, i);
           })
      // Else Python would try to walk over it with indices.
      .def("__iter__",
           [](const te::Tensor& t) -> py::object {
             raise({.code = ErrorCode::BadArgument,
                    .what = "a tensor cannot be iterated over",
                    .stage = t.name()});
           })
      .def("__hash__",
           [](const te::Tensor& t) {
             return std::hash<const void*>()(t.op().get()) ^ static_cast<size_t>(t.value_index());
           })
      .def_property_readonly("constant", &te::is_constant,
                             "Whether its values are known when the kernel is built.")
      .def("same_as", [](const te::Tensor& a, const te::Tensor& b) { return a == b; })
      .def("__repr__", [](const te::Tensor& t) {
        return fmt::format("Tensor({}: {}[{}])", t.name(), to_string(t.dtype()), shape_text(t));
      });
  bind_operators(tensor);
  // The same tensor, as TVM has it; topi.equal compares elements.
  tensor.attr("__eq__") = py::cpp_function(
      [](const te::Tensor& a, py::handle b) {
        return py::isinstance<te::Tensor>(b) && a == b.cast<const te::Tensor&>();
      },
      py::name("__eq__"), py::is_method(tensor));
  tensor.attr("__ne__") = py::cpp_function(
      [](const te::Tensor& a, py::handle b) {
        return !py::isinstance<te::Tensor>(b) || !(a == b.cast<const te::Tensor&>());
      },
      py::name("__ne__"), py::is_method(tensor));
}

}  // namespace

py::object wrap(const te::Operation& op) {
  if (!op->intrin().empty()) return py::cast(TensorComputeOp(op.get()));
  if (te::as_op<te::ComputeNode>(op)) return py::cast(ComputeOp(op.get()));
  if (te::as_op<te::ScanNode>(op)) return py::cast(ScanOp(op.get()));
  if (te::as_op<te::ExternNode>(op)) return py::cast(ExternOp(op.get()));
  return py::cast(PlaceholderOp(op.get()));
}

te::Program to_program(const std::vector<te::Tensor>& tensors) {
  te::Program program{.arguments = tensors, .outputs = {}};
  bool has_placeholder = false;
  for (const te::Tensor& t : tensors) {
    const bool placeholder = t.op()->is_placeholder();
    has_placeholder |= placeholder;
    if (!placeholder) program.outputs.push_back(t);
  }
  if (program.outputs.empty()) {
    raise({.code = ErrorCode::BadArgument,
           .what = "no tensor among these is computed",
           .legal = "outputs, or the inputs and outputs in call order"});
  }
  const te::Program whole = te::make_program(program.outputs);
  if (!has_placeholder) return whole;
  for (const te::Tensor& t : whole.arguments) {
    if (std::find(tensors.begin(), tensors.end(), t) == tensors.end()) {
      raise({.code = ErrorCode::ArgumentNotInProgram,
             .what = fmt::format("input '{}' is not among the arguments", t.name()),
             .legal = "outputs alone, or all inputs and outputs"});
    }
  }
  return program;
}

void bind_te(py::module_& m) {
  // All classes before their methods, so that signatures can name them.
  py::class_<te::Operation> operation(m, "Operation", "What computes tensors; immutable.");
  py::class_<te::Tensor> tensor(m, "Tensor", "One output of an operation.");
  py::class_<TensorSlice> slice(m, "TensorSlice", "A[i] of a tensor with more dimensions.");
  bind_operation(m, operation);
  bind_tensor(tensor, slice);
  m.def("placeholder", &te::placeholder, py::arg("shape"), py::arg("dtype"), py::arg("name"),
        py::arg("constant"));
  m.def("compute", &compute);
  m.def("scan", [](const std::vector<te::Tensor>& init, const std::vector<te::Tensor>& update,
                   const std::vector<te::Tensor>& state, const std::vector<te::Tensor>& inputs,
                   const std::string& name, const std::string& tag, const py::dict& attributes) {
    return te::scan(init, update, state, inputs, name, tag, to_attributes(attributes));
  });
  m.def("extern", &extern_tensors);
  m.def("reduce_axis", &te::reduce_axis, py::arg("dom"), py::arg("name"));
  m.def("reduce_expr", &reduce_expr);
  m.def("starting_from", [](const std::vector<Expr>& reduction, const std::vector<Expr>& init) {
    return te::starting_from(reduction, init);
  });
  m.def("reduce",
        [](const std::vector<Var>& lhs, const std::vector<Var>& rhs,
           const std::vector<Expr>& result, const std::vector<Expr>& identity,
           const std::vector<Expr>& sources, const std::vector<IterVar>& axes, py::object where) {
          return te::reduce({.lhs = lhs, .rhs = rhs, .result = result, .identity = identity},
                            sources, axes, where.is_none() ? Expr() : to_expr(where));
        });

  py::class_<te::Program>(m, "Program",
                          "A te program: arguments in call order, outputs among them.")
      .def(py::init(&to_program), py::arg("tensors"))
      .def_readonly("arguments", &te::Program::arguments)
      .def_readonly("outputs", &te::Program::outputs)
      .def_property_readonly("text", [](const te::Program& p) { return te::to_text(p); })
      .def_property_readonly("workload", &te::workload_id)
      .def_property_readonly("operations", &te::count_operations)
      .def("__str__", [](const te::Program& p) { return te::to_text(p); })
      .def("__len__", [](const te::Program& p) { return p.arguments.size(); })
      .def("__getitem__",
           [](const te::Program& p, size_t k) {
             if (k >= p.arguments.size()) throw py::index_error();
             return p.arguments[k];
           })
      .def("__repr__",
           [](const te::Program& p) { return fmt::format("Program({})", te::workload_id(p)); });
  m.def("parse_program", [](const std::string& text) { return te::parse_program(text); });
}

}  // namespace tw::python
