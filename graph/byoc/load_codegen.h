// SPDX-License-Identifier: Apache-2.0
// How the library of a code generator is loaded, here and in the program that tries it first.
#pragma once

namespace tw::graph {

// As dlopen, which see; dlerror says why it returns null. If it brings libgomp, whose threads spin
// for ten milliseconds by default, they spin for some 50 µs before they sleep, as our pool's do,
// unless the environment says otherwise. (One that _core brings is told so in __init__.py.)
void* load_codegen(const char* path);

}  // namespace tw::graph
