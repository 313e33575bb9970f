// SPDX-License-Identifier: Apache-2.0
// Files in memory, and tensors of models as arrays over that memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/onnx/model.h"
#include "runtime/dtype.h"
#include "runtime/ndarray.h"

namespace tw::graph::onnx {

// A file, mapped. BadArgument where it cannot be read.
Memory map_file(const std::filesystem::path& path);

// The element type of a TensorProto.DataType; nothing for those that we do not have (strings,
// complex numbers, eight bits of floats, half bytes).
std::optional<DType> element_type(int64_t number);
// How onnx.proto calls it: "FLOAT8E4M3FN", "type 99".
std::string type_name(int64_t number);
// The inverse of element_type.
int64_t number_of_type(DType type);

// Makes arrays of a model's tensors. What the file has as memory has it is not copied; the array
// keeps the file.
class TensorReader {
 public:
  // `folder`: where the model lies, for tensors in files of their own; empty where nobody knows.
  TensorReader(Memory model, std::filesystem::path folder)
      : model_(std::move(model)), folder_(std::move(folder)) {}
  // `what` names the tensor in errors: BadGraph where elements and shape do not agree, BadArgument
  // where a file of its own cannot be read. The type must be one of ours.
  NDArray read(const TensorData& tensor, const std::string& what);

 private:
  Memory external(const TensorData& tensor, const std::string& what, uint64_t bytes);
  Memory model_;
  std::filesystem::path folder_;
  std::map<std::filesystem::path, Memory> files_;
};

}  // namespace tw::graph::onnx
