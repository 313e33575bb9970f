// SPDX-License-Identifier: Apache-2.0
// The file shipped_experience.bin, as part of the library: ./tw bench model --pretrain writes it.
#include "autotune/learn/experience.h"
#include "runtime/error.h"

__asm__(
    ".section .rodata\n"
    ".global tilewright_shipped_experience\n"
    ".hidden tilewright_shipped_experience\n"
    ".global tilewright_shipped_experience_end\n"
    ".hidden tilewright_shipped_experience_end\n"
    "tilewright_shipped_experience:\n"
    ".incbin \"" TW_SHIPPED_EXPERIENCE
    "\"\n"
    "tilewright_shipped_experience_end:\n"
    ".byte 0\n"
    ".previous\n");
extern "C" const char tilewright_shipped_experience[], tilewright_shipped_experience_end[];

namespace tw::autotune {

const ShippedExperience& shipped_experience() {
  static const ShippedExperience* shipped = [] {
    auto* result = new ShippedExperience;
    try {
      result->experience =
          Experience::load({tilewright_shipped_experience, tilewright_shipped_experience_end});
    } catch (const Error& e) {
      result->refusal = "the shipped model: " + e.info().what;
    }
    return result;
  }();
  return *shipped;
}

}  // namespace tw::autotune
