// SPDX-License-Identifier: Apache-2.0
#include "graph/symbol.h"

#include <gmock/gmock.h>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/error.h"
#include "tests/support/graph.h"

namespace tw::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class F>
ErrorInfo error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.info();
  }
  return {};
}

const Attributes kConv{{"channels", "3"}, {"kernel_size", "(5, 5)"}};

TEST(Symbol, MissingInputsBecomeVariables) {
  const Symbol x = Symbol::variable("x");
  const Symbol z = call("conv2d", "conv2d0", {x}, kConv);
  EXPECT_THAT(z.list_input_names(), ElementsAre("x", "conv2d0_weight", "conv2d0_bias"));
  EXPECT_THAT(z.list_output_names(), ElementsAre("conv2d0_output"));
  EXPECT_EQ(z.outputs()[0].node->inputs[1].node->attributes, kConv);
}

TEST(Symbol, InputsThatAFlagTurnsOffAreNone) {
  Attributes attributes = kConv;
  attributes.set("use_bias", "False");
  const Symbol z = call("conv2d", "c", {Symbol::variable("x")}, attributes);
  EXPECT_THAT(z.list_input_names(), ElementsAre("x", "c_weight"));
}

TEST(Symbol, PrintsAsTheDocumentsDo) {
  const Symbol x = Symbol::variable("x"), w = Symbol::variable("w"), b = Symbol::variable("b");
  const Symbol z = call("conv2d", "conv2d0", {x, w, b}, kConv);
  Attributes padded = kConv;
  padded.set("padding", "[2, 2]");
  const Symbol sum =
      call("__add_symbol__", "__add_symbol__0", {z, call("conv2d", "conv2d1", {z, w, b}, padded)});
  Graph graph{.outputs = sum.outputs()};
  EXPECT_EQ(to_text(graph),
            "Graph(%x, %w, %b) {\n"
            "  %3 = conv2d(%x, %w, %b, channels='3', kernel_size='(5, 5)')\n"
            "  %4 = conv2d(%3, %w, %b, channels='3', kernel_size='(5, 5)', padding='[2, 2]')\n"
            "  %5 = broadcast_add(%3, %4)\n"
            "  ret %5\n"
            "}");
  graph.attributes["layout"] = std::vector<std::string>{};
  EXPECT_TRUE(to_text(graph).ends_with("}\ngraph_attr_keys = [layout]\n"));
}

TEST(Symbol, ComposeReplacesVariablesAndLeavesTheSymbol) {
  const Symbol x = Symbol::variable("x"), y = Symbol::variable("y");
  const Symbol relu = call("relu", "r", {x});
  const Symbol both = call("elemwise_add", "a", {relu, x});
  const Symbol composed = both.compose({}, {{"x", call("exp", "e", {y})}});
  EXPECT_THAT(composed.list_input_names(), ElementsAre("y"));
  EXPECT_THAT(both.list_input_names(), ElementsAre("x"));
  EXPECT_EQ(
      to_text({.outputs = composed.outputs()}),
      "Graph(%y) {\n  %1 = exp(%y)\n  %2 = relu(%1)\n  %3 = elemwise_add(%2, %1)\n  ret %3\n}");
  // What no replaced variable stands below is shared.
  const Symbol z = call("elemwise_add", "b", {call("tanh", "t", {y}), both});
  const Symbol again = z.compose({}, {{"x", y}});
  EXPECT_EQ(again.outputs()[0].node->inputs[0].node, z.outputs()[0].node->inputs[0].node);
}

TEST(Symbol, ErrorsSayWhatIsLegal) {
  const Symbol x = Symbol::variable("x");
  ErrorInfo e = error_of([&] { call("conv2", "c", {x}); });
  EXPECT_EQ(e.code, ErrorCode::UnknownOperator);
  EXPECT_THAT(e.what, HasSubstr("the nearest is 'conv2d'"));
  e = error_of([&] { call("conv2d", "c", {x}, {{"chanels", "3"}, {"kernel_size", "(3, 3)"}}); });
  EXPECT_EQ(e.code, ErrorCode::BadAttribute);
  EXPECT_THAT(e.what, HasSubstr("the nearest is 'channels'"));
  e = error_of([&] { call("conv2d", "c", {x}, {{"channels", "many"}, {"kernel_size", "3"}}); });
  EXPECT_EQ(e.code, ErrorCode::BadAttribute);
  EXPECT_EQ(e.legal, "an integer");
  e = error_of([&] { call("conv2d", "c", {x}, {{"channels", "3"}}); });
  EXPECT_EQ(e.code, ErrorCode::BadAttribute);
  EXPECT_THAT(e.what, HasSubstr("'kernel_size' is missing"));
  e = error_of([&] { call("relu", "r", {x, x}); });
  EXPECT_EQ(e.code, ErrorCode::BadArgument);
  e = error_of([&] { Symbol::call("relu", "r", {x}, {{"data", x}}, {}); });
  EXPECT_THAT(e.what, HasSubstr("given twice"));
  e = error_of([&] { Symbol::call("relu", "r", {}, {{"dta", x}}, {}); });
  EXPECT_THAT(e.what, HasSubstr("the nearest is 'data'"));
  e = error_of([&] { call("relu", "r", {Symbol::group({x, x})}); });
  EXPECT_EQ(e.code, ErrorCode::BadArgument);
}

TEST(Symbol, AHundredThousandNodesNeedNoStack) {
  Symbol z = Symbol::variable("x");
  for (int i = 0; i < 100'000; ++i) z = call("relu", "r", {z});
  EXPECT_EQ(GraphIndex({.outputs = z.outputs()}).num_nodes(), 100'001u);
  EXPECT_EQ(z.compose({}, {{"x", Symbol::variable("y")}}).list_input_names()[0], "y");
}

// Each level is read twice by the next.
TEST(Symbol, SharedNodesAreVisitedOnce) {
  Symbol z = Symbol::variable("x");
  for (int i = 0; i < 60; ++i) z = call("elemwise_add", "a", {z, z});
  EXPECT_EQ(GraphIndex({.outputs = z.outputs()}).num_nodes(), 61u);
  EXPECT_EQ(z.compose({}, {{"x", Symbol::variable("y")}}).list_input_names().size(), 1u);
}

TEST(Symbol, EveryOperatorIsDocumented) {
  for (const Op& op : operators()) {
    EXPECT_FALSE(op.doc.empty()) << op.name;
    for (const InputSpec& input : op.inputs) EXPECT_FALSE(input.doc.empty()) << op.name;
    for (const AttributeSpec& spec : op.attributes) {
      EXPECT_FALSE(spec.doc.empty()) << op.name << " " << spec.name;
      if (spec.initial) {
        EXPECT_TRUE(read_attribute(spec.type, *spec.initial)) << op.name << " " << spec.name;
      }
    }
  }
}

}  // namespace
}  // namespace tw::graph
