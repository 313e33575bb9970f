// SPDX-License-Identifier: Apache-2.0
// float16 on a processor without F16C: exact conversions that need no library.
#include <gtest/gtest.h>

#include <bit>

#include "runtime/half.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/lower/llvm_support.h"

namespace tw::test {
namespace {

const Target& plain() {
  static const Target target = Target::parse("llvm -mcpu=x86-64");
  return target;
}

// O[i] = A[i] converted, in vectors of sixteen or one by one.
Kernel conversion(DType from, DType to, int n, bool vector) {
  const std::string text =
      vector ? fmt::format(
                   "for (i, 0, {}) {{ O[ramp((i*16), 1, 16)] = {}x16(A[ramp((i*16), 1, 16)]) }}",
                   n / 16, to_string(to))
             : fmt::format("for (i, 0, {}) {{ O[i] = {}(A[i]) }}", n, to_string(to));
  return make_kernel(text, {{"A", from, {n}}, {"O", to, {n}, true}});
}

TEST(LlvmHalf, WidensEveryValue) {
  constexpr int n = 1 << 16;
  NDArray a = NDArray::empty({n}, float_type(16));
  for (int i = 0; i < n; ++i) a.data_as<uint16_t>()[i] = static_cast<uint16_t>(i);
  for (const bool vector : {true, false}) {
    NDArray single = NDArray::zeros({n}, float_type(32));
    NDArray twice = NDArray::zeros({n}, float_type(64));
    call(compile_function(conversion(float_type(16), float_type(32), n, vector), plain()),
         {a, single});
    call(compile_function(conversion(float_type(16), float_type(64), n, vector), plain()),
         {a, twice});
    for (int i = 0; i < n; ++i) {
      const float want = float16_to_float(static_cast<uint16_t>(i));
      ASSERT_EQ(single.data_as<uint32_t>()[i], std::bit_cast<uint32_t>(want)) << i;
      const double wide = want;
      ASSERT_EQ(twice.data_as<uint64_t>()[i], std::bit_cast<uint64_t>(wide)) << i;
    }
  }
}

// Around every value of a float16, and around the middle between it and the next.
TEST(LlvmHalf, NarrowsToNearestEven) {
  std::vector<float> inputs;
  for (uint32_t h = 0; h < 1 << 16; ++h) {
    const uint32_t at = std::bit_cast<uint32_t>(float16_to_float(static_cast<uint16_t>(h)));
    const uint32_t next = std::bit_cast<uint32_t>(float16_to_float(static_cast<uint16_t>(h + 1)));
    for (const uint32_t bits : {at, at + (next - at) / 2}) {
      for (const uint32_t nudge : {-1, 0, 1, 2})
        inputs.push_back(std::bit_cast<float>(bits + nudge));
    }
  }
  const int n = static_cast<int>(inputs.size());
  NDArray a = NDArray::empty({n}, float_type(32));
  std::copy(inputs.begin(), inputs.end(), a.data_as<float>());
  for (const bool vector : {true, false}) {
    NDArray o = NDArray::zeros({n}, float_type(16));
    call(compile_function(conversion(float_type(32), float_type(16), n, vector), plain()), {a, o});
    for (int i = 0; i < n; ++i) {
      const float x = inputs[static_cast<size_t>(i)];
      ASSERT_EQ(o.data_as<uint16_t>()[i], float_to_float16(x)) << std::bit_cast<uint32_t>(x);
    }
  }
}

TEST(LlvmHalf, ExportedLibraryLinksWithoutACompilersLibrary) {
  const test::TemporaryFolder folder;
  const Kernel sum = make_kernel(
      "for (i, 0, 4) { O[ramp((i*16), 1, 16)] = (A[ramp((i*16), 1, 16)] + A[ramp((i*16), 1, 16)]) "
      "}\n"
      "for (i, 0, 64) { P[i] = float16((float64(A[i])*float64(0.5))) }",
      {{"A", float_type(16), {64}},
       {"O", float_type(16), {64}, true},
       {"P", float_type(16), {64}, true}});
  compile({sum}, plain())->export_library(folder.file("f.so"));
  NDArray a = NDArray::empty({64}, float_type(16)), o = NDArray::zeros({64}, float_type(16));
  NDArray p = NDArray::zeros({64}, float_type(16));
  for (int i = 0; i < 64; ++i) a.data_as<uint16_t>()[i] = float_to_float16(static_cast<float>(i));
  call(load_library(folder.file("f.so"))->get_function("kernel"), {a, o, p});
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(float16_to_float(o.data_as<uint16_t>()[i]), 2.0f * static_cast<float>(i));
    EXPECT_EQ(float16_to_float(p.data_as<uint16_t>()[i]), 0.5f * static_cast<float>(i));
  }
}

// Moves of floats of 16 bits: chosen, interleaved, masked, one by one, and constants beside them.
TEST(LlvmHalf, MovesNeedNoArithmetic) {
  for (const char* dtype : {"bfloat16", "float16"}) {
    const DType t = parse_dtype(dtype);
    const std::string suffix = t.code == TypeCode::BFloat ? "bf" : "h";
    const Kernel kernel = make_kernel(fmt::format(
                                          R"(for (i, 0, 4) {{
  O[ramp((i*32), 1, 32)] = shuffle([A[ramp((i*16), 1, 16)], tvm_if_then_else((i < 3), A[ramp(((i*16) + 16), 1, 16)], x16(1.500000{0}))], [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31])
  O[ramp(((i*16) + 128), 1, 16)] = select((ramp(0, 1, 16) < x16((i*4))), A[ramp((i*16), 1, 16)], x16(A[i]))
  O[ramp(((i*16) + 192), 1, 16)] = (A[ramp((i*16), 1, 16)] if (ramp(0, 1, 16) < x16((i*5))))
  O[(i + 256)] = A[(i*3)]
  O[(i + 260)] = select((A[i] < 0.250000{0}), A[(i*7)], 0.000000{0})
}}
)",
                                          suffix),
                                      {{"A", t, {64}}, {"O", t, {264}, true}});
    NDArray a = NDArray::empty({64}, t), o = NDArray::zeros({264}, t);
    for (int i = 0; i < 64; ++i) {
      const double value = (i - 30) * 0.03125;
      a.data_as<uint16_t>()[i] =
          t.code == TypeCode::BFloat ? double_to_bfloat16(value) : double_to_float16(value);
    }
    const NDArray want = interpret_on(kernel, {a, o})[1];
    for (const char* cpu : {"x86-64", "x86-64-v3", "x86-64-v4", "sapphirerapids"}) {
      const Target target = Target::parse(fmt::format("llvm -mcpu={}", cpu));
      const std::shared_ptr<Module> module = compile({kernel}, target, {.cross = true});
      if (!target.features_missing_on_host().empty()) continue;
      NDArray found = NDArray::zeros({264}, t);
      call(module->get_function("kernel"), {a, found});
      for (int i = 0; i < 264; ++i) {
        ASSERT_EQ(found.data_as<uint16_t>()[i], want.data_as<uint16_t>()[i])
            << dtype << " on " << cpu << " at " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tw::test
