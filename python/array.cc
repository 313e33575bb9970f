// SPDX-License-Identifier: Apache-2.0
// NDArray, and the exchange of memory with NumPy and through DLPack.
#include "python/array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pybind11/numpy.h>

#include <bit>
#include <memory>

namespace tw::python {
namespace {

constexpr char kCapsule[] = "dltensor";
constexpr char kVersionedCapsule[] = "dltensor_versioned";
constexpr char kUsedCapsule[] = "used_dltensor";
constexpr char kUsedVersionedCapsule[] = "used_dltensor_versioned";

// ---------------------------------------------------------------------------------------------
// NumPy

// NumPy, where somebody has imported it: nobody else can have made an array.
bool is_numpy(py::handle object) {
  // Borrowed: the interpreter keeps it.
  static const py::handle modules = PyImport_GetModuleDict();
  if (!modules.contains("numpy")) return false;
  return py::isinstance<py::array>(object);
}

DType numpy_dtype(const py::array& array) {
  const py::dtype type = array.dtype();
  const int bits = static_cast<int>(type.itemsize()) * 8;
  const auto wrong = [&](const char* what) {
    raise({.code = ErrorCode::ArgumentDType,
           .what = fmt::format("the elements are {}{}", py::str(type).cast<std::string>(), what),
           .legal = "integers, floats, bool, or bfloat16, in the machine's byte order"});
  };
  if (type.byteorder() == '>') wrong(", in another byte order");
  switch (type.kind()) {
    case 'b':
      return bool_type();
    case 'i':
      return int_type(bits);
    case 'u':
      return uint_type(bits);
    case 'f':
      if (bits > 64) wrong("");
      return float_type(bits);
    default:
      break;
  }
  if (type.attr("name").cast<std::string>() == "bfloat16") return bfloat_type(16);
  wrong("");
  return {};
}

// A tensor whose manager is a Python object.
struct Borrowed {
  DLManagedTensorVersioned managed{};
  std::vector<int64_t> shape, strides;
  PyObject* owner = nullptr;
};

NDArray borrow_numpy(const py::array& array) {
  auto borrowed = std::make_unique<Borrowed>();
  const DType type = numpy_dtype(array);
  const py::ssize_t bytes = array.itemsize();
  for (py::ssize_t d = 0; d < array.ndim(); ++d) {
    borrowed->shape.push_back(array.shape(d));
    if (array.strides(d) % bytes != 0) {
      raise({.code = ErrorCode::ArgumentStrides,
             .what = fmt::format("the stride of dimension {} is {} bytes, which is no whole number "
                                 "of elements",
                                 d, array.strides(d)),
             .legal = "an array of its own elements; np.ascontiguousarray gives one"});
    }
    borrowed->strides.push_back(array.strides(d) / bytes);
  }
  DLManagedTensorVersioned& managed = borrowed->managed;
  managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed.flags = array.writeable() ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY;
  managed.dl_tensor = {.data = const_cast<void*>(array.data()),
                       .device = {kDLCPU, 0},
                       .ndim = static_cast<int32_t>(array.ndim()),
                       .dtype = to_dlpack(type),
                       .shape = borrowed->shape.data(),
                       .strides = borrowed->strides.data(),
                       .byte_offset = 0};
  managed.manager_ctx = borrowed.get();
  managed.deleter = [](DLManagedTensorVersioned* self) {
    auto* b = static_cast<Borrowed*>(self->manager_ctx);
    // After the interpreter's end there is nobody to give the reference back to.
    if (Py_IsInitialized()) {
      py::gil_scoped_acquire hold;
      Py_XDECREF(b->owner);
    }
    delete b;
  };
  NDArray result = NDArray::from_dlpack(&managed);
  borrowed->owner = py::reinterpret_borrow<py::object>(array).release().ptr();
  borrowed.release();
  return result;
}

// The NumPy type of the same elements.
py::object numpy_type(DType type) {
  if (type == bfloat_type(16)) return py::module_::import("ml_dtypes").attr("bfloat16");
  return py::module_::import("numpy").attr("dtype")(to_string(type));
}

py::object to_numpy(const NDArray& array) {
  std::vector<int64_t> shape(array.shape().begin(), array.shape().end());
  py::object result = py::module_::import("numpy").attr("empty")(py::tuple(py::cast(shape)),
                                                                 numpy_type(array.dtype()));
  array.copy_to_bytes(py::reinterpret_borrow<py::array>(result).mutable_data());
  return result;
}

// ---------------------------------------------------------------------------------------------
// DLPack

template <class Managed>
NDArray adopt(PyObject* capsule, const char* name, const char* used) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed == nullptr) throw py::error_already_set();
  NDArray result = NDArray::from_dlpack(managed);
  PyCapsule_SetName(capsule, used);
  return result;
}

NDArray from_capsule(py::handle capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), kVersionedCapsule)) {
    return adopt<DLManagedTensorVersioned>(capsule.ptr(), kVersionedCapsule, kUsedVersionedCapsule);
  }
  if (PyCapsule_IsValid(capsule.ptr(), kCapsule)) {
    return adopt<DLManagedTensor>(capsule.ptr(), kCapsule, kUsedCapsule);
  }
  raise({.code = ErrorCode::BadArgument,
         .what = "the capsule holds no tensor, or was used already",
         .legal = "a fresh capsule of __dlpack__"});
}

void require_cpu(py::handle object) {
  if (!py::hasattr(object, "__dlpack_device__")) return;
  const py::tuple device = object.attr("__dlpack_device__")();
  const int type = py::int_(device[0]).cast<int>();
  if (type != kDLCPU && type != kDLCUDAHost && type != kDLROCMHost) {
    raise({.code = ErrorCode::ArgumentDevice,
           .what = fmt::format("the array is on device type {}", type),
           .legal = "an array in the memory of the CPU"});
  }
}

NDArray borrow_dlpack(py::handle object) {
  try {
    require_cpu(object);
    py::object capsule;
    try {
      capsule = object.attr("__dlpack__")(py::arg("max_version") = py::make_tuple(1, 0));
    } catch (py::error_already_set& error) {
      if (!error.matches(PyExc_TypeError)) throw;
      capsule = object.attr("__dlpack__")();  // from before DLPack 1.0
    }
    return from_capsule(capsule);
  } catch (py::error_already_set& error) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("{} does not give its memory away: {}",
                               py::type::of(object).attr("__name__").cast<std::string>(),
                               py::str(error.value()).cast<std::string>()),
           .legal = "an array that DLPack can share"});
  }
}

template <class Managed>
void delete_unused(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed->deleter != nullptr) managed->deleter(managed);
}

py::object to_capsule(const NDArray& array, bool versioned) {
  PyObject* capsule =
      versioned ? PyCapsule_New(array.to_dlpack_versioned(), kVersionedCapsule,
                                [](PyObject* c) {
                                  delete_unused<DLManagedTensorVersioned>(c, kVersionedCapsule);
                                })
                : PyCapsule_New(array.to_dlpack(), kCapsule,
                                [](PyObject* c) { delete_unused<DLManagedTensor>(c, kCapsule); });
  return py::reinterpret_steal<py::object>(capsule);
}

py::object dlpack(const NDArray& self, py::object stream, py::object max_version, py::object device,
                  py::object copy) {
  const auto refuse = [](const char* what) {
    PyErr_SetString(PyExc_BufferError, what);
    throw py::error_already_set();
  };
  if (!stream.is_none()) refuse("a CPU array has no stream");
  if (!device.is_none() && py::int_(py::tuple(device)[0]).cast<int>() != static_cast<int>(kDLCPU)) {
    refuse("the array is on the CPU and cannot be given for another device");
  }
  const bool versioned = !max_version.is_none() && py::tuple(max_version)[0].cast<int>() >= 1;
  return to_capsule(!copy.is_none() && copy.cast<bool>() ? self.copy() : self, versioned);
}

// A fresh array with the elements of lists, numbers, and arrays of any kind and strides.
NDArray copy_of(py::handle object) {
  if (is_array(object)) return borrow(object).copy();
  const py::object numpy = py::module_::import("numpy");
  return borrow(numpy.attr("asarray")(object)).copy();
}

void copy_into(const NDArray& self, py::object source) {
  NDArray from;
  if (is_array(source)) {
    from = borrow(source);
  } else {
    const py::object numpy = py::module_::import("numpy");
    from = borrow(numpy.attr("asarray")(source, py::arg("dtype") = numpy_type(self.dtype())));
  }
  if (from.dtype() != self.dtype()) {
    raise({.code = ErrorCode::ArgumentDType,
           .what = fmt::format("copying {} into an array of {}", to_string(from.dtype()),
                               to_string(self.dtype())),
           .legal = to_string(self.dtype())});
  }
  self.copy_from(from);
}

std::vector<int64_t> to_shape(py::object shape) {
  if (py::isinstance<py::int_>(shape)) return {shape.cast<int64_t>()};
  return shape.cast<std::vector<int64_t>>();
}
// Elements that are vectors are rows of their lanes, as kernels take them.
std::vector<int64_t> memory_shape(std::vector<int64_t> shape, DType type) {
  if (type.is_vector()) shape.push_back(type.lanes);
  return shape;
}

}  // namespace

bool is_array(py::handle object) {
  return py::isinstance<NDArray>(object) || is_numpy(object) || py::hasattr(object, "__dlpack__");
}

NDArray borrow(py::handle object) {
  if (py::isinstance<NDArray>(object)) return object.cast<const NDArray&>();
  if (is_numpy(object)) return borrow_numpy(py::reinterpret_borrow<py::array>(object));
  if (PyCapsule_CheckExact(object.ptr())) return from_capsule(object);
  if (py::hasattr(object, "__dlpack__")) return borrow_dlpack(object);
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("{} is not an array", describe(object)),
         .legal = "a tilewright or NumPy array, or an object with __dlpack__"});
}

void bind_array(py::module_& m) {
  py::class_<NDArray>(m, "NDArray", "A strided view of memory on the CPU, shared through DLPack.")
      .def_property_readonly(
          "shape",
          [](const NDArray& a) {
            return py::tuple(py::cast(std::vector<int64_t>(a.shape().begin(), a.shape().end())));
          })
      .def_property_readonly(
          "strides",
          [](const NDArray& a) {
            return py::tuple(
                py::cast(std::vector<int64_t>(a.strides().begin(), a.strides().end())));
          },
          "In elements.")
      .def_property_readonly("dtype", &NDArray::dtype)
      .def_property_readonly("ndim", &NDArray::ndim)
      .def_property_readonly("size", &NDArray::size)
      .def_property_readonly("nbytes", &NDArray::byte_size)
      .def_property_readonly("read_only", &NDArray::read_only)
      .def_property_readonly("is_contiguous", &NDArray::is_contiguous)
      .def_property_readonly("data_ptr",
                             [](const NDArray& a) { return reinterpret_cast<uintptr_t>(a.data()); })
      .def("numpy", &to_numpy, "A copy; np.from_dlpack shares the memory.")
      .def("asnumpy", &to_numpy, "A copy; np.from_dlpack shares the memory.")
      .def(
          "__array__",
          [](const NDArray& a, py::object type, py::object) {
            py::object array = to_numpy(a);
            return type.is_none() ? array : py::object(array.attr("astype")(type));
          },
          py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def(
          "copyfrom",
          [](py::object self, py::object source) {
            copy_into(self.cast<const NDArray&>(), std::move(source));
            return self;
          },
          py::arg("source_array"), "Copies elements of the same shape and type into this array.")
      .def(
          "copyto",
          [](const NDArray& self, py::object target) {
            const NDArray to = borrow(target);
            to.copy_from(self);
            return target;
          },
          py::arg("target"))
      .def("copy", &NDArray::copy)
      .def(
          "reshape",
          [](const NDArray& a, py::object shape) { return a.reshape(to_shape(std::move(shape))); },
          py::arg("shape"))
      .def("as_read_only", &NDArray::as_read_only)
      .def("__len__",
           [](const NDArray& a) {
             if (a.ndim() == 0) throw py::type_error("an array of rank 0 has no length");
             return a.shape()[0];
           })
      .def("__dlpack__", &dlpack, py::kw_only(), py::arg("stream") = py::none(),
           py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(),
           py::arg("copy") = py::none())
      .def("__dlpack_device__",
           [](const NDArray&) { return py::make_tuple(static_cast<int>(kDLCPU), 0); })
      .def("__repr__", [](const NDArray& a) {
        return fmt::format("<tilewright.nd.NDArray shape=({}), {}>", fmt::join(a.shape(), ", "),
                           to_string(a.dtype()));
      });
  m.def("empty_array", [](py::object shape, DType type) {
    return NDArray::empty(memory_shape(to_shape(std::move(shape)), type), type.element());
  });
  m.def("zeros_array", [](py::object shape, DType type) {
    return NDArray::zeros(memory_shape(to_shape(std::move(shape)), type), type.element());
  });
  m.def("copy_array", &copy_of);
  m.def("borrow_array", &borrow);
}

}  // namespace tw::python
