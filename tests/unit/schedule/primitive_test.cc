// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitive.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/expect_error.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::expect_error;
using test::scheduled;

constexpr char kProgram[] =
    "A = placeholder(float32, [8])\n"
    "B = compute([i0: 8], (A(i0) + 1f))\n"
    "arguments A B\n"
    "outputs B\n";

TEST(Primitive, TheTableIsParsed) {
  const Primitive* split = find_primitive("split");
  ASSERT_NE(split, nullptr);
  ASSERT_EQ(split->parameters.size(), 4u);
  EXPECT_EQ(split->parameters[0].name, "stage");
  EXPECT_EQ(split->parameters[0].type, ParameterType::Stage);
  EXPECT_EQ(split->parameters[1].type, ParameterType::Axis);
  EXPECT_FALSE(split->parameters[1].optional);
  EXPECT_EQ(split->parameters[3].name, "nparts");
  EXPECT_TRUE(split->parameters[3].optional);
  EXPECT_EQ(split->results, (std::vector<ParameterType>{ParameterType::Axis, ParameterType::Axis}));
  EXPECT_EQ(find_primitive("Split"), nullptr);
}

TEST(Primitive, EveryRowIsCalledOnAStageAndGivesStagesOrAxes) {
  std::set<std::string_view> seen;
  for (const Primitive& p : primitives()) {
    EXPECT_TRUE(seen.insert(p.name).second) << p.name;
    ASSERT_FALSE(p.parameters.empty()) << p.name;
    EXPECT_TRUE(p.parameters[0].type == ParameterType::Stage ||
                p.parameters[0].type == ParameterType::Producer ||
                p.parameters[0].type == ParameterType::Place)
        << p.name;
    EXPECT_FALSE(p.parameters[0].optional) << p.name;
    EXPECT_GE(p.version, 1) << p.name;
    EXPECT_FALSE(p.doc.empty()) << p.name;
    EXPECT_NE(p.apply, nullptr) << p.name;
    for (ParameterType r : p.results) {
      EXPECT_TRUE(r == ParameterType::Stage || r == ParameterType::Axis ||
                  r == ParameterType::Group)
          << p.name;
    }
  }
}

TEST(Primitive, ArgumentsAreCheckedByType) {
  const Schedule s = scheduled(kProgram);
  const StageRef b{.index = 1};
  const AxisRef i{.index = 0, .stage = b};
  const auto fails = [&](std::vector<Argument> arguments, ErrorCode code = ErrorCode::BadArgument) {
    return expect_error(code, [&] { s.apply(Step{.primitive = "split", .arguments = arguments}); });
  };
  EXPECT_EQ(fails({b, int64_t{0}, int64_t{2}}).what,
            "argument 'parent' of 'split' has the wrong type");
  EXPECT_EQ(fails({b, i, 2.5}).legal, "size");
  EXPECT_EQ(fails({b}).what, "argument 'parent' of 'split' is missing");
  EXPECT_EQ(fails({b, i, int64_t{2}, {}, {}}).what, "'split' takes 4 arguments, 5 were given");
  fails({StageRef{.index = 2}, i, int64_t{2}}, ErrorCode::UnknownStage);
  fails({StageRef{.step = 0, .index = 0}, i, int64_t{2}}, ErrorCode::BadTrace);
  fails({b, AxisRef{.step = 5, .index = 0}, int64_t{2}}, ErrorCode::BadTrace);
  fails({b, AxisRef{.index = 3, .stage = b}, int64_t{2}}, ErrorCode::NotAnAxisOfStage);
  EXPECT_TRUE(s.trace().steps.empty());
}

TEST(Primitive, AnUnknownNameIsAnsweredWithCandidates) {
  const Schedule s = scheduled(kProgram);
  const ErrorInfo e =
      expect_error(ErrorCode::UnknownPrimitive, [&] { s.apply(Step{.primitive = "vectorise"}); });
  EXPECT_EQ(e.what, "there is no primitive 'vectorise'; the nearest is 'vectorize'");
  EXPECT_NE(e.legal.find("compute_at"), std::string::npos);
  expect_error(ErrorCode::PrimitiveVersion,
               [&] { s.apply(Step{.primitive = "split", .version = 2}); });
  expect_error(ErrorCode::PrimitiveVersion,
               [&] { s.apply(Step{.primitive = "split", .version = 0}); });
}

}  // namespace
}  // namespace tw
