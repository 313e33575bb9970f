// SPDX-License-Identifier: Apache-2.0
// Named layers of real networks, and free sizes: what the command line tunes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/te/text.h"

namespace tw::autotune {

struct NamedWorkload {
  std::string_view kind;    // "conv2d_bias_relu"
  std::string_view name;    // "resnet50.3"
  std::string_view sizes;   // "n=1,ci=64,h=56,w=56,co=64,k=3,s=1,p=1"
  std::string_view source;  // paper or model the sizes are from
  bool in_default_set;
};
std::span<const NamedWorkload> named_workloads();

struct Workload {
  std::string text;   // canonical: "gemm:m=128,n=3072,k=768"
  std::string label;  // as asked for: "gemm:bert.ffn"
  std::string shape;  // "128x3072x768", for people
  te::Program program;
};
// "kind:name", also with sizes that the name says nothing of ("conv2d_bias_relu:resnet50.3,b=16"),
// or "kind:size=value,…". UnknownWorkload names the nearest; BadWorkload says which
// size is impossible and what is legal.
Workload parse_workload(std::string_view text);
std::vector<Workload> default_workloads();

}  // namespace tw::autotune
