// SPDX-License-Identifier: Apache-2.0
#include "runtime/codegen_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "runtime/error.h"

namespace tw::vendor {
namespace {

namespace fs = std::filesystem;

// While it lives, a library that is loaded finds the number of rounds in the environment; libgomp
// reads it once, when it is loaded, and has no function that sets it.
class OpenMpSpin {
 public:
  OpenMpSpin() {
    if (std::getenv(kRounds) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
    // A round is a pause, 140 cycles on processors since Skylake; fewer on others, which then
    // sleep earlier.
    is_ours_ = setenv(kRounds, "1000", 1) == 0;
  }
  ~OpenMpSpin() {
    if (is_ours_) unsetenv(kRounds);
  }
  OpenMpSpin(const OpenMpSpin&) = delete;
  OpenMpSpin& operator=(const OpenMpSpin&) = delete;

 private:
  static constexpr const char* kRounds = "GOMP_SPINCOUNT";
  bool is_ours_ = false;
};

void* open(const char* path) {
  static std::mutex mutex;
  const std::lock_guard alone(mutex);
  if (void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return library;
  const OpenMpSpin spin;
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

// A region as the structs of codegen_abi.h, which live as long as this does and the region.
class PlainRegion {
 public:
  explicit PlainRegion(const Region& region) {
    for (const Value& v : region.values) {
      values_.push_back(
          {v.shape.data(), static_cast<int64_t>(v.shape.size()), v.dtype.c_str(), v.constant});
    }
    for (const Composite& c : region.composites) {
      auto& steps = steps_.emplace_back();
      for (const Step& s : c.steps) {
        auto& attributes = attributes_.emplace_back();
        for (const auto& [name, a] : s.attributes) attributes.push_back(attribute(name, a));
        steps.push_back({s.op.c_str(), s.node.c_str(), attributes.data(),
                         static_cast<int64_t>(attributes.size()), numbers(s.inputs),
                         numbers(s.outputs)});
      }
      composites_.push_back({c.pattern.c_str(), steps.data(), static_cast<int64_t>(steps.size())});
    }
    region_ = {region.name.c_str(),
               values_.data(),
               static_cast<int64_t>(values_.size()),
               numbers(region.inputs),
               numbers(region.outputs),
               composites_.data(),
               static_cast<int64_t>(composites_.size()),
               region.threads};
  }
  const tw_codegen_region* get() const { return &region_; }

 private:
  tw_codegen_integers numbers(const std::vector<size_t>& list) {
    const auto& copy = integers_.emplace_back(list.begin(), list.end());
    return {copy.data(), static_cast<int64_t>(copy.size())};
  }

  tw_codegen_attribute attribute(const std::string& name, const Attribute& value) {
    tw_codegen_attribute a = {
        name.c_str(), static_cast<int64_t>(value.index()), 0, 0, "", nullptr, 0};
    const auto add_lists = [&](std::vector<tw_codegen_integers> lists) {
      const auto& kept = lists_.emplace_back(std::move(lists));
      a.lists = kept.data();
      a.num_lists = static_cast<int64_t>(kept.size());
    };
    const auto list = [](const std::vector<int64_t>& v) {
      return tw_codegen_integers{v.data(), static_cast<int64_t>(v.size())};
    };
    std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int64_t>) {
            a.integer = v;
          } else if constexpr (std::is_same_v<T, double>) {
            a.real = v;
          } else if constexpr (std::is_same_v<T, std::string>) {
            a.text = v.c_str();
          } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
            add_lists({list(v)});
          } else if constexpr (std::is_same_v<T, std::vector<std::vector<int64_t>>>) {
            std::vector<tw_codegen_integers> lists;
            for (const auto& each : v) lists.push_back(list(each));
            add_lists(std::move(lists));
          }
        },
        value);
    return a;
  }

  // Elements of deques stay where they are.
  std::deque<std::vector<int64_t>> integers_;
  std::deque<std::vector<tw_codegen_integers>> lists_;
  std::deque<std::vector<tw_codegen_attribute>> attributes_;
  std::deque<std::vector<tw_codegen_step>> steps_;
  std::vector<tw_codegen_value> values_;
  std::vector<tw_codegen_composite> composites_;
  tw_codegen_region region_ = {};
};

// The numbers of codegen_abi.h are those of the alternatives.
template <int64_t kind, class T>
constexpr bool kIsKind = std::is_same_v<std::variant_alternative_t<kind, Attribute>, T>;
static_assert(kIsKind<TW_ATTRIBUTE_NONE, std::monostate> && kIsKind<TW_ATTRIBUTE_BOOL, bool> &&
              kIsKind<TW_ATTRIBUTE_INT, int64_t> && kIsKind<TW_ATTRIBUTE_FLOAT, double> &&
              kIsKind<TW_ATTRIBUTE_TEXT, std::string> &&
              kIsKind<TW_ATTRIBUTE_INTS, std::vector<int64_t>> &&
              kIsKind<TW_ATTRIBUTE_INT_LISTS, std::vector<std::vector<int64_t>>>);

std::string words_of(tw_codegen_error& error) {
  error.text[sizeof error.text - 1] = 0;
  return *error.text != 0 ? error.text : "it did not say why";
}

// A state of the other side.
class PlainKernel final : public Kernel {
 public:
  PlainKernel(const tw_codegen& codegen, void* state) : codegen_(codegen), state_(state) {}
  ~PlainKernel() override { codegen_.release(state_); }
  PlainKernel(const PlainKernel&) = delete;
  PlainKernel& operator=(const PlainKernel&) = delete;

  int64_t workspace_bytes() const override { return codegen_.workspace_bytes(state_); }
  void run(void* const* tensors, void* workspace) override {
    tw_codegen_error error;
    *error.text = 0;
    const tw_codegen_call call = {state_, tensors, workspace};
    if (codegen_.run(&call, &error) != 0) throw std::runtime_error(words_of(error));
  }
  Kernel* clone() const override {
    void* const other = codegen_.clone != nullptr ? codegen_.clone(state_) : nullptr;
    return other != nullptr ? new PlainKernel(codegen_, other) : nullptr;
  }
  std::string save() const override {
    if (codegen_.save == nullptr) return {};
    struct Sink : tw_codegen_sink {
      std::string bytes;
    } sink;
    sink.write = [](tw_codegen_sink* self, const void* bytes, int64_t count) {
      static_cast<Sink*>(self)->bytes.append(static_cast<const char*>(bytes),
                                             static_cast<size_t>(count));
    };
    tw_codegen_error error = {};
    if (codegen_.save(state_, &sink, &error) != 0) throw std::runtime_error(words_of(error));
    return std::move(sink.bytes);
  }

 private:
  const tw_codegen& codegen_;
  void* state_;
};

}  // namespace

std::string find_codegen(const std::string& library, const std::string& beside) {
  const fs::path name = fs::path(library).filename();
  std::error_code ignored;
  std::vector<fs::path> folders;
  if (!beside.empty()) folders.push_back(fs::absolute(beside, ignored));
  if (const char* path = std::getenv("TILEWRIGHT_CODEGEN_PATH"); path != nullptr) {
    std::istringstream all(path);
    for (std::string folder; std::getline(all, folder, ':');)
      if (!folder.empty()) folders.push_back(fs::absolute(folder, ignored));
  }
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&find_codegen), &info) != 0 && info.dli_fname != nullptr)
    folders.push_back(fs::absolute(info.dli_fname, ignored).parent_path());
  for (const fs::path& folder : folders) {
    if (fs::is_regular_file(folder / name, ignored)) return (folder / name).string();
  }
  return library;
}

const tw_codegen& load_codegen(const std::string& name, const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    raise({.code = ErrorCode::ModuleLoad,
           .what = fmt::format("the code generator '{}' cannot be loaded: {}", name, why)});
  };
  void* const library = open(path.c_str());
  if (library == nullptr) {
    const char* why = dlerror();
    refuse(why == nullptr ? "no reason is known" : why);
  }
  using Get = const tw_codegen*();
  auto* const get = reinterpret_cast<Get*>(dlsym(library, TW_CODEGEN_SYMBOL));
  if (get == nullptr) refuse(fmt::format("{} exports no {}", path, TW_CODEGEN_SYMBOL));
  const tw_codegen* const codegen = get();
  if (codegen == nullptr) refuse(fmt::format("{} gave nothing", path));
  if (codegen->version != TW_CODEGEN_VERSION) {
    refuse(fmt::format("{} is made for version {} of codegen_abi.h, and this is {}", path,
                       codegen->version, TW_CODEGEN_VERSION));
  }
  return *codegen;
}

std::unique_ptr<Kernel> build_kernel(const tw_codegen& codegen, const Region& region,
                                     std::string_view saved) {
  tw_codegen_error error = {};
  const PlainRegion plain(region);
  void* const state = codegen.build(plain.get(), saved.empty() ? nullptr : saved.data(),
                                    static_cast<int64_t>(saved.size()), &error);
  if (state == nullptr) {
    raise({.code = ErrorCode::CodeGeneration,
           .what = *error.text != 0 ? words_of(error) : "the code generator gave nothing"});
  }
  auto kernel = std::make_unique<PlainKernel>(codegen, state);
  if (kernel->workspace_bytes() < 0) {
    raise({.code = ErrorCode::CodeGeneration, .what = "the kernel cannot say what it needs"});
  }
  return kernel;
}

}  // namespace tw::vendor
