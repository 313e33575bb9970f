// SPDX-License-Identifier: Apache-2.0
// The extension module tilewright._core.
#include "python/bind.h"
#include "python/onnx.h"
#include "runtime/version.h"

PYBIND11_MODULE(_core, m) {
  using namespace tw::python;
  m.doc() = "C++ side of tilewright; use the package's own modules";
  m.attr("__version__") = tw::version();
  bind_errors(m);
  bind_expr(m);
  bind_te(m);
  bind_intrin(m);
  bind_topi(m);
  bind_schedule(m);
  bind_lower(m);
  bind_array(m);
  bind_module(m);
  bind_autotune(m);
  bind_graph(m);
  bind_onnx(m);
  bind_byoc(m);
  bind_patterns(m);
  bind_compiler(m);
  bind_executor(m);
  bind_byoc_choice(m);
  guard_functions(m);
}
