// SPDX-License-Identifier: Apache-2.0
#include "lower/llvm/link.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/Support/Program.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "runtime/c_api.h"
#include "runtime/error.h"
#include "runtime/module.h"
#include "runtime/parameter_file.h"

namespace tw::codegen {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void failed(std::string what, std::string legal = {}) {
  raise({.code = ErrorCode::LinkFailed, .what = std::move(what), .legal = std::move(legal)});
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) failed(fmt::format("cannot write '{}': {}", path.string(), std::strerror(errno)));
}

// A folder of our own that goes with us.
struct Scratch {
  fs::path path;
  Scratch() {
    std::string name = (fs::temp_directory_path() / "tilewright-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      failed(fmt::format("cannot make a temporary folder '{}': {}", name, std::strerror(errno)));
    }
    path = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

fs::path runtime_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&tw_parallel_for), &info) == 0 || info.dli_fname == nullptr) {
    failed("cannot find the file of libtilewright_runtime.so");
  }
  return fs::absolute(info.dli_fname);
}

void run(const std::string& program, const std::vector<std::string>& arguments,
         const fs::path& log) {
  std::vector<llvm::StringRef> words{program};
  for (const std::string& a : arguments) words.emplace_back(a);
  const std::string log_name = log.string();
  const std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(""), llvm::StringRef(log_name), llvm::StringRef(log_name)};
  std::string message;
  const int status = llvm::sys::ExecuteAndWait(program, words, std::nullopt, redirects,
                                               /*SecondsToWait=*/60, 0, &message);
  if (status == 0) return;
  std::ifstream in(log);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  failed(fmt::format("{} failed ({}): {}{}", program, status, message, text));
}

void link(const fs::path& object, const fs::path& library, const fs::path& log) {
  const fs::path runtime = runtime_library();
  const std::string directory = runtime.parent_path().string();
  std::vector<std::string> arguments = {"-shared",
                                        "--no-undefined",
                                        "--hash-style=gnu",
                                        "-z",
                                        "relro",
                                        "-z",
                                        "noexecstack",
                                        "-rpath",
                                        directory,
                                        "-o",
                                        library.string(),
                                        object.string(),
                                        runtime.string()};
  // The C library's mathematics, by name: exported libraries run where no compiler is.
  for (const char* name : {"libmvec.so.1", "libm.so.6", "libc.so.6"}) {
    for (const char* folder : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
                               "/usr/lib64", "/usr/lib"}) {
      const fs::path candidate = fs::path(folder) / name;
      if (!fs::exists(candidate)) continue;
      arguments.push_back(candidate.string());
      break;
    }
  }
  arguments.insert(arguments.begin(), "--as-needed");
  for (const char* name : {"ld.lld-19", "ld.lld", "/usr/lib/llvm-19/bin/ld.lld", "ld"}) {
    if (const auto program = llvm::sys::findProgramByName(name)) {
      return run(*program, arguments, log);
    }
  }
  failed("no linker: neither ld.lld-19 nor ld is on the path",
         "install the package lld-19, or export an object file (.o)");
}

std::string header(const std::vector<Kernel>& kernels) {
  std::string text =
      "#pragma once\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  for (const Kernel& kernel : kernels) {
    if (kernel.role == KernelRole::Device) continue;
    text += "// args[i] points to a DLTensor, an int64_t or a double:\n";
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
      const KernelArgument& a = kernel.arguments[i];
      text += fmt::format("//   args[{}]  {} ({}{})\n", i, a.name, to_string(a.dtype),
                          a.is_tensor ? fmt::format(" tensor of rank {}", a.shape.size()) : "");
    }
    // C names the function, the label its symbol.
    const auto declare = [&](const std::string& name, const std::string& symbol) {
      text += fmt::format(
          "int32_t {}(void* const* args, const int32_t* type_codes, int32_t num_args)\n"
          "    __asm__(\"{}\");\n",
          name, symbol);
    };
    declare(kernel.name, entry_symbol(kernel));
    if (has_unchecked(kernel)) {
      text += "// The same without checks; see tw_kernel in runtime/c_api.h.\n";
      declare(kernel.name + "_unchecked", unchecked_symbol(kernel));
    }
    text += "\n";
  }
  return text + "#ifdef __cplusplus\n}\n#endif\n";
}

// The constants that are not copied into the code.
struct LargeConstant {
  std::string symbol, array;
  NDArray value;
};
std::vector<LargeConstant> large_constants(const std::vector<Kernel>& kernels) {
  std::vector<LargeConstant> found;
  for (const Kernel& kernel : kernels) {
    for (size_t i = 0; i < kernel.constants.size(); ++i) {
      const KernelConstant& c = kernel.constants[i];
      if (!is_small(c))
        found.push_back({constant_symbol(kernel, i), array_symbol(kernel, i), c.value});
    }
  }
  return found;
}

// The assembler copies the bytes of a file, which LLVM IR would hold as text.
std::string assembly_for(const std::vector<LargeConstant>& constants, const fs::path& folder) {
  std::string text;
  for (size_t i = 0; i < constants.size(); ++i) {
    const NDArray& value = constants[i].value;
    const fs::path file = folder / fmt::format("array{}", i);
    write_file(file,
               {static_cast<const char*>(value.data()), static_cast<size_t>(value.byte_size())});
    text += fmt::format(
        ".pushsection .rodata,\"a\",@progbits\n.balign {0}\n.globl \"{1}\"\n.hidden \"{1}\"\n"
        "\"{1}\":\n.incbin \"{2}\"\n.popsection\n",
        NDArray::kAlignment, constants[i].array, file.string());
  }
  return text;
}

// Into place at once, so that nobody loads half a file and a loaded library is not overwritten.
void move_into_place(const fs::path& made, const fs::path& path) {
  std::error_code error;
  fs::path beside = path;
  beside += fmt::format(".{}.tmp", getpid());
  fs::copy_file(made, beside, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(beside, path, error);
  if (error) {
    std::error_code ignored;
    fs::remove(beside, ignored);
    failed(fmt::format("cannot write '{}': {}", path.string(), error.message()));
  }
}

}  // namespace

void add_constant(llvm::Module& module, const std::string& name, const std::string& text) {
  llvm::Constant* value = llvm::ConstantDataArray::getString(module.getContext(), text);
  new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::ExternalLinkage,
                           value, name);
}

void export_code(const std::string& path, const std::vector<Kernel>& kernels,
                 const std::function<llvm::SmallVector<char, 0>(const ObjectParts&)>& object) {
  const std::string ending = fs::path(path).extension().string();
  if (ending != ".so" && ending != ".o" && ending != ".h") {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("cannot tell from '{}' what to export", path),
           .legal = "a name that ends in .so, .o or .h"});
  }
  const Scratch scratch;
  const fs::path made = scratch.path / ("kernels" + ending);
  if (ending == ".h") {
    write_file(made, header(kernels));
    return move_into_place(made, path);
  }
  const std::vector<LargeConstant> constants = large_constants(kernels);
  ObjectParts parts{.constants = ending == ".so" ? ConstantPlace::Library : ConstantPlace::Object};
  const fs::path parameters = scratch.path / "kernels.params";
  if (parts.constants == ConstantPlace::Object) {
    parts.assembly = assembly_for(constants, scratch.path);
  } else if (!constants.empty()) {
    std::vector<NamedArray> arrays;
    for (const LargeConstant& c : constants) arrays.push_back({c.symbol, c.value});
    parts.parameters = fmt::format("{:016x}", write_parameters(parameters.string(), arrays));
  }
  const llvm::SmallVector<char, 0> bytes = object(parts);
  const fs::path object_file = scratch.path / "kernels.o";
  write_file(object_file, std::string_view(bytes.data(), bytes.size()));
  if (ending == ".so") link(object_file, made, scratch.path / "linker.log");
  // First, as a library without its parameters is of no use.
  if (!parts.parameters.empty()) move_into_place(parameters, parameters_path(path));
  move_into_place(made, path);
}

}  // namespace tw::codegen
