// SPDX-License-Identifier: Apache-2.0
// Scheduled tensor expressions through the whole pipeline to machine code.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "ir/expr.h"
#include "lower/llvm/compile.h"
#include "lower/pipeline.h"
#include "runtime/c_api.h"
#include "runtime/error.h"
#include "runtime/ndarray.h"
#include "schedule/te/operation.h"
#include "tests/support/assembly.h"
#include "tests/support/expect_error.h"

namespace tw {
namespace {

using ::testing::HasSubstr;

// C[m, n] = sum A[m, k] * B[k, n], rows in parallel, a register tile of 4 × 32.
struct Gemm {
  int64_t m, n, k;
  te::Tensor a, b, c;
  Schedule s;

  Gemm(int m_, int n_, int k_) : m(m_), n(n_), k(k_) {
    a = te::placeholder({m_, k_}, float_type(32), "A");
    b = te::placeholder({k_, n_}, float_type(32), "B");
    const IterVar r = te::reduce_axis({0, k_}, "k");
    c = te::compute(
        {m_, n_}, [&](const auto& i) { return te::sum(a(i[0], r->var) * b(r->var, i[1]), {r}); },
        "C");
    s = Schedule::create({c});
    const te::Tensor local = s.cache_write(c, "local");
    const Stage out = s[c], acc = s[local];
    const auto tile = out.tile(out.axis(0), out.axis(1), 4, 32);
    acc.compute_at(out, tile.y_outer);
    const auto lanes = acc.split(acc.axis(1), 16);
    acc.reorder({acc.reduce_axis(0), acc.axis(0), lanes.outer, lanes.inner});
    acc.unroll(acc.axis(0));
    acc.unroll(lanes.outer);
    acc.vectorize(lanes.inner);
    const auto written = out.split(tile.y_inner, 16);
    out.vectorize(written.inner);
    out.unroll(written.outer);
    out.unroll(tile.x_inner);
    out.parallel(tile.x_outer);
  }
  Kernel kernel(const Target& target) const {
    return lower(s, {a, b, c}, target, {.name = "gemm", .passes = {.predicate_tail = true}});
  }
};

NDArray numbers(int64_t rows, int64_t columns) {
  NDArray x = NDArray::empty({rows, columns}, float_type(32));
  for (int64_t i = 0; i < rows * columns; ++i) {
    x.data_as<float>()[i] = static_cast<float>((i * 7 + 3) % 11 - 5);
  }
  return x;
}

TEST(LlvmPipeline, GemmComputesTheDefinition) {
  for (const char* text : {"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64"}) {
    const Target target = Target::parse(text);
    for (const auto& [m, n, k] : {std::tuple(8, 64, 16), {7, 33, 5}, {13, 50, 9}}) {
      SCOPED_TRACE(fmt::format("{} {}x{}x{}", text, m, n, k));
      const Gemm gemm(m, n, k);
      const Function f = compile({gemm.kernel(target)}, target)->get_function("gemm");
      const NDArray a = numbers(m, k), b = numbers(k, n);
      const NDArray c = NDArray::zeros({m, n}, float_type(32));
      f(a, b, c);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          float want = 0;
          for (int64_t r = 0; r < k; ++r) {
            want += a.data_as<float>()[i * k + r] * b.data_as<float>()[r * n + j];
          }
          ASSERT_EQ(c.data_as<float>()[i * n + j], want) << i << ", " << j;
        }
      }
    }
  }
}

TEST(LlvmPipeline, WrongArgumentsAreTypedErrors) {
  const Gemm gemm(8, 64, 16);
  const Function f = compile({gemm.kernel(Target::host())}, Target::host())->get_function("gemm");
  const NDArray c = NDArray::zeros({8, 64}, float_type(32));
  const auto code = [&](const NDArray& a, const NDArray& b) {
    try {
      f(a, b, c);
    } catch (const UserError& e) {
      return e.code();
    }
    return ErrorCode::Internal;
  };
  EXPECT_EQ(code(numbers(8, 15), numbers(16, 64)), ErrorCode::ArgumentShape);
  EXPECT_EQ(code(NDArray::zeros({8, 16}, int_type(32)), numbers(16, 64)), ErrorCode::ArgumentDType);
  EXPECT_EQ(code(NDArray::zeros({128}, float_type(32)), numbers(16, 64)), ErrorCode::ArgumentShape);
  EXPECT_EQ(code(NDArray(), numbers(16, 64)), ErrorCode::ArgumentNull);
}

// DLPack wants a null pointer of a tensor without elements (dlpack.h).
TEST(LlvmPipeline, TensorsWithoutElementsMayBeNull) {
  const Var n("n");
  const te::Tensor a = te::placeholder({n, 3}, float_type(32), "A");
  const te::Tensor b = te::compute({n, 3}, [&](const auto& i) { return a(i[0], i[1]) * 2; }, "B");
  const Target target = Target::host();
  const Function f = compile({lower(Schedule::create({b}), {a, b}, target, {.name = "f"})}, target)
                         ->get_function("f");
  int64_t shape[] = {0, 3};
  const auto null = [&] { return tw_tensor(nullptr, to_dlpack(float_type(32)), 2, shape); };
  const DLTensor x = null(), y = null();
  f(&x, &y);
  shape[0] = 2;
  test::expect_error(ErrorCode::ArgumentNull, [&] { f(&x, &y); });
}

TEST(LlvmPipeline, TheTileIsInRegisters) {
  const Target target = Target::parse("llvm -mcpu=sapphirerapids");
  const std::string assembly = test::assembly_for(target, Gemm(64, 64, 64).kernel(target));
  // Accumulators are never in memory.
  EXPECT_THAT(assembly, HasSubstr("vfmadd231ps"));
  EXPECT_FALSE(std::regex_search(assembly, std::regex("zmm[^\n]*%rsp|%rsp[^\n]*zmm")));
}

}  // namespace
}  // namespace tw
