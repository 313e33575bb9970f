// SPDX-License-Identifier: Apache-2.0
#include "runtime/thread_count.h"

#include <dlfcn.h>
#include <link.h>

#include <string_view>

#include "runtime/thread_pool.h"

namespace tw {
namespace {

struct Setter {
  std::string_view library;  // a part of the file's name
  const char* symbol;        // void (int)
};

// OpenBLAS goes under several names so that builds can live beside each other: with 64-bit
// integers, and in NumPy's and SciPy's wheels. PyTorch brings an MKL of its own, which ignores
// OpenMP's number once PyTorch was given one, and hands that to each new thread; so it is told by
// its own function, at::set_num_threads of ATen/Parallel.h.
constexpr Setter kSetters[] = {
    {"libgomp", "omp_set_num_threads"},
    {"libomp", "omp_set_num_threads"},
    {"libiomp", "omp_set_num_threads"},
    {"openblas", "openblas_set_num_threads"},
    {"openblas", "openblas_set_num_threads64_"},
    {"openblas", "scipy_openblas_set_num_threads"},
    {"openblas", "scipy_openblas_set_num_threads64_"},
    {"libmkl_rt", "MKL_Set_Num_Threads"},
    {"libtorch_cpu", "_ZN2at15set_num_threadsEi"},
};

std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// Most such libraries come with a Python extension and are visible to it alone, so they are looked
// for among all that is loaded.
std::vector<std::string> loaded_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        static_cast<std::vector<std::string>*>(result)->emplace_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

// Whether the library has one of the functions that set the number.
bool tell(const std::string& path, int n) {
  bool told = false;
  for (const Setter& setter : kSetters) {
    if (file_name(path).find(setter.library) == std::string_view::npos) continue;
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    if (void* function = dlsym(library, setter.symbol)) {
      reinterpret_cast<void (*)(int)>(function)(n);
      told = true;
    }
    dlclose(library);
  }
  return told;
}

}  // namespace

std::vector<std::string> set_thread_count(int n) {
  ThreadPool::global().set_num_threads(n);
  std::vector<std::string> told;
  for (const std::string& path : loaded_libraries()) {
    if (tell(path, n)) told.emplace_back(file_name(path));
  }
  return told;
}

}  // namespace tw
