// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/expr.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/te/operation.h"
#include "tests/support/expect_error.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

KernelArgument argument(const te::Tensor& t, bool is_output = false) {
  return {.name = t.name(),
          .dtype = t.dtype(),
          .shape = t.shape(),
          .var = buffer_var(t.name(), t.dtype()),
          .is_output = is_output,
          .producer = t.op(),
          .value_index = t.value_index()};
}

struct Example {
  te::Tensor a = te::placeholder({6, 10}, float_type(32), "A");
  te::Tensor b = te::compute({6, 8}, [&](const auto& i) { return a(i[0], i[1] + 2); }, "B");
  Var y{"y"}, x{"x"};

  // B, realized for row y only.
  Stmt row(const std::string& scope) const {
    const Stmt loop = make(
        For{.var = x,
            .min = 0,
            .extent = 8,
            .body = make(Provide{.producer = b.op(), .value = a(y, x + 2), .indices = {y, x}})});
    return make(
        Realize{.producer = b.op(), .bounds = {{y, 1}, {0, 8}}, .scope = scope, .body = loop});
  }
};

TEST(StorageFlatten, CountsFromTheRealizedMinimum) {
  const Example e;
  const Kernel kernel = run_pass(pass::storage_flatten,
                                 Kernel{.arguments = {argument(e.a)}, .body = e.row("global")});
  EXPECT_EQ(to_string(kernel.body), R"(// attr [B] storage_scope = "global"
allocate B[float32 * 1 * 8]
for (x, 0, 8) {
  B[x] = A[(((y*10) + x) + 2)]
}
)");
}

TEST(StorageFlatten, ArgumentsAreNotAllocated) {
  const Example e;
  const Kernel kernel =
      run_pass(pass::storage_flatten,
               Kernel{.arguments = {argument(e.a), argument(e.b, true)}, .body = e.row("global")});
  EXPECT_EQ(to_string(kernel.body), R"(for (x, 0, 8) {
  B[((y*8) + x)] = A[(((y*10) + x) + 2)]
}
)");
}

TEST(StorageFlatten, UnrealizedTensorIsAnError) {
  const Example e;
  try {
    run_pass(pass::storage_flatten, Kernel{.body = e.row("global")});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::MalformedIr);
  }
}

// 2⁶⁴ elements would be none in 64 bits, and the buffer too small for any access.
TEST(StorageFlatten, MoreElementsThanIndicesReach) {
  for (const auto& [type, extent] :
       {std::pair(int_type(32), int64_t{1} << 16), {int_type(64), int64_t{1} << 32}}) {
    const Expr side = make_const(type, extent);
    const te::Tensor t = te::placeholder({side, side}, float_type(32), "T");
    const Kernel kernel{.arguments = {argument(t)}, .body = make(Evaluate{.value = 0})};
    test::expect_error(ErrorCode::BadShape, [&] { run_pass(pass::storage_flatten, kernel); });
  }
}

// Rows of 10 elements, 17 apart; planes of 3 rows, 64 apart.
TEST(StorageFlatten, PadsRowPitches) {
  const te::Tensor t = te::compute({2, 3, 10}, [](const auto&) { return Expr(1); }, "T");
  const Var p("p"), y("y"), x("x");
  Stmt s = make(Provide{.producer = t.op(), .value = 1, .indices = {p, y, x + 1}});
  for (const auto& [v, n] : {std::pair(x, 9), std::pair(y, 3), std::pair(p, 2)})
    s = make(For{.var = v, .min = 0, .extent = n, .body = s});
  s = make(Realize{
      .producer = t.op(), .bounds = {{0, 2}, {0, 3}, {1, 9}}, .scope = "global", .body = s});
  s = make(AttrStmt{.node = 1, .key = "row_pitch_offset", .value = 1, .body = s});
  s = make(AttrStmt{.node = 1, .key = "row_pitch", .value = 16, .body = s});
  s = make(AttrStmt{.node = 0, .key = "row_pitch", .value = 64, .body = s});
  EXPECT_EQ(to_string(run_pass(pass::storage_flatten, Kernel{.body = s}).body),
            R"(// attr [T] storage_scope = "global"
allocate T[int32 * 128]
for (p, 0, 2) {
  for (y, 0, 3) {
    for (x, 0, 9) {
      T[(((p*64) + (y*17)) + x)] = 1
    }
  }
}
)");
}

}  // namespace
}  // namespace tw
