// SPDX-License-Identifier: Apache-2.0
// What x86 processors compute at once. A row of a table is an intrinsic; what it computes is
// written as a tensor expression, the memory it takes as buffers, and what code is generated as
// statements.
#include <fmt/format.h>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "schedule/te/text.h"
#include "schedule/tensor_intrin.h"

namespace tw {
namespace {

// One element of each operand of a product, and of the sums.
struct Types {
  const char* a;
  const char* b;
  const char* sum;
  int group;  // products that are added up at once
};

// ---------------------------------------------------------------------------------------------
// Dot products in vector registers: sixteen sums, each of a group of products. A group of `a` is
// the same for all; those of `b` stand side by side.

struct DotRow {
  const char* name;
  Types types;
  const char* feature;
};
constexpr DotRow kDots[] = {
    {"vnni.dot_u8s8", {"uint8", "int8", "int32", 4}, "avx512vnni"},
    {"vnni.dot_s8s8", {"int8", "int8", "int32", 4}, "avx512vnni"},
    {"avx512.dot_bf16", {"bfloat16", "bfloat16", "float32", 2}, "avx512bf16"},
};
constexpr int kLanes = 16;

// The loop that code generation knows as one instruction (lower/llvm/emit_dot.cc).
Stmt dot_update(const IntrinBuffer& a, const IntrinBuffer& b, const IntrinBuffer& c, int group) {
  const Var k("k", int_type(32));
  const Expr lanes = make(Ramp{.base = c.elem_offset, .stride = 1, .lanes = kLanes});
  const Expr groups = make(
      Ramp{.base = b.elem_offset + k, .stride = make_const(int_type(32), group), .lanes = kLanes});
  const DType wide = c.dtype.with_lanes(kLanes);
  const Expr x = make(Load{.type = a.dtype, .buffer = a.data, .index = a.elem_offset + k});
  const Expr y = make(Load{.type = b.dtype.with_lanes(kLanes), .buffer = b.data, .index = groups});
  const Expr sum = make(Load{.type = wide, .buffer = c.data, .index = lanes});
  const Expr more = broadcast(cast(c.dtype, x), kLanes) * cast(wide, y);
  return make(For{.var = k,
                  .min = 0,
                  .extent = make_const(int_type(32), group),
                  .body = make(Store{.buffer = c.data, .value = sum + more, .index = lanes})});
}

TensorIntrin dot(const DotRow& row) {
  const te::Program program = te::parse_program(fmt::format(
      "te 1\nA = placeholder({a}, [{g}])\nB = placeholder({b}, [{n}, {g}])\n"
      "C = compute([j: {n}], reduce [k: {g}], sum(({sum}(A(k))*{sum}(B(j, k)))))\n"
      "arguments A B C\noutputs C\n",
      fmt::arg("a", row.types.a), fmt::arg("b", row.types.b), fmt::arg("sum", row.types.sum),
      fmt::arg("g", row.types.group), fmt::arg("n", kLanes)));
  std::vector<IntrinBuffer> buffers;
  for (const te::Tensor& t : program.arguments)
    buffers.push_back(decl_buffer(t.shape(), t.dtype(), t.name(), {}, 1));
  const IntrinBuffer& c = buffers[2];
  const te::Operation op = program.outputs[0].op();
  return make_tensor_intrin(
      {.name = row.name,
       .op = op,
       .inputs = {program.arguments[0], program.arguments[1]},
       .buffers = buffers,
       .reset =
           make(Store{.buffer = c.data,
                      .value = make_zero(c.dtype.with_lanes(kLanes)),
                      .index = make(Ramp{.base = c.elem_offset, .stride = 1, .lanes = kLanes})}),
       .update = dot_update(buffers[0], buffers[1], c, row.types.group),
       .features = {row.feature, "avx512vl"}});
}

// ---------------------------------------------------------------------------------------------
// Panels of a product's right side: of a group of its rows sixteen columns, each with what the rows
// have of it side by side.

struct InterleaveRow {
  const char* name;
  const char* type;
  int group;
};
constexpr InterleaveRow kInterleaves[] = {
    {"avx512.interleave_u8", "uint8", 4},
    {"avx512.interleave_s8", "int8", 4},
    {"avx512.interleave_bf16", "bfloat16", 2},
};

// Rows any distance apart; the result lies as a whole.
Stmt interleaved(const IntrinBuffer& x, const IntrinBuffer& y, int group) {
  Shuffle shuffle;
  for (int g = 0; g < group; ++g) {
    const Expr row = x.elem_offset + x.strides[0] * make_const(int_type(32), g);
    shuffle.vectors.push_back(
        make(Load{.type = x.dtype.with_lanes(kLanes),
                  .buffer = x.data,
                  .index = make(Ramp{.base = row, .stride = 1, .lanes = kLanes})}));
  }
  for (int lane = 0; lane < kLanes * group; ++lane)
    shuffle.indices.push_back(lane % group * kLanes + lane / group);
  const Expr places = make(Ramp{.base = y.elem_offset, .stride = 1, .lanes = kLanes * group});
  return make(Store{.buffer = y.data, .value = make(std::move(shuffle)), .index = places});
}

TensorIntrin interleave(const InterleaveRow& row) {
  const te::Program program = te::parse_program(
      fmt::format("te 1\nX = placeholder({t}, [{g}, {n}])\nY = compute([j: {n}, g: {g}], X(g, j))\n"
                  "arguments X Y\noutputs Y\n",
                  fmt::arg("t", row.type), fmt::arg("g", row.group), fmt::arg("n", kLanes)));
  const te::Tensor x = program.arguments[0], y = program.outputs[0];
  std::vector<Expr> strides = compact_strides(x.shape());
  strides[0] = Var("pitch", int_type(32));
  const IntrinBuffer from = decl_buffer(x.shape(), x.dtype(), x.name(), std::move(strides), 1),
                     to = decl_buffer(y.shape(), y.dtype(), y.name(), {}, 1);
  return make_tensor_intrin({.name = row.name,
                             .op = y.op(),
                             .inputs = {x},
                             .buffers = {from, to},
                             .body = interleaved(from, to, row.group),
                             .features = {"avx512bw"}});
}

// ---------------------------------------------------------------------------------------------
// Tile registers: sixteen rows of 64 bytes. `a` has a row of the product's left side in each, `b`
// sixteen columns of the right side in each, in groups of 32 bits.

constexpr int kTileRows = 16;

struct TileDotRow {
  const char* name;  // of the instruction, after "amx.dot_"
  Types types;
  const char* feature;
};
constexpr TileDotRow kTileDots[] = {
    {"u8s8", {"uint8", "int8", "int32", 4}, "amx-int8"},
    {"s8s8", {"int8", "int8", "int32", 4}, "amx-int8"},
    {"s8u8", {"int8", "uint8", "int32", 4}, "amx-int8"},
    {"u8u8", {"uint8", "uint8", "int32", 4}, "amx-int8"},
    {"bf16", {"bfloat16", "bfloat16", "float32", 2}, "amx-bf16"},
};
struct TileMoveRow {
  const char* name;
  const char* type;
  int group;  // elements that stand together; 1: rows as they are
  const char* operation;
};
// What streams is read once while something else stays in the first cache.
constexpr TileMoveRow kTileMoves[] = {
    {"amx.load_a_u8", "uint8", 1, "amx_tile_load"},
    {"amx.load_a_s8", "int8", 1, "amx_tile_load"},
    {"amx.load_a_bf16", "bfloat16", 1, "amx_tile_load"},
    {"amx.stream_a_u8", "uint8", 1, "amx_tile_stream"},
    {"amx.stream_a_s8", "int8", 1, "amx_tile_stream"},
    {"amx.stream_a_bf16", "bfloat16", 1, "amx_tile_stream"},
    {"amx.load_b_u8", "uint8", 4, "amx_tile_load"},
    {"amx.load_b_s8", "int8", 4, "amx_tile_load"},
    {"amx.load_b_bf16", "bfloat16", 2, "amx_tile_load"},
    {"amx.store_s32", "int32", 1, "amx_tile_store"},
    {"amx.store_f32", "float32", 1, "amx_tile_store"},
};

// Rows any distance apart, and inside a row no gaps.
IntrinBuffer rows_of(const te::Tensor& t, bool in_tile) {
  std::vector<Expr> strides = compact_strides(t.shape());
  strides[0] = Var(t.name() + ".pitch", int_type(32));
  return decl_buffer(t.shape(), t.dtype(), t.name(), std::move(strides), 1,
                     in_tile ? attr::kTileScope : "global");
}
// An operand of an amx_ intrinsic: where it begins, and the pitch of its rows.
void place(std::vector<Expr>& args, const IntrinBuffer& buffer) {
  args.push_back(address_of(buffer, 0));
  args.push_back(buffer.strides[0]);
}
Stmt tile_operation(const std::string& name, std::vector<Expr> args) {
  return make(Evaluate{.value = call(int_type(32), name, std::move(args), CallKind::Intrinsic)});
}

TensorIntrin tile_dot(const TileDotRow& row) {
  const Types& t = row.types;
  const te::Program program = te::parse_program(fmt::format(
      "te 1\nA = placeholder({a}, [{n}, {k}])\nB = placeholder({b}, [{n}, {n}, {g}])\n"
      "C = compute([i: {n}, j: {n}], reduce [k: {k}], "
      "sum(({sum}(A(i, k))*{sum}(B(floordiv(k, {g}), j, floormod(k, {g}))))))\n"
      "arguments A B C\noutputs C\n",
      fmt::arg("a", t.a), fmt::arg("b", t.b), fmt::arg("sum", t.sum), fmt::arg("g", t.group),
      fmt::arg("n", kTileRows), fmt::arg("k", kTileRows * t.group)));
  std::vector<IntrinBuffer> buffers;
  for (const te::Tensor& tensor : program.arguments) buffers.push_back(rows_of(tensor, true));
  std::vector<Expr> sums, all = {make(StringImm{.value = row.name})};
  place(sums, buffers[2]);
  for (const size_t k : {2, 0, 1}) place(all, buffers[k]);
  return make_tensor_intrin({.name = std::string("amx.dot_") + row.name,
                             .op = program.outputs[0].op(),
                             .inputs = {program.arguments[0], program.arguments[1]},
                             .buffers = buffers,
                             .reset = tile_operation("amx_tile_zero", sums),
                             .update = tile_operation("amx_tile_dot", all),
                             .features = {row.feature}});
}

TensorIntrin tile_move(const TileMoveRow& row) {
  const int columns = 64 / parse_dtype(row.type).element_bytes();
  const std::string shape =
      row.group == 1 ? fmt::format("{}, {}", kTileRows, columns)
                     : fmt::format("{}, {}, {}", kTileRows, columns / row.group, row.group);
  const te::Program program = te::parse_program(fmt::format(
      "te 1\nX = placeholder({}, [{}])\nY = compute([{}], X({}))\narguments X Y\noutputs Y\n",
      row.type, shape,
      row.group == 1
          ? fmt::format("i: {}, j: {}", kTileRows, columns)
          : fmt::format("i: {}, j: {}, g: {}", kTileRows, columns / row.group, row.group),
      row.group == 1 ? "i, j" : "i, j, g"));
  const te::Tensor x = program.arguments[0], y = program.outputs[0];
  const bool stores = std::string_view(row.operation) == "amx_tile_store";
  const IntrinBuffer from = rows_of(x, stores), to = rows_of(y, !stores);
  std::vector<Expr> args;
  place(args, to);
  place(args, from);
  return make_tensor_intrin({.name = row.name,
                             .op = y.op(),
                             .inputs = {x},
                             .buffers = {from, to},
                             .body = tile_operation(row.operation, std::move(args)),
                             .features = {"amx-tile"}});
}

}  // namespace

std::vector<TensorIntrin> builtin_tensor_intrins() {
  std::vector<TensorIntrin> list;
  for (const DotRow& row : kDots) list.push_back(dot(row));
  for (const InterleaveRow& row : kInterleaves) list.push_back(interleave(row));
  for (const TileDotRow& row : kTileDots) list.push_back(tile_dot(row));
  for (const TileMoveRow& row : kTileMoves) list.push_back(tile_move(row));
  return list;
}

}  // namespace tw
