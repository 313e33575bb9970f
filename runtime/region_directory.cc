// SPDX-License-Identifier: Apache-2.0
#include "runtime/region_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/checksum.h"
#include "runtime/codegen_library.h"
#include "runtime/error.h"
#include "runtime/graph_directory.h"
#include "runtime/graph_executor.h"
#include "runtime/log.h"
#include "runtime/parameter_file.h"
#include "runtime/region_json.h"
#include "runtime/thread_pool.h"
#include "runtime/try_regions.h"

namespace tw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int64_t kVersion = 1;

[[noreturn]] void bad(const fs::path& path, const std::string& what,
                      std::string legal = "a directory that export wrote, whole") {
  raise({.code = ErrorCode::BadGraph,
         .what = fmt::format("'{}': {}", path.string(), what),
         .legal = std::move(legal)});
}

std::string constant_name(std::string_view region, size_t value) {
  return fmt::format("{}.{}", region, value);
}
std::string saved_name(std::string_view region) { return fmt::format("{}.saved", region); }

uint64_t checksum_of(const NDArray& bytes) {
  return checksum(bytes.data(), static_cast<size_t>(bytes.byte_size()));
}

Json describe(const BuiltRegion& built, std::vector<NamedArray>& arrays) {
  const vendor::Region& region = built.region;
  for (size_t k = 0; k < region.values.size(); ++k) {
    const vendor::Value& v = region.values[k];
    if (v.constant == nullptr) continue;
    arrays.push_back({constant_name(region.name, k),
                      NDArray::over(const_cast<void*>(v.constant), nullptr, v.shape,
                                    parse_dtype(v.dtype), /*read_only=*/true)});
  }
  Json json{{"compiler", built.compiler},
            {"library", built.library},
            {"region", to_json(region)},
            {"parameters", built.parameters},
            {"body", built.body}};
  std::string saved;
  try {
    saved = built.kernel->save();
  } catch (const std::exception& e) {
    raise({.code = ErrorCode::RunCrashed,
           .what = fmt::format("'{}' cannot be saved: {}", region.name, e.what())});
  }
  if (saved.empty()) return json;
  const NDArray bytes = NDArray::empty({static_cast<int64_t>(saved.size())}, uint_type(8));
  bytes.copy_from_bytes(saved.data());
  json["saved"] = checksum_of(bytes);
  arrays.push_back({saved_name(region.name), bytes});
  return json;
}

// The files, read.
class Saved {
 public:
  Saved(fs::path folder, bool verify) : folder_(std::move(folder)) {
    const fs::path path = folder_ / kRegions;
    std::ifstream in(path, std::ios::binary);
    if (!in) bad(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    json_ = Json::parse(in, nullptr, /*allow_exceptions=*/false);
    const auto version = json_.is_object() ? json_.find("version") : json_.end();
    if (version == json_.end() || !version->is_number_integer()) bad(path, "it is damaged");
    if (*version > kVersion) {
      bad(path, fmt::format("it is of version {}", version->get<int64_t>()),
          fmt::format("up to {}; export it again or update Tilewright", kVersion));
    }
    for (NamedArray& a : read_parameters((folder_ / kRegionConstants).string(), verify).arrays)
      arrays_[a.name] = std::move(a.value);
  }

  // f() of the region at `at`; what is missing or of another type there is damage.
  template <class F>
  auto checked(F f) const {
    try {
      return f();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& e) {
      bad(folder_ / kRegions, fmt::format("it is damaged: {}", e.what()));
    }
  }

  size_t size() const {
    return checked([&] { return json_.at("regions").size(); });
  }
  // All but the kernel.
  BuiltRegion region(size_t at) const {
    return checked([&] {
      const Json& json = json_.at("regions").at(at);
      BuiltRegion built{
          .compiler = json.at("compiler"), .library = json.at("library"), .body = json.at("body")};
      built.parameters = json.at("parameters").get<std::vector<std::string>>();
      const std::string text = json.at("region");
      const std::string name = Json::parse(text).at("name");
      built.region = vendor::from_json(text, [&](size_t value) -> const void* {
        built.constants.push_back(array(constant_name(name, value)));
        return built.constants.back().data();
      });
      for (size_t k = 0, c = 0; k < built.region.values.size(); ++k) {
        const vendor::Value& v = built.region.values[k];
        if (v.constant == nullptr) continue;
        const NDArray& elements = built.constants[c++];
        if (!std::ranges::equal(elements.shape(), v.shape) ||
            elements.dtype() != parse_dtype(v.dtype))
          bad(folder_ / kRegionConstants,
              fmt::format("'{}' is another tensor", constant_name(name, k)));
      }
      return built;
    });
  }
  // With the kernel. ModuleLoad, CodeGeneration.
  BuiltRegion build(size_t at) const {
    BuiltRegion built = region(at);
    const std::string path = vendor::find_codegen(built.library, folder_.string());
    const tw_codegen& codegen = vendor::load_codegen(built.compiler, path);
    built.region.threads = ThreadPool::global().num_threads();
    built.codegen = &codegen;
    built.kernel = vendor::build_kernel(codegen, built.region, saved(at, built.region.name));
    return built;
  }
  // What its code generator saved, or empty.
  std::string_view saved(size_t at, const std::string& name) const {
    const Json& json = json_.at("regions").at(at);
    if (!json.contains("saved")) return {};
    const NDArray& bytes = array(saved_name(name));
    if (json["saved"] != checksum_of(bytes))
      bad(folder_ / kRegionConstants, fmt::format("'{}' is damaged", saved_name(name)));
    return {bytes.data_as<char>(), static_cast<size_t>(bytes.byte_size())};
  }

 private:
  const NDArray& array(const std::string& name) const {
    const auto found = arrays_.find(name);
    if (found != arrays_.end()) return found->second;
    bad(folder_ / kRegionConstants, fmt::format("there is no '{}'", name));
  }
  fs::path folder_;
  Json json_;
  std::map<std::string, NDArray> arrays_;
};

// Our kernels in the place of a code generator's.
class Fallback final : public vendor::Kernel {
 public:
  Fallback(std::shared_ptr<const DeployedGraph> graph, std::shared_ptr<const BuiltRegion> shape)
      : graph_(std::move(graph)),
        shape_(std::move(shape)),
        executor_(graph_->plan, graph_->module, graph_->parameters) {}

  Kernel* clone() const override { return new Fallback(graph_, shape_); }
  void run(void* const* tensors, void*) override {
    const vendor::Region& region = shape_->region;
    for (size_t v : region.inputs) {
      const NDArray array = view(v, *tensors++);
      for (int i = 0; i < executor_.num_inputs(); ++i) {
        if (executor_.input_name(i) == shape_->parameters.at(v))
          executor_.set_input_zero_copy(i, array);
      }
    }
    executor_.run();
    for (size_t k = 0; k < region.outputs.size(); ++k)
      view(region.outputs[k], *tensors++).copy_from(executor_.output(static_cast<int>(k)));
  }

 private:
  NDArray view(size_t value, void* elements) const {
    const vendor::Value& v = shape_->region.values[value];
    return NDArray::over(elements, nullptr, v.shape, parse_dtype(v.dtype));
  }
  std::shared_ptr<const DeployedGraph> graph_;
  std::shared_ptr<const BuiltRegion> shape_;  // without a kernel
  GraphExecutor executor_;
};

}  // namespace

void write_regions(const fs::path& folder, const std::vector<const BuiltRegion*>& regions) {
  std::vector<NamedArray> arrays;
  Json json{{"version", kVersion}, {"regions", Json::array()}};
  for (const BuiltRegion* region : regions) json["regions"].push_back(describe(*region, arrays));
  write_parameters((folder / kRegionConstants).string(), arrays);
  const fs::path path = folder / kRegions;
  std::ofstream out(path, std::ios::binary);
  out << json.dump(1) << '\n';
  out.close();
  if (!out) bad(path, fmt::format("cannot be written: {}", std::strerror(errno)));
}

BuiltRegion build_saved_region(const fs::path& folder, std::string_view name) {
  const Saved saved(folder, /*verify=*/false);
  for (size_t k = 0; k < saved.size(); ++k) {
    if (saved.region(k).region.name == name) return saved.build(k);
  }
  bad(folder / kRegions, fmt::format("it has no region '{}'", name));
}

std::vector<std::shared_ptr<const Module>> read_regions(const fs::path& folder, bool verify) {
  const Saved saved(folder, verify);
  std::vector<std::shared_ptr<const Module>> modules;
  for (size_t k = 0; k < saved.size(); ++k) {
    BuiltRegion region = saved.region(k);
    const std::string name = region.region.name;
    (void)saved.saved(k, name);  // damage is no reason to take our kernels
    try {
      if (const std::string problem = verify ? vendor::try_saved_region(folder, name) : "";
          !problem.empty())
        raise({.code = ErrorCode::CodeGeneration, .what = problem});
      region = saved.build(k);
    } catch (const Error& e) {
      const std::string why = fmt::format("'{}' of {}: {}", name, region.compiler, e.info().what);
      const fs::path ours = folder / (name + kFallback);
      if (!fs::exists(ours)) {
        raise({.code = ErrorCode::ModuleLoad,
               .what = fmt::format("'{}': {}", (folder / kRegions).string(), why),
               .legal = fmt::format("{} in that directory, in one of TILEWRIGHT_CODEGEN_PATH or "
                                    "where the system finds libraries, or an export with fallback",
                                    fs::path(region.library).filename().string())});
      }
      log_warning(fmt::format("{}; our kernels compute it", why));
      auto graph = std::make_shared<const DeployedGraph>(load_graph(ours.string(), verify));
      region = saved.region(k);
      region.kernel = std::make_unique<Fallback>(std::move(graph),
                                                 std::make_shared<BuiltRegion>(saved.region(k)));
    }
    modules.push_back(make_region_module(std::move(region)));
  }
  return modules;
}

}  // namespace tw
