// SPDX-License-Identifier: Apache-2.0
// Targets, the pass table and its options, and lowering.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "autotune/log/replay.h"
#include "ir/expr.h"
#include "ir/print.h"
#include "lower/llvm/compile.h"
#include "lower/pipeline.h"
#include "python/constants.h"
#include "python/lowered.h"
#include "python/schedule.h"
#include "runtime/nearest_word.h"

namespace tw::python {
namespace {

// Every option that a PassContext's config may set.
// OPTION(name, field of LowerOptions, documentation)
#define TW_OPTIONS(OPTION)                                                                   \
  OPTION(auto_unroll_max_step, passes, "unroll serial loops up to this many statements")     \
  OPTION(auto_unroll_max_depth, passes, "of nested loops, when unrolling automatically")     \
  OPTION(unroll_explicit, passes, "False leaves unrolled loops to code generation")          \
  OPTION(partition_const_loop, passes, "partition loops of constant extent too")             \
  OPTION(vectorize, passes, "False makes vectorized loops serial")                           \
  OPTION(predicate_tail, passes, "masked lanes instead of scalar tails")                     \
  OPTION(check_bounds, passes, "test indices that are not proven inside when used")          \
  OPTION(max_stack_bytes, passes, "what buffers may take of a thread's stack at a time")     \
  OPTION(clamp_split_factor, schedule, "a split factor above the extent becomes the extent") \
  OPTION(keep_trivial_loops, schedule, "loops of extent 1 stay")                             \
  OPTION(source_lines, schedule, "stores carry the script line of their stage")

template <class T>
void set_option(T& to, const std::string& name, py::handle value) {
  if constexpr (std::is_same_v<T, bool>) {
    if (PyBool_Check(value.ptr())) {
      to = value.ptr() == Py_True;
      return;
    }
  } else if (!PyBool_Check(value.ptr()) && PyLong_Check(value.ptr())) {
    const auto number = value.cast<int64_t>();
    if (number >= 0) {
      to = static_cast<T>(number);
      return;
    }
  }
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("option '{}' is {}", name, describe(value)),
         .legal = std::is_same_v<T, bool> ? "True or False" : "an integer of at least 0"});
}

[[noreturn]] void unknown_option(const std::string& name,
                                 const std::vector<std::string_view>& names) {
  if (name == "tir.add_lower_pass") {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("the option '{}' is none here", name),
           .legal = "observer=f, which sees each kernel after each pass"});
  }
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("unknown option '{}'{}", name, suggestion(nearest_word(name, names))),
         .legal = fmt::format("{}", fmt::join(names, ", "))});
}

LowerOptions to_options(const py::dict& config) {
  LowerOptions options;
  for (const auto& [key, value] : config) {
    if (!PyUnicode_Check(key.ptr())) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("an option is named {}", describe(key)),
             .legal = "names, as transform.options() lists them"});
    }
    const auto name = key.cast<std::string>();
#define TW_SET(Name, Group, Doc)                 \
  if (name == #Name) {                           \
    set_option(options.Group.Name, name, value); \
    continue;                                    \
  }
    TW_OPTIONS(TW_SET)
#undef TW_SET
    if (name == "verify") {
      set_option(options.verify, name, value);
      continue;
    }
    const std::vector<std::string_view> names = {
#define TW_NAME(Name, Group, Doc) #Name,
        TW_OPTIONS(TW_NAME)
#undef TW_NAME
            "verify"};
    unknown_option(name, names);
  }
  return options;
}

py::list option_table() {
  const LowerOptions defaults;
  py::list rows;
#define TW_ROW(Name, Group, Doc) \
  rows.append(py::make_tuple(#Name, py::cast(defaults.Group.Name), Doc));
  TW_OPTIONS(TW_ROW)
#undef TW_ROW
  rows.append(py::make_tuple("verify", defaults.verify, "verify after each pass what it ensures"));
  return rows;
}

py::list pass_table() {
  py::list rows;
  for (const Pass& p : passes()) {
    const auto texts = [](const std::vector<Property>& properties) {
      std::vector<std::string> result;
      for (Property q : properties) result.emplace_back(to_string(q));
      return result;
    };
    rows.append(py::make_tuple(std::string(p.name), p.optional, texts(p.requires_),
                               texts(p.ensures), std::string(p.doc)));
  }
  return rows;
}

std::vector<LowerArgument> to_arguments(const py::sequence& objects) {
  std::vector<LowerArgument> arguments;
  for (py::handle object : objects) {
    if (py::isinstance<te::Tensor>(object)) {
      arguments.emplace_back(object.cast<te::Tensor>());
      continue;
    }
    const auto e = try_expr(object);
    if (!e || !is<Variable>(*e)) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("{} cannot be an argument of a kernel", describe(object)),
             .legal = "tensors and variables"});
    }
    arguments.emplace_back(Var(as<Variable>(*e)));
  }
  return arguments;
}

// What is given for constants.
struct Constants {
  std::vector<ConstantValue> values;
  explicit Constants(const py::list& pairs) : values(to_constants(pairs)) {}

  std::vector<te::Tensor> placeholders() const {
    std::vector<te::Tensor> result;
    for (const ConstantValue& v : values) result.push_back(v.placeholder);
    return result;
  }
  LoweredFunc prepare(KernelModule module, const Target& target) const {
    bind_constants(module, values);
    return {tw::prepare(std::move(module), target)};
  }
};

LoweredFunc lower_schedule(const Schedule& schedule, const py::sequence& arguments,
                           const Target& target, const std::string& name, bool simple_mode,
                           const py::dict& config, std::vector<std::string> disabled,
                           std::string stop_after, py::object observer, py::list timings,
                           const py::list& constants) {
  LowerOptions options = to_options(config);
  options.name = name;
  options.simple_mode = simple_mode;
  options.disabled = std::move(disabled);
  options.stop_after = std::move(stop_after);
  const std::vector<LowerArgument> kernel_arguments = to_arguments(arguments);
  PassObserver observe;
  if (!observer.is_none()) {
    observe = [&observer](std::string_view pass, const KernelModule& module) {
      py::gil_scoped_acquire hold;
      for (const Kernel& kernel : module.kernels) observer(std::string(pass), LoweredFunc{kernel});
    };
  }
  LowerReport report;
  LoweredFunc lowered;
  {
    const Constants values(constants);
    py::gil_scoped_release release;
    lowered = values.prepare(lower_module(schedule, kernel_arguments, values.placeholders(), target,
                                          options, &report, observe),
                             target);
  }
  for (const PassTiming& t : report.timings)
    timings.append(py::make_tuple(std::string(t.name), t.seconds));
  return lowered;
}

// The kernel as it always was; device kernels behind it, each under a line with its name and
// arguments.
std::string text_of(const LoweredFunc& f) {
  std::string text = to_string(f.kernel().body);
  for (const Kernel& device : std::span(f.module.kernels).subspan(1)) {
    std::vector<std::string> names;
    for (const KernelArgument& a : device.arguments) names.push_back(a.name);
    text += fmt::format("\n// device kernel {}({})\n{}", device.name, fmt::join(names, ", "),
                        to_string(device.body));
  }
  return text;
}

std::string hash_of(const LoweredFunc& f) {
  Kernel whole = f.kernel();
  if (f.module.kernels.size() > 1) {
    std::vector<Stmt> bodies;
    for (const Kernel& kernel : f.module.kernels) bodies.push_back(kernel.body);
    whole.body = block(bodies);
  }
  return autotune::ir_hash(whole);
}

void bind_target(py::module_& m) {
  py::class_<Target>(m, "TargetModel", "What machine code is made for.")
      .def(py::init([](const std::string& text) { return Target::parse(text); }))
      .def_readonly("triple", &Target::triple)
      .def_readonly("mcpu", &Target::cpu)
      .def_readonly("features", &Target::features)
      .def_readonly("opt_level", &Target::opt_level)
      .def_readonly("vector_bits", &Target::vector_bits)
      .def_readonly("vector_registers", &Target::vector_registers)
      .def_readonly("has_fma", &Target::has_fma)
      .def_readonly("has_masks", &Target::has_masks)
      .def_property_readonly("features_missing_on_host", &Target::features_missing_on_host)
      .def("__str__", &Target::text);
  m.def("llvm_version", &llvm_version);
}

}  // namespace

void bind_lower(py::module_& m) {
  bind_target(m);
  py::class_<LoweredFunc>(m, "LoweredFunc",
                          "A lowered kernel and the device kernels that it launches; str() of it "
                          "is its IR.")
      .def_property_readonly("name", [](const LoweredFunc& f) { return f.kernel().name; })
      .def_property_readonly("body", [](const LoweredFunc& f) { return f.kernel().body; })
      .def_property_readonly(
          "devices",
          [](const LoweredFunc& f) {
            std::vector<LoweredFunc> devices;
            for (const Kernel& k : std::span(f.module.kernels).subspan(1)) devices.push_back({k});
            return devices;
          },
          "The device kernels: what blocks and threads run.")
      .def_property_readonly(
          "args",
          [](const LoweredFunc& f) {
            py::list result;
            for (const KernelArgument& a : f.kernel().arguments) {
              result.append(py::make_tuple(a.name, a.dtype, py::cast(a.shape), a.is_output));
            }
            return result;
          },
          "(name, dtype, shape, whether the kernel writes it) of each argument.")
      .def("__str__", &text_of)
      .def("__repr__", &text_of)
      .def("ir_hash", &hash_of, "Structural hash without names, as the tuning log holds it.");
  m.def(
      "check_options",
      [](const py::dict& config, std::vector<std::string> disabled, std::string stop_after) {
        LowerOptions options = to_options(config);
        options.disabled = std::move(disabled);
        options.stop_after = std::move(stop_after);
        check_options(options);
      },
      "Raises what `lower` would of unknown options and passes.");
  m.def("lower", &lower_schedule);
  m.def("lower_program", [](const te::Program& program, const Schedule& schedule,
                            const Target& target, const std::string& name,
                            const py::list& constants) {
    const Constants values(constants);
    py::gil_scoped_release release;
    return values.prepare(
        autotune::lower_program(program, schedule, values.placeholders(), target, name), target);
  });
  m.def("passes", &pass_table, "Rows of (name, optional, requires, ensures, documentation).");
  m.def("pass_options", &option_table, "Rows of (name, default, documentation).");
}

}  // namespace tw::python
