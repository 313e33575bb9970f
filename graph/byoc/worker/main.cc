// SPDX-License-Identifier: Apache-2.0
// The program that builds and runs regions of a code generator before our own process does
// (runtime/try_regions): `tilewright-codegen LIBRARY`, a region a line on standard input, or
// `tilewright-codegen DIRECTORY REGION` for one of an exported network. What a kernel writes and
// its scratch memory end where memory ends that can be touched.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/codegen_library.h"
#include "runtime/environment.h"
#include "runtime/error.h"
#include "runtime/region_directory.h"
#include "runtime/region_json.h"

namespace {

using namespace tw::vendor;

constexpr size_t kPage = 4096, kConstants = size_t{1} << 33;
// Of one region; TILEWRIGHT_CODEGEN_SECONDS may say another number.
unsigned most_seconds() {
  return tw::environment_number<unsigned>("TILEWRIGHT_CODEGEN_SECONDS", 1, 86400, 60);
}

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

void run_twice(Kernel& kernel, const Region& region) {
  std::vector<void*> tensors;
  for (size_t v : region.inputs) tensors.push_back(guarded(bytes_of(region.values[v])));
  for (size_t v : region.outputs) tensors.push_back(guarded(bytes_of(region.values[v])));
  void* const workspace = guarded(kernel.workspace_bytes());
  // What is as it was before both runs was not written: outputs are of another shape than these.
  std::vector<std::vector<bool>> untouched(region.outputs.size());
  for (const unsigned char before : {0xa5, 0x5a}) {
    for (size_t k = 0; k < region.outputs.size(); ++k) {
      const auto bytes = static_cast<size_t>(bytes_of(region.values[region.outputs[k]]));
      std::memset(tensors[region.inputs.size() + k], before, bytes);
      untouched[k].resize(bytes, true);
    }
    kernel.run(tensors.data(), workspace);
    for (size_t k = 0; k < region.outputs.size(); ++k) {
      const auto* now = static_cast<const unsigned char*>(tensors[region.inputs.size() + k]);
      for (size_t i = 0; i < untouched[k].size(); ++i)
        untouched[k][i] = untouched[k][i] && now[i] == before;
    }
  }
  for (size_t k = 0; k < untouched.size(); ++k) {
    const auto bytes = std::ranges::count(untouched[k], true);
    if (bytes > 0) {
      throw std::runtime_error(std::to_string(bytes) + " of " +
                               std::to_string(untouched[k].size()) + " bytes of output " +
                               std::to_string(k) + " were not written");
    }
  }
}

// "ok", or what body() throws, as a line.
template <class Body>
std::string outcome(Body body) {
  std::string said = "ok";
  try {
    body();
  } catch (const tw::Error& e) {
    said = e.info().what;
  } catch (const std::exception& e) {
    said = e.what();
  }
  std::ranges::replace(said, '\n', ' ');
  return said;
}

}  // namespace

int main(int count, char** arguments) {
  // What a library prints is none of our lines.
  std::FILE* const results = fdopen(dup(STDOUT_FILENO), "w");
  if (results == nullptr || std::freopen("/dev/null", "w", stdout) == nullptr) return 1;
  const auto say = [&](const std::string& line) {
    std::fprintf(results, "%s\n", line.c_str());
    std::fflush(results);
  };
  if (count == 3) {
    alarm(most_seconds());
    say(outcome([&] {
      const tw::BuiltRegion built = tw::build_saved_region(arguments[1], arguments[2]);
      run_twice(*built.kernel, built.region);
    }));
    return 0;
  }
  if (count != 2) return 1;
  const std::string name = std::filesystem::path(arguments[1]).filename().string();
  const tw_codegen* codegen = nullptr;
  const std::string loaded = outcome([&] { codegen = &load_codegen(name, arguments[1]); });
  const void* const constants = map(kConstants);
  std::string line;
  while (std::getline(std::cin, line)) {
    alarm(most_seconds());
    say(codegen == nullptr ? loaded : outcome([&] {
      const Region region = from_json(line, [&](size_t) { return constants; });
      run_twice(*build_kernel(*codegen, region), region);
    }));
  }
  return 0;
}
