// SPDX-License-Identifier: Apache-2.0
#include "autotune/task/workloads.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "autotune/measure/reference.h"
#include "autotune/task/task.h"
#include "schedule/topi/common.h"
#include "tests/support/expect_error.h"

namespace tw::autotune {
namespace {

TEST(Workloads, EveryNamedOneBuildsAndIsItsCanonicalText) {
  std::set<std::string> names, resnet50;
  for (const NamedWorkload& named : named_workloads()) {
    const std::string label = fmt::format("{}:{}", named.kind, named.name);
    EXPECT_TRUE(names.insert(label).second) << label;
    const Workload w = parse_workload(label);
    EXPECT_EQ(w.label, label);
    EXPECT_EQ(w.text, fmt::format("{}:{}", named.kind, named.sizes));
    EXPECT_FALSE(w.shape.empty());
    EXPECT_EQ(parse_workload(w.text).text, w.text);
    EXPECT_GT(te::count_operations(w.program), 0);
    if (label.starts_with("conv2d_bias_relu:resnet50")) {
      EXPECT_TRUE(resnet50.insert(te::workload_id(w.program)).second)
          << label << " is not distinct";
    }
  }
  EXPECT_EQ(resnet50.size(), 23u);
}

TEST(Workloads, SizesOfWellKnownLayers) {
  // Multiply-adds of the stem and of the 3×3 convolution of stage 1, bias and relu on top.
  const auto operations = [](const char* text) {
    return te::count_operations(parse_workload(text).program);
  };
  EXPECT_NEAR(operations("conv2d_bias_relu:resnet50.3") / (2.0 * 64 * 64 * 9 * 56 * 56), 1, 0.01);
  EXPECT_NEAR(operations("conv2d_bias_relu:resnet50.0") / (2.0 * 64 * 3 * 49 * 112 * 112), 1, 0.02);
  EXPECT_NEAR(operations("gemm:bert.ffn") / (2.0 * 128 * 3072 * 768), 1, 0.01);
  // Gradients have the names of the convolutions. A stride makes none of them multiply zeros.
  for (const char* of : {"data", "weight"}) {
    const auto gradient = fmt::format("conv2d_{}_gradient:resnet50.", of);
    EXPECT_NEAR(operations((gradient + "3").c_str()) / (2.0 * 64 * 64 * 9 * 56 * 56), 1, 0.01);
    EXPECT_NEAR(operations((gradient + "7").c_str()) / (2.0 * 128 * 128 * 9 * 28 * 28), 1, 0.05);
    EXPECT_NEAR(operations((gradient + "5").c_str()) / (2.0 * 256 * 512 * 28 * 28), 1, 0.01);
  }
  const te::Program conv = parse_workload("conv2d:ci=8,h=20,w=30,co=16,k=3,s=2,p=1").program;
  EXPECT_EQ(constant_shape(conv.outputs[0]), (std::vector<int64_t>{1, 16, 10, 15}));
}

TEST(Workloads, TheDefaultSetIsAConvolutionAndAGemm) {
  const auto set = default_workloads();
  ASSERT_EQ(set.size(), 2u);
  EXPECT_EQ(set[0].label, "conv2d_bias_relu:resnet50.3");
  EXPECT_EQ(set[1].text, "gemm:m=128,n=3072,k=768,w=1");
  EXPECT_EQ(set[1].shape, "128x3072x768");
}

TEST(Workloads, FreeSizesHaveDefaultsAndACanonicalText) {
  EXPECT_EQ(parse_workload("gemm:k=768,m=128,n=3072,dtype=float32").text,
            "gemm:m=128,n=3072,k=768");
  EXPECT_EQ(parse_workload("gemm:m=1,n=2,k=3,dtype=int32").text, "gemm:m=1,n=2,k=3,dtype=int32");
  EXPECT_EQ(parse_workload("conv2d:ci=4,h=9,co=8,k=3,g=2").text,
            "conv2d:n=1,ci=4,h=9,w=9,co=8,k=3,s=1,p=0,g=2");
  EXPECT_EQ(parse_workload("depthwise_conv2d:c=4,h=9").text,
            "depthwise_conv2d:n=1,c=4,h=9,w=9,k=3,s=1,p=1");
  EXPECT_EQ(parse_workload("gemm:m=128,n=3072,k=768").program.arguments.size(), 3u);
}

TEST(Workloads, ProductsOfNarrowNumbersHaveWideSums) {
  const Workload w = parse_workload("gemm:m=4,n=8,k=16,w=1,dtype=u8s8s32");
  EXPECT_EQ(w.text, "gemm:m=4,n=8,k=16,w=1,dtype=u8s8s32");
  EXPECT_EQ(w.shape, "4x8x16 u8s8s32");
  EXPECT_EQ(w.program.arguments[0].dtype(), uint_type(8));
  EXPECT_EQ(w.program.arguments[1].dtype(), int_type(8));
  EXPECT_TRUE(te::is_constant(w.program.arguments[1]));
  EXPECT_EQ(w.program.outputs[0].dtype(), int_type(32));
  EXPECT_EQ(te::count_operations(w.program), 2.0 * 4 * 8 * 16);
  const Workload c = parse_workload("conv2d_bias_relu:ci=4,h=5,co=8,k=3,dtype=u8s8s32");
  EXPECT_EQ(c.program.arguments[0].dtype(), uint_type(8));
  EXPECT_EQ(c.program.arguments[2].dtype(), int_type(32));
  EXPECT_EQ(c.program.outputs[0].dtype(), int_type(32));
  const Workload r = parse_workload("conv2d_bias_relu:ci=4,h=5,co=8,k=3,dtype=u8s8u8");
  EXPECT_EQ(r.program.arguments[2].dtype(), int_type(32));
  EXPECT_EQ(r.program.arguments[3].dtype(), float_type(32));
  EXPECT_EQ(r.program.outputs[0].dtype(), uint_type(8));
  const Workload b = parse_workload("dense:m=4,n=8,k=16,dtype=bf16bf16f32");
  EXPECT_EQ(b.program.arguments[1].dtype(), bfloat_type(16));
  EXPECT_EQ(b.program.outputs[0].dtype(), float_type(32));
  EXPECT_EQ(parse_workload("gemm:m=4,n=8,k=16,dtype=bfloat16").program.outputs[0].dtype(),
            bfloat_type(16));
}

TEST(Workloads, ChannelsInBlocks) {
  const Workload w = parse_workload("conv2d_bias_relu:resnet50.3,b=16");
  EXPECT_EQ(w.text, "conv2d_bias_relu:n=1,ci=64,h=56,w=56,co=64,k=3,s=1,p=1,b=16");
  EXPECT_EQ(w.shape, "64->64 at 56x56, 3x3, NCHW16c");
  const auto shape = [](const te::Tensor& t) { return topi::shape_text(t.shape()); };
  EXPECT_EQ(shape(w.program.arguments[0]), "[1, 4, 56, 56, 16]");
  EXPECT_EQ(shape(w.program.arguments[1]), "[4, 4, 3, 3, 16, 16]");
  EXPECT_EQ(shape(w.program.arguments[2]), "[4, 1, 1, 16]");
  EXPECT_EQ(shape(w.program.outputs[0]), "[1, 4, 56, 56, 16]");
  // The most channels that divide, where 16 do not.
  const Workload stem = parse_workload("conv2d:ci=3,h=9,co=24,k=3,b=16");
  EXPECT_EQ(shape(stem.program.arguments[0]), "[1, 1, 9, 9, 3]");
  EXPECT_EQ(shape(stem.program.outputs[0]), "[1, 2, 7, 7, 12]");
}

TEST(Workloads, UnknownOnesNameTheNearest) {
  const auto nearest = [](std::string_view text, std::string_view expected) {
    const ErrorInfo info =
        test::expect_error(ErrorCode::UnknownWorkload, [&] { parse_workload(text); });
    EXPECT_NE(info.what.find(expected), std::string::npos) << info.what;
  };
  nearest("gem:bert.ffn", "gemm:bert.ffn");
  nearest("gemm:bert.fnn", "gemm:bert.ffn");
  nearest("bert.qkv", "gemm:bert.qkv");
  nearest("conv2d_bias_relu:resnet51.3,b=16", "conv2d_bias_relu:resnet50.3");
  nearest("conv2d_bias_relu:resnet50.99", "conv2d_bias_relu:resnet50.");
  nearest("", "");
  const ErrorInfo alone =
      test::expect_error(ErrorCode::UnknownWorkload, [] { parse_workload("frobnicate:quux"); });
  EXPECT_EQ(alone.what.find("nearest"), std::string::npos) << alone.what;
}

TEST(Workloads, ImpossibleSizesSayWhatIsLegal) {
  const auto bad = [](std::string_view text, std::string_view what, std::string_view legal) {
    const ErrorInfo info =
        test::expect_error(ErrorCode::BadWorkload, [&] { parse_workload(text); });
    EXPECT_NE(info.what.find(what), std::string::npos) << text << ": " << info.what;
    EXPECT_NE(info.legal.find(legal), std::string::npos) << text << ": " << info.legal;
  };
  bad("gemm:m=0,n=1,k=1", "size 'm' (rows) is 0", "1 to ");
  bad("gemm:m=-4,n=1,k=1", "is -4", "1 to ");
  bad("gemm:m=1.5,n=1,k=1", "is '1.5'", "an integer from 1 to ");
  bad("gemm:m=,n=1,k=1", "is ''", "an integer");
  bad("gemm:m=99999999999999999999,n=1,k=1", "is 99999999999999999999", "1 to ");
  bad("gemm:m=1,n=1", "size 'k'", "an integer");
  bad("gemm:m=1,n=1,k=1,q=3", "no size 'q'", "m, n, k, w, dtype");
  bad("gemm:m=1,n=1,k=1,m=3", "given twice", "once");
  bad("gemm:m=1,n=1,k=1,dtype=float31", "float31", "float32");
  bad("gemm:m=1,n=1,k=1,dtype=u8u8s32", "u8u8s32", "u8s8s32");
  bad("conv2d:ci=1,h=1,co=1,k=1,dtype=u8s8u8", "u8s8u8", "u8s8s32");
  bad("softmax:m=1,n=1,dtype=int32", "int32", "float32");
  bad("softmax:m=1,n=1,dtype=u8s8s32", "u8s8s32", "float32");
  bad("gemm:m=1,=,k", "no size ''", "m, n, k");
  bad("gemm:m=1,n=1=1,k=1", "is '1=1'", "an integer");
  bad("gemm:", "without sizes", "m, n, k");
  bad("gemm", "without sizes", "m, n, k");
  bad("gemm:m=1000000,n=1000000,k=1", "elements", "at most");
  bad("gemm:m=40000,n=40000,k=40000", "GiB", "at most");
  bad("conv2d:ci=3,h=4,co=8,k=5", "does not fit", "at most 4");
  bad("conv2d:ci=3,h=9,w=2,co=8,k=3,d=2", "does not fit", "at most 2");
  bad("conv2d:ci=3,h=9,co=8,k=3,g=2", "groups", "divides");
  bad("conv2d:ci=4,h=9,co=8,k=3,g=2,b=4", "in blocks (b=4) and in 2 groups", "one of the two");
  bad("conv2d_bias_relu:resnet50.3,h=9", "'h' is given twice", "once");
  bad("conv2d:ci=3,h=9,co=8,k=3,p=3", "padding", "0 to 2");
  bad("conv2d:ci=3,h=9,co=8,k=3,s=0", "size 's'", "1 to ");
}

}  // namespace
}  // namespace tw::autotune
