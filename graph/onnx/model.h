// SPDX-License-Identifier: Apache-2.0
// An ONNX model as its file says it: names, numbers, and where data lies. Texts and data point into
// the memory that was read, which who reads keeps alive. The numbers are those of onnx.proto.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tw::graph::onnx {

using Bytes = std::span<const uint8_t>;

// Memory, and what keeps it there.
struct Memory {
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

// The field of TensorProto in which the elements are.
enum class TensorField : uint8_t { None, Raw, Float, Int32, Int64, Double, UInt64, String };

struct TensorData {
  std::string_view name;
  std::vector<int64_t> dims;
  int64_t type = 0;  // TensorProto.DataType
  TensorField field = TensorField::None;
  // Elements as `field` stores them, little-endian: int32_data has four bytes of each.
  Bytes data;
  std::shared_ptr<std::vector<uint8_t>> decoded;  // where `data` is not in the file itself
  bool external = false;
  std::vector<std::pair<std::string_view, std::string_view>> external_data;
};

// AttributeProto.AttributeType.
enum class AttributeKind : uint8_t {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Tensors = 9,
  Graphs = 10,
  SparseTensor = 11,
  SparseTensors = 12,
  TypeProto = 13,
  TypeProtos = 14,
};

struct NodeAttribute {
  std::string_view name, reference;  // of an attribute of the function that the node is in
  AttributeKind kind = AttributeKind::Undefined;
  float real = 0;
  int64_t integer = 0;
  std::string_view text;
  std::optional<TensorData> tensor;
  std::vector<float> reals;
  std::vector<int64_t> integers;
  std::vector<std::string_view> texts;
};

struct NodeData {
  std::string_view name, op, domain;
  std::vector<std::string_view> inputs, outputs;  // empty: left out
  std::vector<NodeAttribute> attributes;
};

// An extent that is known, or has a name, or neither.
struct Dimension {
  std::optional<int64_t> extent;
  std::string_view name;
};

struct ValueInfo {
  std::string_view name;
  bool is_tensor = false;
  int64_t type = 0;  // TensorProto.DataType
  std::optional<std::vector<Dimension>> shape;
};

struct GraphData {
  std::vector<NodeData> nodes;
  std::vector<TensorData> initializers;
  std::vector<std::string_view> sparse_initializers;
  std::vector<ValueInfo> inputs, outputs;
};

struct OpsetImport {
  std::string_view domain;
  int64_t version = 0;
};

struct FunctionData {
  std::string_view name, domain;
  std::vector<std::string_view> inputs, outputs;
  std::vector<std::string_view> attributes;       // that a call must give
  std::vector<NodeAttribute> default_attributes;  // that it may give
  std::vector<NodeData> nodes;
  std::vector<OpsetImport> opsets;
};

struct Model {
  int64_t ir_version = 0;
  std::vector<OpsetImport> opsets;
  GraphData graph;
  std::vector<FunctionData> functions;
};

// ParseError with the field and the byte where the file is no model.
Model parse_model(Bytes file);

}  // namespace tw::graph::onnx
