// SPDX-License-Identifier: Apache-2.0
#include "schedule/trace_json.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace tw {
namespace {

using test::expect_error;

constexpr char kTrace[] =
    "cache_write@1(s2, \"local\")\n"
    "split@1(t0.0, t0.0:1, factor=16)  # conv.py:12\n"
    "reorder@1(t0.0, [t1.1, t1.0])\n"
    "cache_read@1(s0, \"a \\\"b\\\"\\n\", [s2, t0.0])\n"
    "transform_layout@1(s1, order=[1, 0])\n"
    "compute_root@1(s1)\n";

TEST(TraceJson, IsReadBack) {
  const Trace trace = parse_trace(kTrace);
  const std::string json = to_json(trace);
  const Trace back = trace_from_json(json);
  EXPECT_EQ(back, trace);
  EXPECT_EQ(to_text(back), to_text(trace));
  EXPECT_EQ(to_json(back), json);
  EXPECT_EQ(trace_from_json(to_json({})), Trace());
}

TEST(TraceJson, SaysWhatTheTextSays) {
  EXPECT_EQ(to_json(parse_trace("split@1(s2, s2:0, factor=16)  # conv.py:12\n")),
            "{\n"
            " \"trace\": 1,\n"
            " \"steps\": [\n"
            "  {\n"
            "   \"primitive\": \"split\",\n"
            "   \"version\": 1,\n"
            "   \"where\": \"conv.py:12\",\n"
            "   \"arguments\": {\n"
            "    \"stage\": \"s2\",\n"
            "    \"parent\": \"s2:0\",\n"
            "    \"factor\": 16\n"
            "   }\n"
            "  }\n"
            " ]\n"
            "}");
}

std::string step(const std::string& text) { return "{\"trace\": 1, \"steps\": [" + text + "]}"; }

TEST(TraceJson, ErrorsNameThePlace) {
  const auto where = [](const std::string& text, ErrorCode code = ErrorCode::BadTrace) {
    return expect_error(code, [&] { trace_from_json(text); }).where;
  };
  EXPECT_EQ(where(""), "byte 1");
  EXPECT_EQ(where("{\"trace\": 1, "), "byte 14");
  EXPECT_EQ(where("[]"), "");
  EXPECT_EQ(where("{\"trace\": 2, \"steps\": []}"), "trace");
  EXPECT_EQ(where("{\"trace\": 1}"), "trace");
  EXPECT_EQ(where("{\"trace\": 1, \"steps\": {}}"), "trace.steps");
  EXPECT_EQ(where(step("7")), "steps[0]");
  EXPECT_EQ(where(step("{\"primitive\": \"split\"}")), "steps[0]");
  EXPECT_EQ(where(step(R"({"primitive": "split", "version": 1, "arguments": {}, "more": 1})")),
            "steps[0]");
  const auto split = [](const std::string& arguments, const char* version = "1") {
    return step(std::string(R"({"primitive": "split", "version": )") + version +
                R"(, "arguments": {)" + arguments + "}}");
  };
  const std::string stage = R"("stage": "s2", "parent": "s2:0")";
  EXPECT_EQ(trace_from_json(split(stage)).steps.size(), 1u);
  EXPECT_EQ(where(split(stage, "9"), ErrorCode::PrimitiveVersion), "steps[0]");
  EXPECT_EQ(where(split(stage, "4294967297"), ErrorCode::PrimitiveVersion), "steps[0]");
  EXPECT_EQ(where(split(stage, "0"), ErrorCode::PrimitiveVersion), "steps[0]");
  EXPECT_EQ(where(split(stage, "\"1\"")), "steps[0].version");
  EXPECT_EQ(where(split(stage + R"(, "factor": 2.5)")), "steps[0].arguments.factor");
  EXPECT_EQ(where(split(stage + R"(, "factor": 9223372036854775808)")),
            "steps[0].arguments.factor");
  EXPECT_EQ(where(split(stage + R"(, "size": 2)")), "steps[0].arguments.size");
  EXPECT_EQ(where(split(R"("stage": 2, "parent": "s2:0")")), "steps[0].arguments.stage");
  EXPECT_EQ(where(split(R"("stage": "s2, s2:0", "parent": "s2:0")")), "steps[0].arguments.stage");
  EXPECT_EQ(where(split(R"("stage": "s2", "parent": "s2")")), "steps[0]:28");
  expect_error(ErrorCode::BadTrace, [&] { trace_from_json(split(R"("stage": "s2")")); });
  expect_error(ErrorCode::UnknownPrimitive, [&] {
    trace_from_json(step(R"({"primitive": "spilt", "version": 1, "arguments": {}})"));
  });
}

// Whatever a byte becomes: a trace, or an error of a kind that says so.
TEST(TraceJson, DamagedTextIsATraceOrATypedError) {
  const std::string json = to_json(parse_trace(kTrace));
  int read = 0, refused = 0;
  for (size_t at = 0; at < json.size(); ++at) {
    for (const char c : {'"', '0', '-', '{', ']', ',', '\0', '\xff', 'e'}) {
      for (const bool drop : {false, true}) {
        std::string damaged = json;
        damaged[at] = c;
        if (drop) damaged.resize(at);
        try {
          trace_from_json(damaged);
          ++read;
        } catch (const UserError& e) {
          const bool known = e.code() == ErrorCode::BadTrace ||
                             e.code() == ErrorCode::UnknownPrimitive ||
                             e.code() == ErrorCode::PrimitiveVersion;
          EXPECT_TRUE(known) << e.what() << "\n" << damaged;
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(read, 50);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tw
