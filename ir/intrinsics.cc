// SPDX-License-Identifier: Apache-2.0
#include "ir/intrinsics.h"

namespace tw {
namespace {

constexpr Intrinsic kIntrinsics[] = {
#define INTRINSIC(Name, Arity, Kind, Printed, Doc) {#Name, Arity, CallKind::Kind, Printed, Doc},
#include "ir/intrinsics.def"
#undef INTRINSIC
};

}  // namespace

const Intrinsic* find_intrinsic(std::string_view name) {
  for (const Intrinsic& i : kIntrinsics) {
    if (i.name == name) return &i;
  }
  return nullptr;
}

const Intrinsic* find_printed_intrinsic(std::string_view printed) {
  for (const Intrinsic& i : kIntrinsics) {
    if (i.printed == printed) return &i;
  }
  return nullptr;
}

}  // namespace tw
