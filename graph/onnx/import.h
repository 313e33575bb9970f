// SPDX-License-Identifier: Apache-2.0
// ONNX models as networks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/onnx/model.h"
#include "graph/symbol.h"
#include "runtime/dtype.h"
#include "runtime/ndarray.h"

namespace tw::graph::onnx {

struct ImportOptions {
  // Of inputs by name; those that the model leaves open must be there.
  std::map<std::string, std::vector<int64_t>> shapes;
  // Element types in which inputs come, where these are others than the model's: they are cast.
  std::map<std::string, DType> types;
  // Inputs whose values do not change: constants of the network.
  std::map<std::string, NDArray> values;
  // Where the model lies, for tensors in files of their own; empty where nobody knows.
  std::filesystem::path folder;
};

struct Imported {
  Symbol symbol;  // the model's outputs, in its order
  // What the symbol reads and the model knows. Arrays point into the file where it has their
  // elements as memory does, and keep it.
  std::vector<std::pair<std::string, NDArray>> parameters;
};

// The inputs that come with each run, as the model says them. ParseError where the file is no
// model. Names point into the file.
std::vector<ValueInfo> inputs_of(const Memory& file);

// ParseError where the file is no model, UnknownOperator with the list of all nodes that are not
// supported, BadArgument for names that no input has, and where the model contradicts itself
// BadGraph, BadAttribute, BadShape, ShapeConflict or TypeConflict, with the node.
Imported import_model(const Memory& file, const ImportOptions& options);

}  // namespace tw::graph::onnx
