// SPDX-License-Identifier: Apache-2.0
// The one file that sees protobuf. The wire format is walked field by field, by a table for each
// message, so that data stays where it is in the file and messages nest no deeper than these
// tables do: bodies of control flow are skipped.
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "graph/onnx/model.h"
#include "runtime/error.h"

namespace tw::graph::onnx {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Whether Python, too, can read the text: no overlong forms, no surrogates, nothing beyond
// U+10FFFF.
bool is_utf8(Bytes text) {
  for (size_t k = 0; k < text.size();) {
    const uint8_t first = text[k++];
    if (first < 0x80) continue;
    const int more = std::countl_one(first) - 1;
    if (more < 1 || more > 3 || k + static_cast<size_t>(more) > text.size()) return false;
    uint32_t code = first & (0x3FU >> more);
    for (int m = 0; m < more; ++m, ++k) {
      if ((text[k] & 0xC0) != 0x80) return false;
      code = code << 6 | (text[k] & 0x3F);
    }
    constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (code < kLeast[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
  }
  return true;
}

template <class T>
struct Field;

// Values of fields, each of the type that its tag says.
class Reader {
 public:
  explicit Reader(Bytes file) : file_(file), in_(file.data(), static_cast<int>(file.size())) {}

  template <class T>
  void message(T& into, std::span<const Field<T>> fields);

  [[noreturn]] void fail(std::string_view what) const {
    raise({.code = ErrorCode::ParseError,
           .what = fmt::format("not an ONNX model: {}{}{}", what, path_.empty() ? "" : " in ",
                               fmt::join(path_, ".")),
           .where = fmt::format("byte {}", in_.CurrentPosition()),
           .legal = "a file that onnx.checker.check_model accepts"});
  }

  Bytes bytes() {
    want(WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
    int length = 0;
    if (!in_.ReadVarintSizeAsInt(&length)) fail("a length that is none");
    const int begin = in_.CurrentPosition();
    if (length > in_.BytesUntilLimit() && in_.BytesUntilLimit() >= 0) fail("an end too early");
    if (!in_.Skip(length)) fail("an end too early");
    return file_.subspan(static_cast<size_t>(begin), static_cast<size_t>(length));
  }
  std::string_view text() {
    const Bytes found = bytes();
    if (!is_utf8(found)) fail("text that is not UTF-8");
    return {reinterpret_cast<const char*>(found.data()), found.size()};
  }
  int64_t integer() {
    want(WireFormatLite::WIRETYPE_VARINT);
    return varint();
  }
  float real() {
    want(WireFormatLite::WIRETYPE_FIXED32);
    return fixed<float>();
  }
  // Repeated numbers come one by one, or packed: all behind one tag.
  template <class Read>
  void packed(WireFormatLite::WireType one, const Read& read) {
    if (type_ == one) return read();
    want(WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
    int length = 0;
    if (!in_.ReadVarintSizeAsInt(&length)) fail("a length that is none");
    const auto outer = limit(length);
    while (in_.BytesUntilLimit() > 0) read();
    in_.PopLimit(outer);
  }
  void integers(std::vector<int64_t>& into) {
    packed(WireFormatLite::WIRETYPE_VARINT, [&] { into.push_back(varint()); });
  }
  void reals(std::vector<float>& into) {
    packed(WireFormatLite::WIRETYPE_FIXED32, [&] { into.push_back(fixed<float>()); });
  }
  int64_t varint() {
    uint64_t value = 0;
    if (!in_.ReadVarint64(&value)) fail("a number that has no end");
    return static_cast<int64_t>(value);
  }
  template <class T>
  T fixed() {
    uint8_t bytes[sizeof(T)];
    if (!in_.ReadRaw(bytes, sizeof(T))) fail("an end too early");
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
  }
  bool is_packed() const { return type_ == WireFormatLite::WIRETYPE_LENGTH_DELIMITED; }

 private:
  void want(WireFormatLite::WireType type) const {
    if (type_ != type) fail("a value of another type");
  }
  // Messages of the tables nest no deeper than ten.
  CodedInputStream::Limit limit(int length) {
    if (in_.BytesUntilLimit() >= 0 && length > in_.BytesUntilLimit()) fail("an end too early");
    if (length > static_cast<int>(file_.size()) - in_.CurrentPosition()) fail("an end too early");
    return in_.PushLimit(length);
  }

  Bytes file_;
  CodedInputStream in_;
  WireFormatLite::WireType type_ = WireFormatLite::WIRETYPE_VARINT;  // of the field that is read
  std::vector<std::string_view> path_;
};

// A field that is read; others are skipped.
template <class T>
struct Field {
  int number;
  std::string_view name;
  void (*read)(Reader&, T&);
};

template <class T>
void Reader::message(T& into, std::span<const Field<T>> fields) {
  const bool is_file = path_.empty();
  CodedInputStream::Limit outer{};
  if (!is_file) {
    want(WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
    int length = 0;
    if (!in_.ReadVarintSizeAsInt(&length)) fail("a length that is none");
    outer = limit(length);
  }
  while (const uint32_t tag = in_.ReadTag()) {
    const auto field =
        std::ranges::find(fields, WireFormatLite::GetTagFieldNumber(tag), &Field<T>::number);
    if (field == fields.end()) {
      if (!WireFormatLite::SkipField(&in_, tag)) fail("a field that has no end");
      continue;
    }
    type_ = WireFormatLite::GetTagWireType(tag);
    path_.push_back(field->name);
    field->read(*this, into);
    path_.pop_back();
  }
  if (!in_.ConsumedEntireMessage() || (!is_file && in_.BytesUntilLimit() != 0)) {
    fail("a tag that is none");
  }
  if (!is_file) in_.PopLimit(outer);
}

template <class T>
T& added(std::vector<T>& list) {
  return list.emplace_back();
}

// Elements that are not in the file as memory has them. A tensor says its elements in one field.
template <class T>
void append(Reader& r, TensorData& t, TensorField field, WireFormatLite::WireType one,
            T (*read)(Reader&)) {
  if (t.field != TensorField::None && t.field != field) r.fail("elements in two fields");
  t.field = field;
  if (!t.decoded) t.decoded = std::make_shared<std::vector<uint8_t>>();
  std::vector<uint8_t>& into = *t.decoded;
  r.packed(one, [&] {
    const T value = read(r);
    const size_t end = into.size();
    into.resize(end + sizeof(T));
    std::memcpy(into.data() + end, &value, sizeof(T));
  });
  t.data = into;
}

// Packed floats are in the file as memory has them.
template <class T>
void append_fixed(Reader& r, TensorData& t, TensorField field, WireFormatLite::WireType one) {
  if (t.field == TensorField::None && r.is_packed()) {
    t.field = field;
    t.data = r.bytes();
    return;
  }
  if (t.field == field && !t.decoded) {
    t.decoded = std::make_shared<std::vector<uint8_t>>(t.data.begin(), t.data.end());
  }
  append<T>(r, t, field, one, [](Reader& in) { return in.fixed<T>(); });
}

using ExternalItem = std::pair<std::string_view, std::string_view>;
constexpr Field<ExternalItem> kExternalItem[] = {
    {1, "key", [](Reader& r, ExternalItem& e) { e.first = r.text(); }},
    {2, "value", [](Reader& r, ExternalItem& e) { e.second = r.text(); }},
};

constexpr Field<TensorData> kTensor[] = {
    {1, "dims", [](Reader& r, TensorData& t) { r.integers(t.dims); }},
    {2, "data_type", [](Reader& r, TensorData& t) { t.type = r.integer(); }},
    {4, "float_data",
     [](Reader& r, TensorData& t) {
       append_fixed<float>(r, t, TensorField::Float, WireFormatLite::WIRETYPE_FIXED32);
     }},
    {5, "int32_data",
     [](Reader& r, TensorData& t) {
       append<int32_t>(r, t, TensorField::Int32, WireFormatLite::WIRETYPE_VARINT,
                       [](Reader& in) { return static_cast<int32_t>(in.varint()); });
     }},
    {6, "string_data",
     [](Reader& r, TensorData& t) {
       r.bytes();
       t.field = TensorField::String;
     }},
    {7, "int64_data",
     [](Reader& r, TensorData& t) {
       append<int64_t>(r, t, TensorField::Int64, WireFormatLite::WIRETYPE_VARINT,
                       [](Reader& in) { return in.varint(); });
     }},
    {8, "name", [](Reader& r, TensorData& t) { t.name = r.text(); }},
    {9, "raw_data",
     [](Reader& r, TensorData& t) {
       if (t.field != TensorField::None) r.fail("elements in two fields");
       t.field = TensorField::Raw;
       t.data = r.bytes();
     }},
    {10, "double_data",
     [](Reader& r, TensorData& t) {
       append_fixed<double>(r, t, TensorField::Double, WireFormatLite::WIRETYPE_FIXED64);
     }},
    {11, "uint64_data",
     [](Reader& r, TensorData& t) {
       append<int64_t>(r, t, TensorField::UInt64, WireFormatLite::WIRETYPE_VARINT,
                       [](Reader& in) { return in.varint(); });
     }},
    {13, "external_data",
     [](Reader& r, TensorData& t) {
       r.message<ExternalItem>(added(t.external_data), kExternalItem);
     }},
    {14, "data_location", [](Reader& r, TensorData& t) { t.external = r.integer() == 1; }},
};

// A value of a kind that files before `type` existed did not name.
void is_of(NodeAttribute& a, AttributeKind kind) {
  if (a.kind == AttributeKind::Undefined) a.kind = kind;
}
template <AttributeKind kind>
void skip(Reader& r, NodeAttribute& a) {
  r.bytes();
  is_of(a, kind);
}

constexpr Field<NodeAttribute> kAttribute[] = {
    {1, "name", [](Reader& r, NodeAttribute& a) { a.name = r.text(); }},
    {2, "f",
     [](Reader& r, NodeAttribute& a) {
       a.real = r.real();
       is_of(a, AttributeKind::Float);
     }},
    {3, "i",
     [](Reader& r, NodeAttribute& a) {
       a.integer = r.integer();
       is_of(a, AttributeKind::Int);
     }},
    {4, "s",
     [](Reader& r, NodeAttribute& a) {
       a.text = r.text();
       is_of(a, AttributeKind::String);
     }},
    {5, "t",
     [](Reader& r, NodeAttribute& a) {
       if (!a.tensor) a.tensor.emplace();
       r.message<TensorData>(*a.tensor, kTensor);
       is_of(a, AttributeKind::Tensor);
     }},
    {6, "g", skip<AttributeKind::Graph>},
    {7, "floats",
     [](Reader& r, NodeAttribute& a) {
       r.reals(a.reals);
       is_of(a, AttributeKind::Floats);
     }},
    {8, "ints",
     [](Reader& r, NodeAttribute& a) {
       r.integers(a.integers);
       is_of(a, AttributeKind::Ints);
     }},
    {9, "strings",
     [](Reader& r, NodeAttribute& a) {
       a.texts.push_back(r.text());
       is_of(a, AttributeKind::Strings);
     }},
    {10, "tensors", skip<AttributeKind::Tensors>},
    {11, "graphs", skip<AttributeKind::Graphs>},
    {14, "tp", skip<AttributeKind::TypeProto>},
    {15, "type_protos", skip<AttributeKind::TypeProtos>},
    {20, "type",
     [](Reader& r, NodeAttribute& a) {
       const int64_t kind = r.integer();
       if (kind < 0 || kind > 14) r.fail("a kind of attribute that there is not");
       a.kind = static_cast<AttributeKind>(kind);
     }},
    {21, "ref_attr_name", [](Reader& r, NodeAttribute& a) { a.reference = r.text(); }},
    {22, "sparse_tensor", skip<AttributeKind::SparseTensor>},
    {23, "sparse_tensors", skip<AttributeKind::SparseTensors>},
};

constexpr Field<NodeData> kNode[] = {
    {1, "input", [](Reader& r, NodeData& n) { n.inputs.push_back(r.text()); }},
    {2, "output", [](Reader& r, NodeData& n) { n.outputs.push_back(r.text()); }},
    {3, "name", [](Reader& r, NodeData& n) { n.name = r.text(); }},
    {4, "op_type", [](Reader& r, NodeData& n) { n.op = r.text(); }},
    {5, "attribute",
     [](Reader& r, NodeData& n) { r.message<NodeAttribute>(added(n.attributes), kAttribute); }},
    {7, "domain", [](Reader& r, NodeData& n) { n.domain = r.text(); }},
};

constexpr Field<Dimension> kDimension[] = {
    {1, "dim_value", [](Reader& r, Dimension& d) { d.extent = r.integer(); }},
    {2, "dim_param", [](Reader& r, Dimension& d) { d.name = r.text(); }},
};
using Dimensions = std::vector<Dimension>;
constexpr Field<Dimensions> kShape[] = {
    {1, "dim",
     [](Reader& r, Dimensions& shape) { r.message<Dimension>(added(shape), kDimension); }},
};
constexpr Field<ValueInfo> kTensorType[] = {
    {1, "elem_type", [](Reader& r, ValueInfo& v) { v.type = r.integer(); }},
    {2, "shape",
     [](Reader& r, ValueInfo& v) {
       if (!v.shape) v.shape.emplace();
       r.message<Dimensions>(*v.shape, kShape);
     }},
};
// Sequences, maps, optionals and sparse tensors are no tensors; what they hold does not matter.
constexpr Field<ValueInfo> kType[] = {
    {1, "tensor_type",
     [](Reader& r, ValueInfo& v) {
       v.is_tensor = true;
       r.message<ValueInfo>(v, kTensorType);
     }},
};
constexpr Field<ValueInfo> kValueInfo[] = {
    {1, "name", [](Reader& r, ValueInfo& v) { v.name = r.text(); }},
    {2, "type", [](Reader& r, ValueInfo& v) { r.message<ValueInfo>(v, kType); }},
};

// Of a sparse tensor the name of its values, which is that of the initializer.
constexpr Field<std::string_view> kSparseTensor[] = {
    {1, "values",
     [](Reader& r, std::string_view& name) {
       TensorData values;
       r.message<TensorData>(values, kTensor);
       name = values.name;
     }},
};

constexpr Field<GraphData> kGraph[] = {
    {1, "node", [](Reader& r, GraphData& g) { r.message<NodeData>(added(g.nodes), kNode); }},
    {5, "initializer",
     [](Reader& r, GraphData& g) { r.message<TensorData>(added(g.initializers), kTensor); }},
    {11, "input",
     [](Reader& r, GraphData& g) { r.message<ValueInfo>(added(g.inputs), kValueInfo); }},
    {12, "output",
     [](Reader& r, GraphData& g) { r.message<ValueInfo>(added(g.outputs), kValueInfo); }},
    {15, "sparse_initializer",
     [](Reader& r, GraphData& g) {
       r.message<std::string_view>(added(g.sparse_initializers), kSparseTensor);
     }},
};

constexpr Field<OpsetImport> kOpset[] = {
    {1, "domain", [](Reader& r, OpsetImport& o) { o.domain = r.text(); }},
    {2, "version", [](Reader& r, OpsetImport& o) { o.version = r.integer(); }},
};

constexpr Field<FunctionData> kFunction[] = {
    {1, "name", [](Reader& r, FunctionData& f) { f.name = r.text(); }},
    {4, "input", [](Reader& r, FunctionData& f) { f.inputs.push_back(r.text()); }},
    {5, "output", [](Reader& r, FunctionData& f) { f.outputs.push_back(r.text()); }},
    {6, "attribute", [](Reader& r, FunctionData& f) { f.attributes.push_back(r.text()); }},
    {7, "node", [](Reader& r, FunctionData& f) { r.message<NodeData>(added(f.nodes), kNode); }},
    {9, "opset_import",
     [](Reader& r, FunctionData& f) { r.message<OpsetImport>(added(f.opsets), kOpset); }},
    {10, "domain", [](Reader& r, FunctionData& f) { f.domain = r.text(); }},
    {11, "attribute_proto",
     [](Reader& r, FunctionData& f) {
       r.message<NodeAttribute>(added(f.default_attributes), kAttribute);
     }},
};

constexpr Field<Model> kModel[] = {
    {1, "ir_version", [](Reader& r, Model& m) { m.ir_version = r.integer(); }},
    {7, "graph", [](Reader& r, Model& m) { r.message<GraphData>(m.graph, kGraph); }},
    {8, "opset_import",
     [](Reader& r, Model& m) { r.message<OpsetImport>(added(m.opsets), kOpset); }},
    {25, "functions",
     [](Reader& r, Model& m) { r.message<FunctionData>(added(m.functions), kFunction); }},
};

}  // namespace

Model parse_model(Bytes file) {
  static_assert(std::endian::native == std::endian::little, "data is used as the file has it");
  if (file.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    raise({.code = ErrorCode::ParseError,
           .what = fmt::format("not an ONNX model: {} bytes", file.size()),
           .legal = "2 GiB at most, as protobuf has it; weights may be external data"});
  }
  Model model;
  if (file.empty()) {
    raise({.code = ErrorCode::ParseError,
           .what = "not an ONNX model: no bytes",
           .legal = "a file that onnx.checker.check_model accepts"});
  }
  Reader(file).message<Model>(model, kModel);
  return model;
}

}  // namespace tw::graph::onnx
