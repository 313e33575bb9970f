// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "runtime/checksum.h"
#include "runtime/error.h"
#include "runtime/region_directory.h"

namespace tw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Of networks with regions of other code generators or without kernels; others are of version 1.
constexpr int64_t kVersion = 2;
constexpr const char *kGraph = "graph.json", *kParameters = "graph.params", *kLibrary = "model.so",
                     *kConstants = "model.params";

[[noreturn]] void bad(ErrorCode code, const fs::path& path, const std::string& what,
                      std::string legal = "a directory that export wrote, whole") {
  raise({.code = code,
         .what = fmt::format("'{}': {}", path.string(), what),
         .legal = std::move(legal)});
}

std::string read_file(const fs::path& path, ErrorCode code) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) bad(code, path, fmt::format("cannot be read: {}", error.message()));
  std::string text(size, '\0');
  std::ifstream in(path, std::ios::binary);
  if (!in.read(text.data(), static_cast<std::streamsize>(size))) {
    bad(code, path, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  return text;
}

// "model.so 14032 0123456789abcdef": what a file has to be.
std::string describe(const char* name, uint64_t bytes, uint64_t fingerprint) {
  return fmt::format("{} {} {:016x}", name, bytes, fingerprint);
}

std::string describe(const char* name, const Parameters& read) {
  return describe(name, read.bytes, read.fingerprint);
}

std::string describe_file(const fs::path& folder, const char* name, ErrorCode code) {
  const std::string content = read_file(folder / name, code);
  return describe(name, content.size(), checksum(content.data(), content.size()));
}

// A folder beside the one that is to be, gone again unless it was put into place.
class Draft {
 public:
  explicit Draft(const fs::path& target) {
    static std::atomic<int> count{0};
    do {
      path_ = target.parent_path() /
              fmt::format(".{}.{}-{}.partial", target.filename().string(), getpid(), count++);
    } while (mkdir(path_.c_str(), 0777) != 0 && errno == EEXIST);
    if (!fs::is_directory(path_)) {
      bad(ErrorCode::BadArgument, target,
          fmt::format("cannot be written: {}", std::strerror(errno)),
          "a directory in one that may be written");
    }
  }
  ~Draft() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  const fs::path& path() const { return path_; }

  // Afterwards what stood there is the draft.
  void exchange_with(const fs::path& target) const {
    int failed = renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE);
    if (failed != 0 && errno == EEXIST) {
      failed = renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE);
    }
    // File systems without these: an empty directory or none is replaced.
    if (failed != 0 && (errno == EINVAL || errno == ENOSYS)) {
      failed = rename(path_.c_str(), target.c_str());
    }
    if (failed != 0) {
      bad(ErrorCode::BadArgument, target,
          fmt::format("cannot be put into place: {}", std::strerror(errno)),
          "a directory that is not there yet");
    }
  }

 private:
  fs::path path_;
};

void require_replaceable(const fs::path& target) {
  if (!fs::exists(target)) return;
  const auto refuse = [&](const std::string& what) {
    bad(ErrorCode::BadArgument, target, what,
        "a name that is not taken, an empty directory, or one that an earlier export wrote");
  };
  if (!fs::is_directory(target)) refuse("it is no directory");
  for (const fs::directory_entry& file : fs::directory_iterator(target)) {
    const std::string name = file.path().filename().string();
    const bool ours = name == kGraph || name == kParameters || name == kLibrary ||
                      name == kConstants || name == kRegions || name == kRegionConstants ||
                      (name.ends_with(kFallback) && file.is_directory());
    if (!ours) {
      refuse(fmt::format("it has '{}', which no export wrote", name));
    }
  }
}

// Which directory lies there: another one once an export has put its own into place.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  int64_t seconds = 0, nanoseconds = 0;
  bool operator==(const Identity&) const = default;
};

Identity identity(const fs::path& folder) {
  struct stat info = {};
  if (stat(folder.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

bool calls_functions(const GraphPlan& plan) {
  return std::ranges::any_of(
      plan.nodes, [](const PlannedNode& node) { return !node.is_variable() && !node.is_view(); });
}

DeployedGraph load_files(const fs::path& folder, bool verify) {
  DeployedGraph loaded{.json = read_file(folder / kGraph, ErrorCode::BadGraph)};
  std::optional<GraphPlan> plan;
  try {
    plan = read_graph_plan(loaded.json);
  } catch (const UserError& e) {
    bad(ErrorCode::BadGraph, folder / kGraph, e.what());
  }
  if (plan->export_version > kVersion) {
    bad(ErrorCode::BadGraph, folder / kGraph,
        fmt::format("it is an export of version {}", plan->export_version),
        fmt::format("up to {}; export it again or update Tilewright", kVersion));
  }
  const auto check = [&](ErrorCode code, const char* name, const std::string& found) {
    if (std::ranges::find(plan->files, found) != plan->files.end()) return;
    bad(code, folder / name, fmt::format("it is not the file that '{}' was exported with", kGraph));
  };
  Parameters parameters = read_parameters((folder / kParameters).string(), verify);
  check(ErrorCode::BadParameters, kParameters, describe(kParameters, parameters));
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(plan->files, [&](const std::string& file) {
      return file.starts_with(name) && file.substr(name.size()).starts_with(' ');
    });
  };
  std::shared_ptr<Module> module;
  std::vector<std::shared_ptr<const Module>> regions;
  if (has(kLibrary) || (!has(kRegions) && calls_functions(*plan))) {
    check(ErrorCode::ModuleLoad, kLibrary, describe_file(folder, kLibrary, ErrorCode::ModuleLoad));
    module = load_library((folder / kLibrary).string());
  }
  if (has(kRegions)) {
    check(ErrorCode::BadGraph, kRegions, describe_file(folder, kRegions, ErrorCode::BadGraph));
    const std::string constants = (folder / kRegionConstants).string();
    check(ErrorCode::BadParameters, kRegionConstants,
          describe(kRegionConstants, read_parameters(constants, /*verify=*/false)));
    regions = read_regions(folder, verify);
  }
  loaded.module = with_regions(std::move(module), std::move(regions));
  loaded.parameters = std::move(parameters.arrays);
  loaded.plan = std::make_shared<const GraphPlan>(std::move(*plan));
  return loaded;
}

}  // namespace

void export_graph(const std::string& directory, std::string_view graph_json, const Module& module,
                  std::span<const NamedArray> parameters,
                  std::span<const FallbackGraph> fallbacks) {
  const GraphPlan plan = read_graph_plan(graph_json);
  (void)planned_functions(plan, module);
  // Through links, and without a slash at the end.
  fs::path target = fs::weakly_canonical(fs::absolute(directory));
  if (!target.has_filename()) target = target.parent_path();
  require_replaceable(target);
  const Draft draft(target);
  std::vector<std::string> files;
  if (const Module* ours = without_regions(module); ours != nullptr && calls_functions(plan)) {
    ours->export_library((draft.path() / kLibrary).string());
    files.push_back(describe_file(draft.path(), kLibrary, ErrorCode::ModuleLoad));
  }
  const std::vector<const BuiltRegion*> regions = regions_of(module);
  if (!regions.empty()) {
    write_regions(draft.path(), regions);
    files.push_back(describe_file(draft.path(), kRegions, ErrorCode::BadGraph));
    const std::string constants = (draft.path() / kRegionConstants).string();
    files.push_back(describe(kRegionConstants, read_parameters(constants, /*verify=*/false)));
  }
  for (const FallbackGraph& f : fallbacks) {
    export_graph((draft.path() / (f.region + kFallback)).string(), f.json, *f.module, f.parameters);
  }
  const std::string parameters_path = (draft.path() / kParameters).string();
  write_parameters(parameters_path, parameters);
  Json json = Json::parse(graph_json);
  files.push_back(describe(kParameters, read_parameters(parameters_path, /*verify=*/false)));
  const bool is_plain = regions.empty() && calls_functions(plan);
  json["attrs"]["export_version"] = {"int", is_plain ? 1 : kVersion};
  json["attrs"]["files"] = {"list_str", files};
  const fs::path path = draft.path() / kGraph;
  std::ofstream out(path, std::ios::binary);
  out << json.dump(1) << '\n';
  out.close();
  if (!out) {
    bad(ErrorCode::BadArgument, path, fmt::format("cannot be written: {}", std::strerror(errno)),
        "a disk with room for it");
  }
  draft.exchange_with(target);
}

DeployedGraph load_graph(const std::string& directory, bool verify) {
  // Files of two exports go together as little as damaged ones do: it may only be that one came
  // between. More than a few in a row come from nobody.
  for (int tries = 1;; ++tries) {
    const Identity before = identity(directory);
    const auto stayed = [&] { return tries == 100 || identity(directory) == before; };
    try {
      DeployedGraph loaded = load_files(directory, verify);
      if (stayed()) return loaded;
    } catch (const UserError&) {
      if (stayed()) throw;
    }
  }
}

}  // namespace tw
