// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/error.h"
#include "runtime/graph_executor.h"
#include "tests/support/fuzz.h"
#include "tests/support/plan_json.h"

namespace tw {
namespace {

using test::four;
using test::PlanJson;
using testing::HasSubstr;

// The plan of a network with every kind of node.
std::string whole_json() {
  PlanJson plan;
  const int x = plan.variable("x", {{2, 4}, 0}), w = plan.variable("w", four(1));
  const int parts = plan.call("parts", "halves", {{x, 0}}, {four(2), four(3)});
  const int sum = plan.call("sum", "add", {{parts, 0}, {parts, 1}}, {four(2)});
  const int flat = plan.call("flat", "__nop", {{sum, 0}}, {{{2, 2}, 2}});
  const int more = plan.call("more", "next", {{flat, 0}}, {{{2, 2}, 4}}, true);
  const int back = plan.call("back", "__nop", {{more, 0}}, {four(5)});
  const int y = plan.call("y", "add", {{back, 0}, {w, 0}}, {four(6)});
  return plan.json({{y, 0}, {parts, 1}});
}

std::string replaced(std::string text, const std::string& part, const std::string& other) {
  const size_t at = text.find(part);
  EXPECT_NE(at, text.npos) << part;
  return at == text.npos ? text : text.replace(at, part.size(), other);
}

TEST(GraphPlan, IsRead) {
  const GraphPlan plan = read_graph_plan(whole_json());
  ASSERT_EQ(plan.nodes.size(), 8u);
  EXPECT_EQ(plan.inputs, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(plan.outputs, (std::vector<uint32_t>{8, 3}));
  EXPECT_EQ(plan.nodes[2].function, "halves");
  EXPECT_EQ(plan.nodes[2].num_outputs, 2u);
  EXPECT_EQ(plan.nodes[3].inputs, (std::vector<uint32_t>{2, 3}));
  EXPECT_TRUE(plan.nodes[4].is_reshape());
  EXPECT_TRUE(plan.nodes[5].flatten);
  EXPECT_EQ(plan.entries[0].bytes, 32);
  EXPECT_EQ(plan.entries[0].shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(plan.entries[4].storage, 2);
  EXPECT_EQ(plan.export_version, 0);
}

TEST(GraphPlan, MistakesNameTheirPlace) {
  struct Mistake {
    const char *part, *other, *message;
    ErrorCode code = ErrorCode::BadGraph;
  };
  const Mistake mistakes[] = {
      {"{", "", "this is no JSON"},
      {"\"nodes\"", "\"knots\"", "graph: 'nodes' is missing"},
      {"\"heads\"", "\"tails\"", "graph: 'heads' is missing"},
      {"\"attrs\": {\"shape\"", "\"none\": {\"shape\"", "graph: 'attrs' is missing"},
      {"\"op\": \"null\"", "\"op\": \"conv2d\"", "node 0 'x': operator 'conv2d' is not compiled"},
      {"\"op\": \"null\"", "\"op\": 7", "node 0 'x', op: this is no text"},
      {"\"name\": \"x\"", "\"title\": \"x\"", "node 0: 'name' is missing"},
      {"\"name\": \"x\"", "\"name\": \"w\"", "node 1 'w': another input has this name"},
      {"\"inputs\": []", "\"inputs\": [[0, 0, 0]]", "node 0, which does not stand before"},
      {"[[0, 0, 0]]", "[[2, 0, 0]]", "node 2 'parts', inputs: node 2, which does not stand before"},
      {"[[0, 0, 0]]", "[[6, 0, 0]]", "node 2 'parts', inputs: node 6, which does not stand before"},
      {"[[0, 0, 0]]", "[[0, 1, 0]]", "node 2 'parts', inputs: output 1 of 'x'"},
      {"[[0, 0, 0]]", "[[-1, 0, 0]]", "node -1"},
      {"[[0, 0, 0]]", "[0]", "node 2 'parts', inputs: this is no list"},
      {"[[0, 0, 0]]", "[[0, 0, 0, 0]]", "4 numbers for an entry"},
      {"[[0, 0, 0]]", "[]", "num_inputs is 1, and there are 0 inputs"},
      {"[[0, 0, 0]]", "[[1e3, 0, 0]]", "this is no integer"},
      {"\"func_name\": \"halves\"", "\"func_name\": \"\"", "node 2 'parts': func_name is empty"},
      {"\"num_outputs\": \"2\"", "\"num_outputs\": \"two\"", "num_outputs is 'two'"},
      {"\"num_outputs\": \"2\"", "\"num_outputs\": \"99999999999999999999\"", "num_outputs is"},
      {"\"num_outputs\": \"2\"", "\"num_outputs\": \"1\"", "node 3 'sum', inputs: output 1"},
      {"\"num_outputs\": \"2\"", "\"num_outputs\": \"3\"", "node_row_ptr: it contradicts"},
      {"\"flatten_data\": \"0\"", "\"flatten_data\": \"2\"", "flatten_data is '2'"},
      {"\"arg_nodes\": [0, 1]", "\"arg_nodes\": [0]", "arg_nodes: 1 of 2 variables"},
      {"\"arg_nodes\": [0, 1]", "\"arg_nodes\": [0, 2]", "node 2 'parts': it is no variable"},
      {"\"arg_nodes\": [0, 1]", "\"arg_nodes\": [0, 99]", "arg_nodes: node 99"},
      {"\"heads\": [[7, 0, 0]", "\"heads\": [[8, 0, 0]", "heads: node 8"},
      {"[\"list_shape\"", "[\"list_int\"", "attrs, 'shape': this is no pair"},
      {"[[2, 4], ", "[", "attrs, 'shape': 8 values for 9 entries"},
      {"[[2, 4], ", "[null, ", "node 0 'x', shape: this is no list"},
      {"[[2, 4], ", "[[2, -4], ", "node 0 'x': shape [2, -4] has a negative", ErrorCode::BadShape},
      {"[[2, 4], ", "[[4611686018427387904, 4], ", "is too large", ErrorCode::BadShape},
      {"[\"float32\"", "[\"float31\"", "node 0 'x'", ErrorCode::UnknownDType},
      {"\"__nop\"", "\"__nop\", \"more\": 1", ""},
      {"[2, 2]", "[2, 3]", "node 4 'flat': __nop between tensors of different sizes"},
      {"\"storage_offset\": [\"list_int\", [0", "\"storage_offset\": [\"list_int\", [8",
       "node 0 'x': storage_offset is 8"},
      {"\"storage_offset\": [\"list_int\", [0", "\"storage_offset\": [\"list_int\", [-64",
       "node 0 'x': storage_offset is -64"},
      {"\"storage_offset\": [\"list_int\", [0, ", "\"storage_offset\": [\"list_int\", [",
       "attrs, 'storage_offset': 8 values for 9 entries"},
      {"\"storage_offset\"", "\"another\"", ""},
  };
  for (const Mistake& m : mistakes) {
    const std::string text = replaced(whole_json(), m.part, m.other);
    if (*m.message == '\0') {  // unknown attributes are nobody's business
      EXPECT_NO_THROW(read_graph_plan(text));
      continue;
    }
    try {
      read_graph_plan(text);
      ADD_FAILURE() << m.part << " -> " << m.other;
    } catch (const UserError& e) {
      EXPECT_EQ(e.code(), m.code) << e.what();
      EXPECT_THAT(e.what(), HasSubstr(m.message)) << m.part << " -> " << m.other;
    }
  }
}

using PlannedFunctions = test::WithGraphKernels;

TEST_F(PlannedFunctions, AreCheckedAgainstWhatTheyAreFor) {
  struct Mistake {
    const char *part, *other, *message;
    ErrorCode code;
  };
  const Mistake mistakes[] = {
      {"\"halves\"", "\"quarters\"", "node 'parts'", ErrorCode::UnknownFunction},
      {"\"halves\"", "\"add\"", "node 'parts', function 'add': argument 'A' of shape [4]",
       ErrorCode::ShapeConflict},
      {"[[2, 4], ", "[[4, 2], ",
       "node 'parts', function 'halves': argument 'A' of shape [2, 4] is given [4, 2]",
       ErrorCode::ShapeConflict},
      {"[\"float32\"", "[\"int32\"", "argument 'A' of float32 is given int32",
       ErrorCode::TypeConflict},
      {"\"next\"", "\"add\"", "node 'more', function 'add': 1 inputs and 1 outputs for 3 arguments",
       ErrorCode::ArgumentCount},
      {"\"next\"", "\"number\"", "argument 'n' is int", ErrorCode::TypeConflict},
  };
  EXPECT_EQ(planned_functions(read_graph_plan(whole_json()), *module).size(), 8u);
  for (const Mistake& m : mistakes) {
    try {
      planned_functions(read_graph_plan(replaced(whole_json(), m.part, m.other)), *module);
      ADD_FAILURE() << m.part << " -> " << m.other;
    } catch (const UserError& e) {
      EXPECT_EQ(e.code(), m.code) << e.what();
      EXPECT_THAT(e.what(), HasSubstr(m.message));
    }
  }
}

TEST_F(PlannedFunctions, InputsAreNotWritten) {
  PlanJson plan;
  const int x = plan.variable("x", {{2, 4}}), w = plan.variable("w", four());
  const int y = plan.call("y", "halves", {{x, 0}, {w, 0}}, {four()});
  try {
    planned_functions(read_graph_plan(plan.json({{y, 0}})), *module);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), HasSubstr("argument 'L', an input here, is written"));
  }
}

// Whatever became of a plan, it is refused with a typed error, or it runs.
TEST_F(PlannedFunctions, DamagedPlansAreRefusedOrRun) {
  const std::string good = whole_json();
  const std::string pieces[] = {"[",
                                "]",
                                "{",
                                "}",
                                ",",
                                "\"",
                                "0",
                                "1",
                                "-1",
                                "9",
                                "x",
                                "w",
                                "null",
                                "[]",
                                "{}",
                                "4",
                                "32",
                                "\"add\"",
                                "9223372036854775807",
                                "1.5",
                                "true",
                                "float64",
                                "__nop",
                                ":"};
  test::FuzzCases cases(2000, 0.03);
  while (cases.next()) {
    std::mt19937_64 random(cases.seed());
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    std::string text = good;
    for (size_t changes = 1 + below(3); changes > 0; --changes) {
      const size_t at = below(text.size());
      const std::string& piece = pieces[below(std::size(pieces))];
      switch (below(10)) {
        case 0:
          text.replace(at, 1 + below(8), piece);
          break;
        case 1:
          text.insert(at, piece);
          break;
        case 2:
          text.erase(at, 1 + below(20));
          break;
        default: {  // a number becomes another one
          const size_t digit = text.find_first_of("0123456789", at);
          if (digit != text.npos) text.replace(digit, 1, std::to_string(below(12)));
        }
      }
    }
    try {
      GraphExecutor executor(std::make_shared<const GraphPlan>(read_graph_plan(text)), module);
      for (int i = 0; i < executor.num_inputs(); ++i) (void)executor.input(i);
      executor.run();
      executor.run();
      for (int i = 0; i < executor.num_outputs(); ++i) (void)executor.output(i).copy();
    } catch (const UserError&) {
      cases.refuse();
    }
  }
}

}  // namespace
}  // namespace tw
