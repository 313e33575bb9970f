// SPDX-License-Identifier: Apache-2.0
#include "ir/constant.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/print.h"
#include "ir/scalar.h"

namespace tw {
namespace {

TEST(Constant, Limits) {
  EXPECT_EQ(to_string(min_value(int_type(8))), "(int8)-128");
  EXPECT_EQ(to_string(max_value(uint_type(64))), "(uint64)18446744073709551615");
  EXPECT_EQ(to_string(min_value(float_type(32))),
            "-340282346638528859811704183484516925440.000000f");
  EXPECT_EQ(to_string(max_value(float_type(16))), "65504.000000h");
}

TEST(Constant, FoldsWhatIsDefined) {
  EXPECT_EQ(fold_integers(NodeKind::FloorDiv, int_type(8), -7, 2), -4);
  EXPECT_EQ(fold_integers(NodeKind::Div, int_type(8), -7, 2), -3);
  EXPECT_EQ(fold_integers(NodeKind::FloorMod, int_type(64), INT64_MIN, -1), 0);
  EXPECT_EQ(fold_integers(NodeKind::Add, uint_type(8), 200, 100), 44);
  for (const NodeKind kind :
       {NodeKind::Div, NodeKind::Mod, NodeKind::FloorDiv, NodeKind::FloorMod}) {
    const bool quotient = kind == NodeKind::Div || kind == NodeKind::FloorDiv;
    EXPECT_EQ(fold_integers(kind, int_type(32), 7, 0), 0);
    EXPECT_EQ(fold_integers(kind, uint_type(8), 7, 0), 0);
    EXPECT_EQ(fold_integers(kind, int_type(8), -128, -1), quotient ? -128 : 0);
    EXPECT_EQ(fold_integers(kind, int_type(64), INT64_MIN, -1), quotient ? INT64_MIN : 0);
  }
  // A signed overflow is not.
  EXPECT_EQ(fold_integers(NodeKind::Add, int_type(8), 100, 100), std::nullopt);
}

// To the bit what the interpreter and the machine compute.
TEST(Constant, FoldedFloatsKeepTheSignOfZeroAndNan) {
  const auto number = [](double v) { return make_const_float(float_type(32), v); };
  for (const NodeKind kind : {NodeKind::Min, NodeKind::Max}) {
    for (const double a : {0.0, -0.0, 1.0, std::nan("")}) {
      for (const double b : {0.0, -0.0, 1.0, std::nan("")}) {
        const double folded = *as_const_float(fold(kind, number(a), number(b)));
        const double computed =
            scalar::binary(kind, float_type(32), scalar::of_float(a), scalar::of_float(b)).f;
        EXPECT_EQ(std::signbit(folded), std::signbit(computed)) << a << " " << b;
        EXPECT_EQ(std::isnan(folded), std::isnan(computed)) << a << " " << b;
      }
    }
  }
}

TEST(Constant, ComparisonsOfVectorsAreVectorsOfBools) {
  const Expr two = make_const(float_type(32, 4), 2), three = make_const(float_type(32, 4), 3);
  EXPECT_EQ(to_string(fold(NodeKind::Less, two, three)), "x4((bool)1)");
  EXPECT_EQ(to_string(fold(NodeKind::Add, two, three)), "x4(5.000000f)");
  EXPECT_FALSE(fold(NodeKind::Add, two, Var("x", float_type(32, 4))).defined());
}

}  // namespace
}  // namespace tw
