// SPDX-License-Identifier: Apache-2.0
// What another code generator is, for C++: a library that builds regions of networks. It includes
// this header, links nothing of us, and says once
//
//   TILEWRIGHT_CODEGEN(build, "OpenBLAS 0.3.21")
//
// with what kernels compute with (tw_codegen::computes_with), a text that stays, and where
// tw::vendor::Kernel* build(const tw::vendor::Region&, std::string_view saved) gives a kernel that
// the caller deletes, or throws a std::exception, in words, where it cannot. What crosses the
// border between the two libraries are the structs of codegen_abi.h, so that both may come from
// different compilers. docs/byoc.md writes one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/codegen_abi.h"

namespace tw::vendor {

// A tensor of a region.
struct Value {
  std::vector<int64_t> shape;
  std::string dtype;  // "float32"
  // Its elements, row-major, where they never change; valid as long as the kernel lives.
  const void* constant = nullptr;

  int64_t elements() const {
    int64_t n = 1;
    for (int64_t extent : shape) n *= extent;
    return n;
  }
};

// None, or as the operator's schema in graph/ops says.
using Attribute = std::variant<std::monostate, bool, int64_t, double, std::string,
                               std::vector<int64_t>, std::vector<std::vector<int64_t>>>;

// A call of an operator, by our name of it. Numbers are those of values.
struct Step {
  std::string op, node;
  std::map<std::string, Attribute> attributes;  // all of the schema
  std::vector<size_t> inputs, outputs;

  int64_t integer(const std::string& name) const { return std::get<int64_t>(attributes.at(name)); }
  double real(const std::string& name) const { return std::get<double>(attributes.at(name)); }
  bool flag(const std::string& name) const { return std::get<bool>(attributes.at(name)); }
  const std::string& text(const std::string& name) const {
    return std::get<std::string>(attributes.at(name));
  }
  const std::vector<int64_t>& tuple(const std::string& name) const {
    return std::get<std::vector<int64_t>>(attributes.at(name));
  }
};

// Steps that are an instance of one pattern; a step that is in none is alone, and `pattern` empty.
// Only outputs of the last step are read by others.
struct Composite {
  std::string pattern;
  std::vector<Step> steps;
};

struct Region {
  std::string name;
  std::vector<Value> values;
  std::vector<size_t> inputs, outputs;  // of the kernel; constants are no inputs
  std::vector<Composite> composites;    // in an order in which they can run
  int threads = 1;  // that a kernel may use; where there are others, it is built again
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Scratch memory of one call; it is aligned to 64 bytes.
  virtual int64_t workspace_bytes() const { return 0; }
  // `tensors`: elements, row-major, of the inputs and then the outputs. Throws a std::exception
  // where it fails. Calls of one object do not come at once.
  virtual void run(void* const* tensors, void* workspace) = 0;
  // The same kernel for one more thread, which the caller deletes first; constants are shared.
  // Null: threads wait for each other.
  virtual Kernel* clone() const { return nullptr; }
  // What `build` shall be given, besides the region, where an exported network is loaded. Empty: it
  // is built again as it was here.
  virtual std::string save() const { return {}; }
};

// ---- How a library's kernels cross the border; for TILEWRIGHT_CODEGEN alone.
namespace abi {

inline std::vector<size_t> numbers(const tw_codegen_integers& list) {
  return {list.values, list.values + list.count};
}
inline std::vector<int64_t> integers(const tw_codegen_integers& list) {
  return {list.values, list.values + list.count};
}

inline Attribute attribute(const tw_codegen_attribute& a) {
  switch (a.kind) {
    case TW_ATTRIBUTE_BOOL:
      return a.integer != 0;
    case TW_ATTRIBUTE_INT:
      return a.integer;
    case TW_ATTRIBUTE_FLOAT:
      return a.real;
    case TW_ATTRIBUTE_TEXT:
      return std::string(a.text);
    case TW_ATTRIBUTE_INTS:
      return integers(a.lists[0]);
    case TW_ATTRIBUTE_INT_LISTS: {
      std::vector<std::vector<int64_t>> lists;
      for (int64_t k = 0; k < a.num_lists; ++k) lists.push_back(integers(a.lists[k]));
      return lists;
    }
    default:
      return std::monostate();
  }
}

inline Region region(const tw_codegen_region& r) {
  Region region{.name = r.name,
                .values = {},
                .inputs = numbers(r.inputs),
                .outputs = numbers(r.outputs),
                .composites = {},
                .threads = static_cast<int>(r.threads)};
  for (int64_t k = 0; k < r.num_values; ++k) {
    const tw_codegen_value& v = r.values[k];
    region.values.push_back({{v.shape, v.shape + v.rank}, v.dtype, v.constant});
  }
  for (int64_t k = 0; k < r.num_composites; ++k) {
    Composite& composite = region.composites.emplace_back();
    composite.pattern = r.composites[k].pattern;
    for (int64_t i = 0; i < r.composites[k].num_steps; ++i) {
      const tw_codegen_step& s = r.composites[k].steps[i];
      Step& step = composite.steps.emplace_back();
      step.op = s.op;
      step.node = s.node;
      for (int64_t a = 0; a < s.num_attributes; ++a)
        step.attributes[s.attributes[a].name] = attribute(s.attributes[a]);
      step.inputs = numbers(s.inputs);
      step.outputs = numbers(s.outputs);
    }
  }
  return region;
}

// What body() gives, or `failure` with the words of what it throws.
template <class Result, class Body>
Result guarded(tw_codegen_error* error, Result failure, Body body) {
  const auto say = [&](const char* what) {
    const size_t n = std::min(std::strlen(what), sizeof error->text - 1);
    std::memcpy(error->text, what, n);
    error->text[n] = 0;
  };
  try {
    return body();
  } catch (const std::exception& e) {
    say(e.what());
  } catch (...) {
    say("it threw what is no std::exception");
  }
  return failure;
}

inline Kernel* kernel(void* state) { return static_cast<Kernel*>(state); }
inline int64_t workspace_bytes(void* state) {
  tw_codegen_error ignored;
  return guarded<int64_t>(&ignored, -1, [&] { return kernel(state)->workspace_bytes(); });
}
inline int32_t run(const tw_codegen_call* call, tw_codegen_error* error) {
  return guarded<int32_t>(error, -1, [&] {
    kernel(call->state)->run(call->tensors, call->workspace);
    return 0;
  });
}
inline void* clone(void* state) {
  tw_codegen_error ignored;
  return guarded<void*>(&ignored, nullptr, [&] { return kernel(state)->clone(); });
}
inline int32_t save(void* state, tw_codegen_sink* sink, tw_codegen_error* error) {
  return guarded<int32_t>(error, -1, [&] {
    const std::string saved = kernel(state)->save();
    if (!saved.empty()) sink->write(sink, saved.data(), static_cast<int64_t>(saved.size()));
    return 0;
  });
}
inline void release(void* state) { delete kernel(state); }

}  // namespace abi
}  // namespace tw::vendor

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define TILEWRIGHT_CODEGEN(build_function, computes_with)                                         \
  extern "C" __attribute__((visibility("default"))) const tw_codegen* tilewright_codegen(void) {  \
    namespace abi = tw::vendor::abi;                                                              \
    static const tw_codegen table = {                                                             \
        TW_CODEGEN_VERSION,                                                                       \
        computes_with,                                                                            \
        [](const tw_codegen_region* region, const void* saved, int64_t bytes,                     \
           tw_codegen_error* error) {                                                             \
          return abi::guarded<void*>(error, nullptr, [&]() -> tw::vendor::Kernel* {               \
            return build_function(abi::region(*region),                                           \
                                  {static_cast<const char*>(saved), static_cast<size_t>(bytes)}); \
          });                                                                                     \
        },                                                                                        \
        &abi::workspace_bytes,                                                                    \
        &abi::run,                                                                                \
        &abi::clone,                                                                              \
        &abi::save,                                                                               \
        &abi::release};                                                                           \
    return &table;                                                                                \
  }
