// SPDX-License-Identifier: Apache-2.0
// What docs/primitives.md shows of each primitive: a step, and the loop nest before and after it.
#pragma once

#include <string_view>

namespace tw::test {

inline constexpr std::string_view kVectorProgram =
    "A = placeholder(float32, [16])\n"
    "B = compute([i: 16], (A(i) + 1.000000f))\n"
    "arguments A B\noutputs B\n";
inline constexpr std::string_view kMatrixProgram =
    "A = placeholder(float32, [8, 6])\n"
    "B = compute([i: 8, j: 6], (A(i, j) + 1.000000f))\n"
    "arguments A B\noutputs B\n";
inline constexpr std::string_view kChainProgram =
    "A = placeholder(float32, [16])\n"
    "B = compute([i: 16], (A(i) + 1.000000f))\n"
    "C = compute([i: 16], (B(i)*2.000000f))\n"
    "arguments A C\noutputs C\n";
inline constexpr std::string_view kRowsProgram =
    "A = placeholder(float32, [8, 6])\n"
    "B = compute([i: 8, j: 6], (A(i, j) + 1.000000f))\n"
    "C = compute([i: 8, j: 6], (B(i, j)*2.000000f))\n"
    "arguments A C\noutputs C\n";
inline constexpr std::string_view kSumProgram =
    "A = placeholder(float32, [8, 16])\n"
    "B = compute([i: 8], reduce [k: 16], sum(A(i, k)))\n"
    "arguments A B\noutputs B\n";
inline constexpr std::string_view kConstantProgram =
    "A = placeholder(float32, [16])\n"
    "W = placeholder(float32, [16], constant)\n"
    "P = compute([i: 16], (W(i)*2.000000f))\n"
    "C = compute([i: 16], (A(i) + P(i)))\n"
    "arguments A W C\noutputs C\n";
inline constexpr std::string_view kBytesProgram =
    "A = placeholder(uint8, [4])\n"
    "B = placeholder(int8, [16, 4])\n"
    "C = compute([j: 16], reduce [k: 4], sum((int32(A(k))*int32(B(j, k)))))\n"
    "arguments A B C\noutputs C\n";

struct PrimitiveExample {
  std::string_view primitive, program;
  std::string_view before;  // steps
  std::string_view steps;   // the last of which, or the first, is of the primitive
};

// In the order of the table.
inline constexpr PrimitiveExample kPrimitiveExamples[] = {
    {"split", kVectorProgram, "", "split@1(s1, s1:0, factor=5)"},
    {"fuse", kMatrixProgram, "", "fuse@1(s1, [s1:0, s1:1])"},
    {"reorder", kMatrixProgram, "", "reorder@1(s1, [s1:1, s1:0])"},
    {"tile", kMatrixProgram, "", "tile@1(s1, s1:0, s1:1, 4, 3)"},
    {"vectorize", kVectorProgram, "split@1(s1, s1:0, factor=4)", "vectorize@1(s1, t0.1)"},
    {"parallel", kVectorProgram, "split@1(s1, s1:0, factor=4)", "parallel@1(s1, t0.0)"},
    {"unroll", kVectorProgram, "split@1(s1, s1:0, factor=4)", "unroll@1(s1, t0.1)"},
    {"bind", kVectorProgram, "split@1(s1, s1:0, factor=4)", "bind@1(s1, t0.0, \"blockIdx.x\")"},
    {"env_threads", kVectorProgram, "bind@1(s1, s1:0, \"threadIdx.x\")",
     "env_threads@1(s1, [\"threadIdx.x[16]\"])"},
    {"set_store_predicate", kSumProgram, "bind@1(s1, s1:1, \"threadIdx.x\")",
     "set_store_predicate@1(s1, \"(threadIdx.x == 0)\")"},
    {"pragma", kVectorProgram, "", "pragma@1(s1, s1:0, \"auto_unroll_max_step\", pragma_value=16)"},
    {"compute_at", kChainProgram, "split@1(s2, s2:0, factor=4)", "compute_at@1(s1, s2, t0.0)"},
    {"compute_inline", kChainProgram, "", "compute_inline@1(s1)"},
    {"compute_root", kChainProgram, "compute_at@1(s1, s2, s2:0)", "compute_root@1(s1)"},
    {"precompute", kConstantProgram, "", "precompute@1(s2)"},
    {"cache_write", kSumProgram, "", "cache_write@1(s1, \"local\")"},
    {"cache_read", kSumProgram, "", "cache_read@1(s0, \"local\", [s1])"},
    {"set_scope", kChainProgram, "", "set_scope@1(s1, \"local\")"},
    {"transform_layout", kChainProgram, "", "transform_layout@1(s1, axis=s1:0, factor=4)"},
    {"collapse_layout", kRowsProgram, "", "collapse_layout@1(s1, [s1:0, s1:1])"},
    {"create_group", kChainProgram, "",
     "create_group@1(s1, [s1], [s0])\ncompute_at@1(t0.0, s2, s2:0)"},
    {"double_buffer", kChainProgram, "split@1(s2, s2:0, factor=4)\ncompute_at@1(s1, s2, t0.0)",
     "double_buffer@1(s1)"},
    {"rfactor", kSumProgram, "split@1(s1, s1:1, factor=4)", "rfactor@1(s1, t0.1)"},
    {"storage_align", kRowsProgram, "", "storage_align@1(s1, s1:0, 8, 1)"},
    {"prefetch", kVectorProgram, "", "prefetch@2(s1, s0, s1:0, 4)"},
    {"prefetch_ahead", kMatrixProgram, "", "prefetch_ahead@1(s1, s1:1, s0, s1, s1:0)"},
    {"tensorize", kBytesProgram, "", "tensorize@1(s2, s2:0, \"vnni.dot_u8s8\")"},
};

}  // namespace tw::test
