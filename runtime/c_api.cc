// SPDX-License-Identifier: Apache-2.0
#include "runtime/c_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "runtime/dtype.h"
#include "runtime/error.h"
#include "runtime/last_error.h"
#include "runtime/module.h"
#include "runtime/ndarray.h"
#include "runtime/thread_count.h"
#include "runtime/thread_pool.h"
#include "runtime/tile_data.h"
#include "runtime/version.h"
#include "runtime/workspace.h"

namespace {

using tw::ErrorCode;
using tw::guarded;

struct CheckRow {
  ErrorCode code;
  std::string_view message;
};
constexpr CheckRow kChecks[] = {
#define ARGUMENT_CHECK(Name, Code, Message) {ErrorCode::Code, Message},
#include "runtime/argument_checks.def"
#undef ARGUMENT_CHECK
};

ErrorCode checked_code(int32_t code) {
  return code >= 0 && code < TW_NUM_ERROR_CODES ? static_cast<ErrorCode>(code)
                                                : ErrorCode::Internal;
}

// A value in a message of the given check.
std::string describe(int32_t check, int64_t value) {
  switch (check) {
    case TW_CHECK_DType:
      return tw::to_string(DLDataType{static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8),
                                      static_cast<uint16_t>(value >> 16)});
    case TW_CHECK_Kind:
      if (value < 0 || value > TW_ARG_FLOAT) break;
      return std::string(tw::to_string(static_cast<tw::ArgumentKind>(value)));
    default:
      break;
  }
  return fmt::format("{}", value);
}

int64_t first_byte(const DLTensor& t) {
  return reinterpret_cast<int64_t>(t.data) + static_cast<int64_t>(t.byte_offset);
}

// What a check finds where `expected` would be right.
int64_t found(const tw_argument_check& c, void* const* args, const int32_t* type_codes,
              int32_t num_args) {
  if (c.check == TW_CHECK_Count) return num_args;
  if (c.check == TW_CHECK_Kind) return type_codes[c.argument];
  const auto& tensor = *static_cast<const DLTensor*>(args[c.argument]);
  const auto address = [&] { return first_byte(tensor); };
  switch (c.check) {
    case TW_CHECK_Rank:
      return tensor.ndim;
    case TW_CHECK_DType:
      return tw_dtype_word(tensor.dtype);
    case TW_CHECK_Device:
      return tensor.device.device_type;
    case TW_CHECK_Shape:
      return tensor.shape[c.index];
    case TW_CHECK_Overlap:
      return tw_tensor_overlap(&tensor, static_cast<const DLTensor*>(args[c.index]));
    case TW_CHECK_PartialOverlap: {
      const auto& other = *static_cast<const DLTensor*>(args[c.index]);
      return address() == first_byte(other) ? 0 : tw_tensor_overlap(&tensor, &other);
    }
    case TW_CHECK_Strides:
      return tensor.strides == nullptr ? c.expected : tensor.strides[c.index];
    default:
      return address();
  }
}

// Whether what a check reads is a tensor that the caller did not give.
bool reads_null(const tw_argument_check& c, void* const* args) {
  return c.check != TW_CHECK_Count && c.check != TW_CHECK_Kind && args[c.argument] == nullptr;
}

bool passes(const tw_argument_check& c, int64_t got) {
  if (c.check == TW_CHECK_Null) return got != 0;
  if (c.check == TW_CHECK_Alignment) return (got & (c.expected - 1)) == 0;
  return got == c.expected;
}

const char* text_or(const char* text, const char* otherwise) { return text ? text : otherwise; }

int32_t run_parallel(tw_parallel_body body, void* closure, int32_t num_tasks,
                     tw::Chunking chunking) {
  return guarded(-1, [&] {
    tw::TaskWorkspaces tasks(body, closure);
    return tw::ThreadPool::global().parallel_for(tasks.body(), tasks.closure(),
                                                 {.num_tasks = num_tasks, .chunking = chunking});
  });
}

}  // namespace

struct tw_module {
  std::shared_ptr<tw::Module> module;
  std::string metadata;
};

namespace {

tw::Function function_of(const tw_module* module, const char* name) {
  if (module == nullptr) tw::raise({.code = ErrorCode::ArgumentNull, .what = "no module"});
  return module->module->get_function(text_or(name, ""));
}

}  // namespace

extern "C" {

const char* tw_last_error(void) {
  const tw::LastError& error = tw::last_error();
  return error.present ? error.message : "";
}

int32_t tw_last_error_code(void) {
  const tw::LastError& error = tw::last_error();
  return error.present ? static_cast<int32_t>(error.code) : TW_NO_ERROR;
}

void tw_clear_error(void) { tw::last_error().present = false; }

const char* tw_error_name(int32_t code) {
  if (code < 0 || code >= TW_NUM_ERROR_CODES) return nullptr;
  return tw::to_string(static_cast<ErrorCode>(code)).data();  // of a string literal
}

void tw_set_error(int32_t code, const char* message) {
  tw::last_error().assign(checked_code(code), text_or(message, ""));
}

int32_t tw_raise_argument_error(int32_t check, const char* function, const char* argument,
                                int32_t index, int64_t expected, int64_t got) {
  return guarded(-1, [&] {
    TW_CHECK(check >= 0 && check < TW_NUM_CHECKS, "unknown argument check");
    // Of an address, what a reader wants is the largest power of two that divides it.
    if (check == TW_CHECK_Alignment) {
      const auto address = static_cast<uint64_t>(got);
      got = static_cast<int64_t>(address & (~address + 1));
    }
    const CheckRow& row = kChecks[check];
    const std::string text = fmt::format(
        fmt::runtime(row.message), fmt::arg("function", text_or(function, "?")),
        fmt::arg("argument", text_or(argument, "?")), fmt::arg("index", index),
        fmt::arg("expected", describe(check, expected)), fmt::arg("got", describe(check, got)));
    tw::last_error().assign(row.code, text);
    return -1;
  });
}

int64_t tw_tensor_overlap(const DLTensor* a, const DLTensor* b) {
  const auto begin = [](const DLTensor* t) { return first_byte(*t); };
  const auto bytes = [](const DLTensor* t) {
    int64_t n = (t->dtype.bits * t->dtype.lanes + 7) / 8;
    for (int32_t d = 0; d < t->ndim; ++d) n *= t->shape[d];
    return n;
  };
  if (begin(b) < begin(a)) std::swap(a, b);
  const int64_t first = begin(b), last = begin(a) + bytes(a);
  if (last <= first) return 0;  // nearly always, and known from one size
  return std::max<int64_t>(std::min(last, first + bytes(b)) - first, 0);
}

int32_t tw_check_arguments(const tw_argument_check* checks, int32_t num_checks,
                           const char* function, const char* names, void* const* args,
                           const int32_t* type_codes, int32_t num_args) {
  for (int32_t i = 0; i < num_checks; ++i) {
    const tw_argument_check& c = checks[i];
    if (reads_null(c, args)) {
      return tw_raise_argument_error(TW_CHECK_Null, function, names + c.name, 0, 0, 0);
    }
    const int64_t got = found(c, args, type_codes, num_args);
    if (passes(c, got)) [[likely]]
      continue;
    const int64_t shown = c.check == TW_CHECK_Null ? 0 : got;
    return tw_raise_argument_error(c.check, function, names + c.name, c.index, c.expected, shown);
  }
  return 0;
}

int32_t tw_parallel_for(tw_parallel_body body, void* closure, int32_t num_tasks) {
  return run_parallel(body, closure, num_tasks, tw::Chunking::Static);
}

int32_t tw_parallel_for_dynamic(tw_parallel_body body, void* closure, int32_t num_tasks) {
  return run_parallel(body, closure, num_tasks, tw::Chunking::Dynamic);
}

int32_t tw_num_threads(void) {
  return guarded(1, [] { return tw::ThreadPool::global().num_threads(); });
}

int32_t tw_request_tile_data(void) {
  return guarded(-1, [] {
    tw::request_tile_data();
    return 0;
  });
}

int32_t tw_set_num_threads(int32_t num_threads) {
  return guarded(-1, [&] {
    tw::set_thread_count(num_threads);
    return 0;
  });
}

void tw_park_threads(void) {
  guarded(0, [] {
    tw::ThreadPool::global().park();
    return 0;
  });
}

void* tw_workspace_alloc(int64_t bytes, int32_t alignment) {
  void* block = tw::workspace_alloc(bytes, alignment);
  if (block == nullptr) {
    guarded(0, [&]() -> int {
      tw::raise({.code = ErrorCode::OutOfMemory,
                 .what = fmt::format("cannot allocate {} bytes of workspace aligned to {}", bytes,
                                     alignment)});
    });
  }
  return block;
}

void tw_workspace_free(void* block) { tw::workspace_free(block); }

int32_t tw_workspace_lend(const tw_workspace* workspace) {
  return guarded(-1, [&] {
    if (workspace == nullptr) {
      tw::lend_workspace(nullptr);
    } else {
      const tw::Workspace lent{workspace->memory, workspace->call_bytes, workspace->thread_bytes,
                               workspace->num_threads};
      tw::lend_workspace(&lent);
    }
    return 0;
  });
}

const char* tw_version(void) { return tw::version(); }

tw_module* tw_module_load(const char* path) {
  return guarded<tw_module*>(nullptr, [&] {
    auto module = tw::load_library(text_or(path, ""));
    std::string metadata = tw::library_metadata(*module);
    return new tw_module{std::move(module), std::move(metadata)};
  });
}

tw_kernel tw_module_function(tw_module* module, const char* name) {
  return guarded<tw_kernel>(nullptr, [&] { return function_of(module, name).kernel(); });
}

tw_kernel tw_module_unchecked(tw_module* module, const char* name) {
  return guarded<tw_kernel>(nullptr,
                            [&] { return function_of(module, name).unchecked().kernel(); });
}

int32_t tw_module_workspace(tw_module* module, const char* name, int64_t* call_bytes,
                            int64_t* thread_bytes) {
  return guarded(-1, [&] {
    const tw::Function function = function_of(module, name);
    const tw::WorkspaceSize& size = function.info().workspace;
    *call_bytes = size.call.value_or(-1);
    *thread_bytes = size.thread.value_or(-1);
    return 0;
  });
}

const char* tw_module_describe(tw_module* module) {
  return module != nullptr ? module->metadata.c_str() : "";
}

void tw_module_free(tw_module* module) { delete module; }

int32_t tw_parse_dtype(const char* text, DLDataType* type) {
  return guarded(-1, [&] {
    *type = tw::to_dlpack(tw::parse_dtype(text_or(text, "")));
    return 0;
  });
}

int32_t tw_call(tw_kernel kernel, DLTensor* const* tensors, int32_t num_tensors) {
  constexpr int32_t kMost = 64;
  if (kernel == nullptr || num_tensors < 0 || num_tensors > kMost) {
    tw_set_error(TW_ERROR_ArgumentCount, "tw_call takes a kernel and at most 64 tensors");
    return -1;
  }
  std::array<void*, kMost> args;
  std::array<int32_t, kMost> codes;
  for (int32_t i = 0; i < num_tensors; ++i) {
    args[static_cast<size_t>(i)] = tensors[i];
    codes[static_cast<size_t>(i)] = TW_ARG_TENSOR;
  }
  tw_clear_error();
  return kernel(args.data(), codes.data(), num_tensors);
}

}  // extern "C"
