// SPDX-License-Identifier: Apache-2.0
// What another code generator is: a library that builds regions of networks. This header is all
// that it includes of us; it exports one function:
//
//   extern "C" tw::vendor::Kernel* tilewright_build(const tw::vendor::Region&);
//
// whose result the caller deletes, and which throws a std::exception, in words, where it cannot
// build the region. docs/byoc.md writes one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace tw::vendor {

// A tensor of a region.
struct Value {
  std::vector<int64_t> shape;
  std::string dtype;  // "float32"
  // Its elements, row-major, where they never change; valid while the region is built and, unless
  // `Kernel::keeps_constants` says no, as long as the kernel lives.
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
  int threads = 1;                      // that a kernel may use
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Scratch memory of one call; it is aligned to 64 bytes.
  virtual int64_t workspace_bytes() const { return 0; }
  virtual bool keeps_constants() const { return true; }
  // `tensors`: elements, row-major, of the inputs and then the outputs. Throws a std::exception
  // where it fails. Calls of one object do not come at once.
  virtual void run(void* const* tensors, void* workspace) = 0;
  // The same kernel for one more thread, which the caller deletes first; constants are shared.
  // Null: threads wait for each other.
  virtual Kernel* clone() const { return nullptr; }
};

using BuildFunction = Kernel*(const Region&);

}  // namespace tw::vendor
