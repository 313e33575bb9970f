// SPDX-License-Identifier: Apache-2.0
#include "schedule/show.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::scheduled;

constexpr char kProgram[] =
    "A = placeholder(float32, [64, 32])\n"
    "P = compute([y: 64, x: 32], (A(y, x) + 1.000000f))\n"
    "B = placeholder(float32, [32, 64])\n"
    "C = compute([y: 64, x: 64], reduce [k: 32], sum((P(y, k)*B(k, x))))\n"
    "D = compute([y: 64, x: 64], (C(y, x) + 1.000000f))\n"
    "arguments A B D\noutputs D\n";

std::string shown(std::string_view trace, size_t width = 80) {
  return to_text(nest_rows(scheduled(kProgram, trace)), width);
}

TEST(Show, StagesLoopsAndWhatIsMarked) {
  EXPECT_EQ(shown("compute_inline@1(s1)\nsplit@1(s4, s4:0, factor=4)\nparallel@1(s4, t1.0)\n"
                  "compute_at@1(s3, s4, t1.0)\nset_scope@1(s3, \"local\")\nvectorize@1(s4, s4:1)\n"
                  "reorder@1(s3, [s3:0, s3:2, s3:1])\npragma@1(s4, t1.0, \"parallel_dynamic\")\n"
                  "prefetch@2(s3, s2, s3:2, 2)\n"),
            "inputs A float32[64, 32], B float32[32, 64]\n"
            "inlined P\n"
            "produce D  float32[64, 64], output\n"
            "  parallel (y.outer, 0, 16)  pragma parallel_dynamic = 1\n"
            "    produce C  float32[4, 64], local\n"
            "      for (y, 0, 4)\n"
            "        for (k, 0, 32)  reduction, prefetch B 2 ahead\n"
            "          for (x, 0, 64)\n"
            "    for (y.inner, 0, 4)\n"
            "      vectorized (x, 0, 64)\n");
}

// What cannot be lowered is shown as far as it is known.
TEST(Show, AScheduleThatIsWrong) {
  EXPECT_EQ(shown("compute_at@1(s1, s4, s4:0)"),
            "inputs A float32[64, 32], B float32[32, 64]\n"
            "produce C  float32[64, 64]\n"
            "  for (y, 0, 64)\n"
            "    for (x, 0, 64)\n"
            "      for (k, 0, 32)  reduction\n"
            "produce D  float32[64, 64], output\n"
            "  for (y, 0, 64)\n"
            "    produce P  float32[64, 32]\n"
            "      for (y)\n"
            "        for (x)\n"
            "    for (x, 0, 64)\n");
}

TEST(Show, LinesAreNoWiderThanAsked) {
  std::string deep;
  for (int k = 0; k < 30; ++k)
    deep += k == 0 ? "split@1(s4, s4:0, factor=2)\n"
                   : "split@1(s4, t" + std::to_string(k - 1) + ".0, factor=2)\n";
  deep += "pragma@1(s4, s4:1, \"auto_unroll_max_step\")\npragma@1(s4, s4:1, \"unroll_explicit\")\n";
  for (const size_t width : {80u, 40u, 20u}) {
    std::istringstream lines(shown(deep, width));
    size_t widest = 0;
    for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
    EXPECT_LE(widest, width);
    EXPECT_GT(widest, width / 2);
  }
}

TEST(Show, Html) {
  const std::string html = to_html(nest_rows(scheduled(kProgram, "vectorize@1(s4, s4:1)")));
  EXPECT_TRUE(html.starts_with("<pre><span"));
  EXPECT_NE(
      html.find("<b>produce D</b>  <span style=\"color: gray\">float32[64, 64], output</span>"),
      std::string::npos);
  NestRow row{.text = "a < b & c > d"};
  EXPECT_NE(to_html({row}).find("a &lt; b &amp; c &gt; d"), std::string::npos);
}

}  // namespace
}  // namespace tw
