// SPDX-License-Identifier: Apache-2.0
// Models written byte by byte: what the reader finds in them, and all that lies one cut or one bit
// beside them. Python's tests import what the package onnx writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "graph/graph.h"
#include "graph/onnx/import.h"
#include "graph/onnx/model.h"
#include "graph/op.h"
#include "tests/support/expect_error.h"

namespace tw::graph::onnx {
namespace {

using test::expect_error;
using testing::ElementsAre;

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}
std::string number(int field, uint64_t value) { return varint(field << 3U) + varint(value); }
std::string bytes(int field, const std::string& content) {
  return varint(field << 3U | 2U) + varint(content.size()) + content;
}
template <class... T>
std::string raw(T... values) {
  const int64_t all[] = {values...};
  return {reinterpret_cast<const char*>(all), sizeof(all)};
}

std::string node(const std::string& op, const std::vector<std::string>& inputs,
                 const std::string& output, const std::string& attributes = {}) {
  std::string content;
  for (const std::string& name : inputs) content += bytes(1, name);
  return bytes(1, content + bytes(2, output) + bytes(4, op) + attributes);
}
std::string attribute(const std::string& name, int64_t value) {
  return bytes(5, bytes(1, name) + number(3, static_cast<uint64_t>(value)) + number(20, 2));
}
std::string int64s(const std::string& name, uint64_t count, const std::string& data) {
  return bytes(5, number(1, count) + number(2, 7) + bytes(8, name) + data);
}
std::string value(int field, const std::string& name, const std::vector<uint64_t>& shape) {
  std::string dims;
  for (uint64_t extent : shape) dims += bytes(1, number(1, extent));
  return bytes(field, bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, dims))));
}
std::string model(const std::string& graph) {
  return number(1, 8) + bytes(7, graph) + bytes(8, number(2, 13));
}

// Arithmetic of shapes, an initializer in each of three forms, and an attribute.
std::string reshape_model() {
  return model(
      node("Shape", {"x"}, "s") + node("Gather", {"s", "one"}, "h", attribute("axis", 0)) +
      node("Concat", {"minus", "h"}, "t", attribute("axis", 0)) + node("Reshape", {"x", "t"}, "r") +
      node("Add", {"r", "w"}, "y") + int64s("one", 1, bytes(9, raw(1))) +
      int64s("minus", 1, number(7, ~0ULL)) +
      bytes(5, number(1, 3) + number(2, 1) + bytes(8, "w") + bytes(4, std::string(12, '\0'))) +
      value(11, "x", {2, 3, 1}) + value(12, "y", {2, 3}));
}

Memory memory_of(const std::string& content) {
  auto copy = std::make_shared<std::string>(content);  // so that sanitizers see its end
  copy->shrink_to_fit();
  return {.bytes = {reinterpret_cast<const uint8_t*>(copy->data()), copy->size()}, .owner = copy};
}

TEST(OnnxReader, FindsNamesNumbersAndData) {
  const std::string content = reshape_model();
  const Memory file = memory_of(content);
  const Model m = parse_model(file.bytes);
  EXPECT_EQ(m.ir_version, 8);
  ASSERT_EQ(m.opsets.size(), 1u);
  EXPECT_EQ(m.opsets[0].version, 13);
  ASSERT_EQ(m.graph.nodes.size(), 5u);
  const NodeData& gather = m.graph.nodes[1];
  EXPECT_EQ(gather.op, "Gather");
  EXPECT_THAT(gather.inputs, ElementsAre("s", "one"));
  ASSERT_EQ(gather.attributes.size(), 1u);
  EXPECT_EQ(gather.attributes[0].kind, AttributeKind::Int);
  ASSERT_EQ(m.graph.initializers.size(), 3u);
  const TensorData& one = m.graph.initializers[0];
  EXPECT_EQ(one.field, TensorField::Raw);
  EXPECT_EQ(one.data.size(), 8u);
  EXPECT_TRUE(one.data.data() > file.bytes.data() &&
              one.data.data() < file.bytes.data() + file.bytes.size());
  const TensorData& minus = m.graph.initializers[1];
  int64_t element = 0;
  ASSERT_EQ(minus.data.size(), 8u);
  std::memcpy(&element, minus.data.data(), 8);
  EXPECT_EQ(element, -1);
  ASSERT_TRUE(m.graph.inputs[0].shape);
  EXPECT_EQ((*m.graph.inputs[0].shape)[1].extent, 3);
}

TEST(OnnxImport, FoldsArithmeticOfShapes) {
  const Imported found = import_model(memory_of(reshape_model()), {});
  std::vector<std::string> names;
  for (const NodeRef& n : nodes_of(found.symbol.outputs())) {
    names.emplace_back(n->is_variable() ? n->name : n->op->name);
  }
  EXPECT_THAT(names, ElementsAre("x", "reshape", "w", "broadcast_add"));
  ASSERT_EQ(found.parameters.size(), 1u);
  EXPECT_EQ(found.parameters[0].first, "w");
}

// Either a typed error or a network.
void expect_no_harm(const std::string& content) {
  try {
    import_model(memory_of(content), {});
  } catch (const UserError&) {
  }
}

TEST(OnnxImport, WithstandsEachCutAndEachBit) {
  const std::string content = reshape_model();
  for (size_t end = 0; end < content.size(); ++end) expect_no_harm(content.substr(0, end));
  for (size_t k = 0; k < content.size(); ++k) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = content;
      damaged[k] = static_cast<char>(damaged[k] ^ (1 << bit));
      expect_no_harm(damaged);
    }
  }
}

TEST(OnnxReader, RefusesWhatIsNoModel) {
  const auto parse = [](const std::string& content) { parse_model(memory_of(content).bytes); };
  expect_error(ErrorCode::ParseError, [&] { parse(""); });
  expect_error(ErrorCode::ParseError, [&] { parse(bytes(7, bytes(1, "\x0a\x7f"))); });
  // A name that is not UTF-8, and elements in two fields.
  expect_error(ErrorCode::ParseError, [&] { parse(model(node("Relu", {"\xff"}, "y"))); });
  expect_error(ErrorCode::ParseError,
               [&] { parse(model(int64s("a", 1, bytes(9, raw(1)) + number(7, 1)))); });
}

}  // namespace
}  // namespace tw::graph::onnx
