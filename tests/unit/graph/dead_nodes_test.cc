// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "graph/op.h"
#include "tests/support/network.h"

namespace tw::graph {
namespace {

Symbol x() { return Symbol::variable("x", {{"shape", "(2, 3, 4)"}, {"dtype", "float32"}}); }

// Whether the symbol is x itself after the pass; values are checked.
bool is_x(const Symbol& symbol) {
  const Graph graph = inferred({.outputs = symbol.outputs()});
  test::Random random(1);
  const Graph after = expect_kept(graph, "DeadNodes", random_values(graph, random));
  return after.outputs[0].node->name == "x";
}

TEST(DeadNodes, ThatDoNothing) {
  const std::vector<std::pair<std::string_view, Attributes>> calls = {
      {"copy", {}},
      {"reshape", {{"shape", "(0, -1, 4)"}}},
      {"transpose", {{"axes", "(0, -2, 2)"}}},
      {"cast", {{"dtype", "0"}}},
      {"broadcast_to", {{"shape", "(2, 3, 4)"}}},
      {"strided_slice", {{"begin", "(0,)"}, {"end", "(2,)"}}},
      {"pad", {{"pad_width", "((0, 0), (0, 0), (0, 0))"}}},
      {"squeeze", {}},
      {"__mul_scalar__", {{"scalar", "1.0"}}},
      {"__div_scalar__", {{"scalar", "1"}}},
      {"split", {{"indices_or_sections", "1"}}},
  };
  for (const auto& [op, attributes] : calls)
    EXPECT_TRUE(is_x(call(op, "n", {x()}, attributes))) << op;
  EXPECT_TRUE(is_x(call("elemwise_sum", "n", {x()})));
  EXPECT_TRUE(is_x(call("concatenate", "n", {x()})));
  const Symbol same = x();
  EXPECT_TRUE(is_x(call("reshape_like", "n", {same, same})));
}

TEST(DeadNodes, ThatUndoOneAnother) {
  const auto twice = [](std::string_view op, Attributes first, Attributes second) {
    return is_x(call(op, "b", {call("copy", "c", {call(op, "a", {x()}, first)})}, second));
  };
  EXPECT_TRUE(twice("transpose", {{"axes", "(1, 2, 0)"}}, {{"axes", "(2, 0, 1)"}}));
  EXPECT_TRUE(twice("transpose", {}, {{"axes", "(2, 1, 0)"}}));
  EXPECT_TRUE(twice("flip", {{"axis", "1"}}, {{"axis", "1"}}));
  EXPECT_TRUE(twice("negative", {}, {}));
  EXPECT_FALSE(twice("transpose", {{"axes", "(1, 2, 0)"}}, {{"axes", "(1, 2, 0)"}}));
  EXPECT_FALSE(twice("flip", {{"axis", "1"}}, {{"axis", "2"}}));
}

TEST(DeadNodes, ThatDoSomethingStay) {
  const std::vector<std::pair<std::string_view, Attributes>> calls = {
      {"reshape", {{"shape", "(3, 2, 4)"}}},
      {"transpose", {{"axes", "(0, 2, 1)"}}},
      {"cast", {{"dtype", "float64"}}},
      {"flip", {{"axis", "1"}}},
      // The same shape, in another order.
      {"strided_slice", {{"begin", "(1,)"}, {"end", "(-9,)"}, {"stride", "(-1,)"}}},
      {"__mul_scalar__", {{"scalar", "-1"}}},
      {"block_grad", {}},
  };
  for (const auto& [op, attributes] : calls)
    EXPECT_FALSE(is_x(call(op, "n", {x()}, attributes))) << op;
  EXPECT_FALSE(is_x(call("concatenate", "n", {x(), x()})));
}

TEST(DeadNodes, RandomNetworksGiveTheSame) { expect_networks_kept_and_smaller("DeadNodes"); }

}  // namespace
}  // namespace tw::graph
