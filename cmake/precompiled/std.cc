// SPDX-License-Identifier: Apache-2.0
#include "cmake/precompiled/std.h"
