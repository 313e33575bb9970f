// SPDX-License-Identifier: Apache-2.0
// The program that builds and runs regions of a code generator before our own process does
// (graph/byoc/try_regions.cc): tilewright-codegen LIBRARY, a region a line on standard input. What
// a kernel writes and its scratch memory end where memory ends that can be touched.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "graph/byoc/codegen.h"
#include "graph/byoc/load_codegen.h"
#include "graph/byoc/region_json.h"

namespace {

using namespace tw::vendor;

constexpr size_t kPage = 4096, kConstants = size_t{1} << 33;
constexpr unsigned kSeconds = 60;

void* map(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("there is no memory to try it in");
  return memory;
}

// Memory whose end, to 64 bytes, is followed by a page that cannot be touched. It is never freed:
// the process does not live long.
void* guarded(int64_t bytes) {
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  const size_t pages = (size + kPage - 1) / kPage * kPage;
  char* const begin = static_cast<char*>(map(pages + kPage));
  mprotect(begin + pages, kPage, PROT_NONE);
  return begin + (pages - size) / 64 * 64;
}

int64_t bytes_of(const Value& v) {
  const size_t digits = v.dtype.find_first_of("0123456789");
  const int64_t bits = digits == std::string::npos ? 8 : std::stoi(v.dtype.substr(digits));
  return v.elements() * std::max<int64_t>(bits / 8, 1);
}

void try_region(BuildFunction* build, const std::string& text, const void* constants) {
  const Region region = from_json(text, constants);
  const std::unique_ptr<Kernel> kernel(build(region));
  if (!kernel) throw std::runtime_error("the code generator gave nothing");
  std::vector<void*> tensors;
  for (size_t v : region.inputs) tensors.push_back(guarded(bytes_of(region.values[v])));
  for (size_t v : region.outputs) tensors.push_back(guarded(bytes_of(region.values[v])));
  void* const workspace = guarded(kernel->workspace_bytes());
  for (int k = 0; k < 2; ++k) kernel->run(tensors.data(), workspace);
}

}  // namespace

int main(int count, char** arguments) {
  // What a library prints is none of our lines.
  std::FILE* const results = fdopen(dup(STDOUT_FILENO), "w");
  if (results == nullptr || std::freopen("/dev/null", "w", stdout) == nullptr) return 1;
  void* const library = count == 2 ? tw::graph::load_codegen(arguments[1]) : nullptr;
  const char* const why = library == nullptr ? dlerror() : nullptr;
  auto* const build = library == nullptr
                          ? nullptr
                          : reinterpret_cast<BuildFunction*>(dlsym(library, "tilewright_build"));
  const void* const constants = map(kConstants);
  std::string line;
  while (std::getline(std::cin, line)) {
    alarm(kSeconds);
    std::string said = "ok";
    try {
      if (build == nullptr)
        throw std::runtime_error(why != nullptr ? why : "the library exports no tilewright_build");
      try_region(build, line, constants);
    } catch (const std::exception& e) {
      said = e.what();
      std::ranges::replace(said, '\n', ' ');
    }
    std::fprintf(results, "%s\n", said.c_str());
    std::fflush(results);
  }
  return 0;
}
