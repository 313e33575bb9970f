// SPDX-License-Identifier: Apache-2.0
// Inputs whose memory an output may take: what the pass finds, what kernels then compute in place,
// and what they refuse.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "lower/llvm/compile.h"
#include "lower/pipeline.h"
#include "runtime/c_api.h"
#include "runtime/thread_pool.h"
#include "tests/support/expect_error.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// What C may share with A (argument 0) and B (1) in a kernel of this body.
std::vector<int> shared(const std::string& text, bool written_once = true,
                        DType a_type = float_type(32)) {
  Kernel kernel{
      .body = parse_stmt(fmt::format("declare A: {}*\ndeclare B: float32*\ndeclare C: float32*\n"
                                     "declare n: int32\n{}",
                                     to_string(a_type), text))};
  const std::vector<Var> free = free_vars(kernel.body);
  for (const char* name : {"A", "B", "C"}) {
    const auto var = std::ranges::find(free, name, [](const Var& v) { return v.name(); });
    const bool output = std::string_view(name) == "C";
    const DType type = std::string_view(name) == "A" ? a_type : float_type(32);
    kernel.arguments.push_back({.name = name,
                                .dtype = type,
                                .shape = {1024},
                                .var = var != free.end() ? *var : buffer_var(name, type),
                                .is_output = output,
                                .written_once = output && written_once});
  }
  return run_pass(pass::share_arguments, kernel).arguments[2].may_share;
}

TEST(ShareArguments, ReadWhereWritten) {
  EXPECT_THAT(shared("for (i, 0, n) { C[i] = (A[i] + B[i]) }"), ElementsAre(0, 1));
  EXPECT_THAT(shared("for (i, 0, n) { C[i] = (A[i]*(A[i] + B[0])) }"), ElementsAre(0));
  EXPECT_THAT(shared("parallel (i, 0, n) { C[ramp((i*16), 1, 16)] = "
                     "(A[ramp((i*16), 1, 16)]*x16(B[i])) }"),
              ElementsAre(0));
  EXPECT_THAT(shared("for (i, 0, n) { C[((i*2) + 1)] = A[((i*2) + 1)] C[(i*2)] = A[(i*2)] }"),
              ElementsAre(0));
  EXPECT_THAT(shared("for (i, 0, n) { prefetch(A[(i + 64)], 0, 3, 1) C[i] = A[i] }"),
              ElementsAre(0));
  EXPECT_THAT(shared("for (i, 0, n) { C[i] = float32(A[i]) }", true, int_type(32)), ElementsAre(0));
}

TEST(ShareArguments, ReadElsewhereToo) {
  EXPECT_THAT(shared("for (i, 0, n) { C[i] = A[(i + 1)] }"), IsEmpty());
  EXPECT_THAT(shared("for (i, 0, n) { C[i] = (A[i] + A[0]) }"), IsEmpty());
  EXPECT_THAT(shared("for (i, 0, n) { C[ramp((i*2), 1, 2)] = x2(A[(i*2)]) }"), IsEmpty());
  EXPECT_THAT(shared("for (i, 0, n) { if ((A[i] < 1.000000f)) { C[i] = A[i] } }"), IsEmpty());
  EXPECT_THAT(shared("for (i, 0, n) { let x = A[i] C[i] = x }"), IsEmpty());
  EXPECT_THAT(shared("for (i, 0, n) { C[i] = A[i] C[int32(A[i])] = A[i] }"), IsEmpty());
  // Into another buffer, and into another output.
  EXPECT_THAT(shared("allocate t[float32 * 1]\nfor (i, 0, n) { t[0] = A[i] C[i] = t[0] }"),
              IsEmpty());
  EXPECT_THAT(shared("for (i, 0, n) { C[i] = A[i] B[i] = A[i] }"), IsEmpty());
  EXPECT_THAT(shared("for (i, 0, n) { C[i] = A[i] call_extern<int32>(\"f\", A) }"), IsEmpty());
}

TEST(ShareArguments, WrittenMoreThanOnceOrOfAnotherSize) {
  EXPECT_THAT(shared("for (i, 0, n) { C[i] = A[i] }", false), IsEmpty());
  EXPECT_THAT(shared("for (i, 0, n) { C[i] = float32(A[i]) }", true, int_type(8)), IsEmpty());
}

te::Tensor input(const char* name, const std::vector<Expr>& shape = {64, 48}) {
  return te::placeholder(shape, float_type(32), name);
}
Kernel lowered(const Schedule& s, const std::vector<LowerArgument>& arguments) {
  return lower(s, arguments, Target::host(), {.name = "f", .verify = true});
}

// C = relu(A) + B * v in as many ways as there are to run a loop.
struct Elementwise {
  te::Tensor a = input("A"), b = input("B"), v = input("v", {48});
  te::Tensor relu = te::compute(
      {64, 48},
      [&](const auto& i) { return max(a(i[0], i[1]), make_const_float(float_type(32), 0)); },
      "relu");
  te::Tensor c = te::compute(
      {64, 48}, [&](const auto& i) { return relu(i[0], i[1]) + b(i[0], i[1]) * v(i[1]); }, "C");

  Schedule schedule(int how) const {
    const Schedule s = Schedule::create({c});
    s[relu].compute_inline();
    const Stage stage = s[c];
    const auto rows = stage.axis(0), columns = stage.axis(1);
    const auto [outer, inner] = stage.split(columns, how % 2 == 0 ? 16 : 20);
    if (how / 2 % 2 == 1) stage.vectorize(inner);
    if (how / 4 % 2 == 1) stage.unroll(outer);
    if (how / 8 % 2 == 1) stage.parallel(rows);
    return s;
  }
};

NDArray filled(const std::vector<int64_t>& shape, int seed) {
  NDArray array = NDArray::empty(shape, float_type(32));
  for (int64_t i = 0; i < array.size(); ++i)
    array.data_as<float>()[i] = static_cast<float>((i * 37 + seed) % 19 - 9);
  return array;
}
bool same(const NDArray& a, const NDArray& b) {
  return std::equal(a.data_as<float>(), a.data_as<float>() + a.size(), b.data_as<float>());
}

TEST(ShareArguments, ElementwiseKernelsWorkInPlace) {
  ThreadPool::global().set_num_threads(3);
  const Elementwise e;
  for (int how = 0; how < 16; ++how) {
    const Kernel kernel = lowered(e.schedule(how), {e.a, e.b, e.v, e.c});
    EXPECT_THAT(kernel.arguments[3].may_share, ElementsAre(0, 1)) << how;
    const Function f = compile(kernel, Target::host())->get_function("f");
    EXPECT_THAT(f.info().arguments[3].may_share, ElementsAre(0, 1));
    const NDArray v = filled({48}, 3), expected = NDArray::empty({64, 48}, float_type(32));
    f(filled({64, 48}, 1), filled({64, 48}, 2), v, expected);
    for (const Function& entry : {f, f.unchecked()}) {
      const NDArray first = filled({64, 48}, 1), second = filled({64, 48}, 2);
      entry(first, filled({64, 48}, 2), v, first);
      EXPECT_TRUE(same(first, expected)) << how;
      entry(filled({64, 48}, 1), second, v, second);
      EXPECT_TRUE(same(second, expected)) << how;
      // All three at once.
      const NDArray both = filled({64, 48}, 1), twice = NDArray::empty({64, 48}, float_type(32));
      f(filled({64, 48}, 1), filled({64, 48}, 1), v, twice);
      entry(both, both, v, both);
      EXPECT_TRUE(same(both, twice)) << how;
    }
  }
}

TEST(ShareArguments, OtherOverlapsAreRefused) {
  const Elementwise e;
  const Function f =
      compile(lowered(e.schedule(2), {e.a, e.b, e.v, e.c}), Target::host())->get_function("f");
  const NDArray memory = filled({3 * 64 * 48}, 0);
  const std::vector<int64_t> matrix = {64, 48}, compact = {48, 1}, row = {48}, step = {1};
  const auto at = [&](int64_t offset) { return memory.view(matrix, compact, offset); };
  const int64_t size = 64 * 48;
  const NDArray v = filled({48}, 1);
  f(at(0), at(size), v, at(2 * size));
  f(at(0), at(size), v, at(size));
  for (int64_t shift : {-1, 1, 48, 64, 3000}) {
    test::expect_error(ErrorCode::ArgumentOverlap,
                       [&] { f(at(size + shift), filled({64, 48}, 1), v, at(size)); });
  }
  // v is read for every row.
  test::expect_error(ErrorCode::ArgumentOverlap,
                     [&] { f(at(size), at(size), memory.view(row, step, 0), at(0)); });
}

TEST(ShareArguments, ProductsTakeTheMemoryOfWhatIsAdded) {
  const te::Tensor a = input("A", {32, 40}), b = input("B", {40, 48}), r = input("R", {32, 48});
  const IterVar k = te::reduce_axis({0, 40}, "k");
  const te::Tensor product = te::compute(
      {32, 48}, [&](const auto& i) { return te::sum(a(i[0], k.var()) * b(k.var(), i[1]), {k}); },
      "product");
  const te::Tensor c = te::compute(
      {32, 48}, [&](const auto& i) { return product(i[0], i[1]) + r(i[0], i[1]); }, "C");
  const Schedule s = Schedule::create({c});
  const auto [yo, xo, yi, xi] = s[c].tile(s[c].axis(0), s[c].axis(1), 4, 16);
  s[c].vectorize(xi);
  s[product].compute_at(s[c], xo);
  s[product].set_scope("local");
  s[product].reorder({k, s[product].axis(0), s[product].axis(1)});
  s[product].vectorize(s[product].axis(1));
  const Kernel kernel = lowered(s, {a, b, r, c});
  EXPECT_THAT(kernel.arguments[3].may_share, ElementsAre(2));
  const Function f = compile(kernel, Target::host())->get_function("f");
  const NDArray in = filled({32, 40}, 1), weights = filled({40, 48}, 2), sum = filled({32, 48}, 3);
  const NDArray expected = NDArray::empty({32, 48}, float_type(32));
  f(in, weights, sum, expected);
  f(in, weights, sum, sum);
  EXPECT_TRUE(same(sum, expected));
  // The code still takes it that the product's operands are not written to.
  const std::string ll = compile(kernel, Target::host())->source("ll");
  EXPECT_THAT(ll, testing::HasSubstr("noalias"));
  EXPECT_THAT(ll, testing::HasSubstr("!invariant.load"));
}

// What reads an input more than once, or runs more than once, is not to work in place.
TEST(ShareArguments, StagesThatAreNotElementwise) {
  const te::Tensor a = input("A", {64});
  const auto may_share = [&](const te::Tensor& c, const std::function<void(Schedule&)>& set) {
    Schedule s = Schedule::create({c});
    set(s);
    return lowered(s, {a, c}).arguments[1].may_share;
  };
  const auto nothing = [](Schedule&) {};
  const te::Tensor one = te::compute({64}, [&](const auto& i) { return a(i[0]) + 1; }, "C");
  EXPECT_THAT(may_share(one, nothing), ElementsAre(0));
  // Code generation then takes nothing for granted of the two.
  const std::string ll =
      compile(lowered(Schedule::create({one}), {a, one}), Target::host())->source("ll");
  EXPECT_THAT(ll, testing::Not(testing::HasSubstr("!invariant.load")));
  EXPECT_THAT(ll, testing::Not(testing::HasSubstr("noalias nocapture")));
  EXPECT_THAT(ll, testing::Not(testing::HasSubstr("!noalias")));
  const te::Tensor reversed = te::compute({64}, [&](const auto& i) { return a(63 - i[0]); }, "C");
  EXPECT_THAT(may_share(reversed, nothing), IsEmpty());
  const IterVar k = te::reduce_axis({0, 64}, "k");
  const te::Tensor sums =
      te::compute({64}, [&](const auto& i) { return te::sum(a(i[0]) * 2, {k}); }, "C");
  EXPECT_THAT(may_share(sums, nothing), IsEmpty());
  // A is read by a stage of its own.
  const te::Tensor t = te::compute({64}, [&](const auto& i) { return a(i[0]) * 2; }, "t");
  const te::Tensor c = te::compute({64}, [&](const auto& i) { return t(i[0]) + a(i[0]); }, "C");
  EXPECT_THAT(may_share(c, nothing), IsEmpty());
  EXPECT_THAT(may_share(c, [&](Schedule& s) { s[t].compute_inline(); }), ElementsAre(0));
}

}  // namespace
}  // namespace tw
