// SPDX-License-Identifier: Apache-2.0
// Marks what libtilewright_runtime.so exports; every other symbol of the project is hidden.
#pragma once

#define TW_API __attribute__((visibility("default")))
