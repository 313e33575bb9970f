// SPDX-License-Identifier: Apache-2.0
// Regions as C source, which the system's compiler ($CC, or cc) builds. Loops are plain: it shows
// what a code generator writes, and needs no library.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>

#include "graph/byoc/plugins/facts.h"
#include "runtime/codegen.h"

namespace {

using namespace tw::vendor;

// Of one element x, or two x and y.
const std::map<std::string, std::string> kUnary = {
    {"relu", "x > 0 ? x : 0"}, {"tanh", "tanhf(x)"}, {"exp", "expf(x)"},
    {"sqrt", "sqrtf(x)"},      {"negative", "-x"},   {"sigmoid", "1 / (1 + expf(-x))"},
    {"abs", "fabsf(x)"},       {"copy", "x"},        {"flatten", "x"}};
const std::map<std::string, std::string> kScalar = {
    {"__add_scalar__", "x + y"}, {"__sub_scalar__", "x - y"}, {"__mul_scalar__", "x * y"}};
const std::map<std::string, std::string> kBinary = {
    {"elemwise_add", "x + y"},  {"elemwise_sub", "x - y"},  {"elemwise_mul", "x * y"},
    {"broadcast_add", "x + y"}, {"broadcast_sub", "x - y"}, {"broadcast_mul", "x * y"}};

class Writer {
 public:
  explicit Writer(const Region& region) : region_(region) {}

  // int run(float* const* tensors, const float* const* constants, float* workspace)
  std::string source() {
    require(kCSourceFacts, region_);
    std::string declarations;
    std::map<size_t, std::string> places;
    size_t argument = 0;
    for (size_t v : region_.inputs) places[v] = fmt::format("tensors[{}]", argument++);
    for (size_t v : region_.outputs) places.try_emplace(v, fmt::format("tensors[{}]", argument++));
    for (const Composite& c : region_.composites) {
      for (const Step& s : c.steps) write(s);
    }
    for (size_t v = 0; v < region_.values.size(); ++v) {
      std::string place;
      if (places.contains(v)) {
        place = places[v];
      } else if (region_.values[v].constant != nullptr) {
        place = fmt::format("(float*)constants[{}]", constants_.size());
        constants_.push_back(region_.values[v].constant);
      } else {
        place = fmt::format("workspace + {}", floats_);
        floats_ += (region_.values[v].elements() + 15) / 16 * 16;
      }
      declarations += fmt::format("  float* v{} = {};\n", v, place);
    }
    return "#include <math.h>\n\n"
           "void run(float* const* tensors, const float* const* constants, float* workspace) {\n" +
           declarations + code_ + "}\n";
  }
  const std::vector<const void*>& constants() const { return constants_; }
  int64_t workspace_bytes() const { return floats_ * 4; }

 private:
  const std::vector<int64_t>& shape(size_t v) const { return region_.values[v].shape; }

  void write(const Step& s) {
    if (const auto f = kUnary.find(s.op); f != kUnary.end()) return elementwise(s, f->second, "");
    if (const auto f = kScalar.find(s.op); f != kScalar.end())
      return elementwise(s, f->second, fmt::format("const float y = {}; ", scalar(s)));
    if (const auto f = kBinary.find(s.op); f != kBinary.end()) return binary(s, f->second);
    if (s.op == "dense") return dense(s);
    if (s.op == "conv2d") return convolution(s);
    throw std::runtime_error("C source has no " + s.op);
  }

  // In hexadecimal, which has all of its digits.
  static std::string scalar(const Step& s) {
    const auto value = static_cast<float>(s.real("scalar"));
    if (std::isnan(value)) return "NAN";
    if (std::isinf(value)) return value < 0 ? "-INFINITY" : "INFINITY";
    return fmt::format("{:a}f", value);
  }

  void elementwise(const Step& s, const std::string& value, const std::string& before) {
    code_ += fmt::format(
        "  for (long i = 0; i < {}; ++i) {{ const float x = v{}[i]; {}v{}[i] = {}; }}\n",
        region_.values[s.outputs[0]].elements(), s.inputs[0], before, s.outputs[0], value);
  }

  // Loops over the output's dimensions, i0, i1, …; `inner` stands in the innermost.
  void loops(const std::vector<int64_t>& extents, const std::string& inner) {
    code_ += "  ";
    for (size_t d = 0; d < extents.size(); ++d)
      code_ += fmt::format("for (long i{0} = 0; i{0} < {1}; ++i{0}) ", d, extents[d]);
    code_ += inner + "\n";
  }

  // Of an operand aligned at the last dimension, where extents of 1 are read again.
  std::string index(const std::vector<int64_t>& out, const std::vector<int64_t>& in) const {
    std::string text = "0";
    int64_t stride = 1;
    for (size_t d = in.size(); d-- > 0;) {
      if (in[d] != 1) text += fmt::format(" + i{} * {}", d + out.size() - in.size(), stride);
      stride *= in[d];
    }
    return text;
  }

  void binary(const Step& s, const std::string& value) {
    const auto& out = shape(s.outputs[0]);
    loops(out, fmt::format("{{ const float x = v{}[{}], y = v{}[{}]; v{}[{}] = {}; }}", s.inputs[0],
                           index(out, shape(s.inputs[0])), s.inputs[1],
                           index(out, shape(s.inputs[1])), s.outputs[0], index(out, out), value));
  }

  // All dimensions of data but the last are rows.
  void dense(const Step& s) {
    const int64_t depth = shape(s.inputs[0]).back(), units = shape(s.outputs[0]).back();
    const int64_t rows = units == 0 ? 0 : region_.values[s.outputs[0]].elements() / units;
    const std::string bias = s.inputs.size() > 2 ? fmt::format("v{}[i1]", s.inputs[2]) : "0";
    loops({rows, units},
          fmt::format("{{ float sum = {}; for (long k = 0; k < {}; ++k) sum += v{}[i0 * {} + "
                      "k] * v{}[i1 * {} + k]; v{}[i0 * {} + i1] = sum; }}",
                      bias, depth, s.inputs[0], depth, s.inputs[1], depth, s.outputs[0], units));
  }

  static std::pair<int64_t, int64_t> pair(const Step& s, const std::string& name) {
    const auto& v = s.tuple(name);
    return {v[0], v.size() > 1 ? v[1] : v[0]};
  }

  void convolution(const Step& s) {
    const auto &in = shape(s.inputs[0]), &weight = shape(s.inputs[1]), &out = shape(s.outputs[0]);
    const auto [sh, sw] = pair(s, "strides");
    const auto [dh, dw] = pair(s, "dilation");
    const auto [top, left] = pair(s, "padding");
    const int64_t per_group = out[1] / s.integer("groups");
    const std::string bias = s.inputs.size() > 2 ? fmt::format("v{}[i1]", s.inputs[2]) : "0";
    loops(
        out,
        fmt::format(
            "{{ float sum = {bias}; for (long c = 0; c < {depth}; ++c) for (long p = 0; p < {kh};"
            " ++p) for (long q = 0; q < {kw}; ++q) {{ const long y = i2 * {sh} + p * {dh} - "
            "{top}, x = i3 * {sw} + q * {dw} - {left}; if (y >= 0 && y < {h} && x >= 0 && x < "
            "{w}) sum += v{data}[((i0 * {channels} + i1 / {per} * {depth} + c) * {h} + y) * {w} "
            "+ x] * v{weight}[((i1 * {depth} + c) * {kh} + p) * {kw} + q]; }} "
            "v{out}[{index}] = sum; }}",
            fmt::arg("bias", bias), fmt::arg("depth", weight[1]), fmt::arg("kh", weight[2]),
            fmt::arg("kw", weight[3]), fmt::arg("sh", sh), fmt::arg("sw", sw), fmt::arg("dh", dh),
            fmt::arg("dw", dw), fmt::arg("top", top), fmt::arg("left", left), fmt::arg("h", in[2]),
            fmt::arg("w", in[3]), fmt::arg("data", s.inputs[0]), fmt::arg("channels", in[1]),
            fmt::arg("per", per_group), fmt::arg("weight", s.inputs[1]),
            fmt::arg("out", s.outputs[0]), fmt::arg("index", index(out, out))));
  }

  const Region& region_;
  std::string code_;
  std::vector<const void*> constants_;
  int64_t floats_ = 0;
};

// The file of the library that the compiler made of a source.
void compile(const std::filesystem::path& source, const std::filesystem::path& library) {
  const char* named = std::getenv("CC");
  std::string compiler = named != nullptr && *named != '\0' ? named : "cc";
  std::vector<std::string> words = {compiler, "-O2",   "-w",   "-shared", "-fPIC",
                                    "-o",     library, source, "-lm"};
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int error =
      posix_spawnp(&pid, compiler.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw std::runtime_error("there is no C compiler '" + compiler +
                             "'; the variable CC names one");
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) throw std::runtime_error("the C compiler '" + compiler + "' failed");
}

// A folder that is there while this lives. No two libraries are loaded by one name, which the
// loader would take for the same.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tilewright-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw std::runtime_error("there is no folder for C source");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// A library as the bytes of its file.
std::string compile(const std::string& source) {
  const Folder folder;
  std::ofstream(folder / "region.c") << source;
  compile(folder / "region.c", folder / "region.so");
  std::ifstream in(folder / "region.so", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::shared_ptr<void> load(const std::string& bytes) {
  const Folder folder;
  std::ofstream(folder / "region.so", std::ios::binary) << bytes;
  void* const library = dlopen((folder / "region.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error("the compiled C source cannot be loaded");
  return {library, [](void* l) { dlclose(l); }};
}

// `saved` is the library, where there is one already.
class CompiledSource final : public Kernel {
 public:
  CompiledSource(const Region& region, std::string_view saved) {
    Writer writer(region);
    const std::string source = writer.source();
    constants_ = writer.constants();
    workspace_ = writer.workspace_bytes();
    code_ = std::make_shared<const std::string>(saved.empty() ? compile(source) : saved);
    library_ = load(*code_);
    run_ = reinterpret_cast<Run*>(dlsym(library_.get(), "run"));
    if (run_ == nullptr) throw std::runtime_error("the compiled C source has no 'run'");
  }

  int64_t workspace_bytes() const override { return workspace_; }
  Kernel* clone() const override { return new CompiledSource(*this); }
  std::string save() const override { return *code_; }
  void run(void* const* tensors, void* workspace) override {
    run_(tensors, constants_.data(), workspace);
  }

 private:
  using Run = void(void* const*, const void* const*, void*);
  std::vector<const void*> constants_;
  int64_t workspace_ = 0;
  std::shared_ptr<const std::string> code_;
  std::shared_ptr<void> library_;
  Run* run_ = nullptr;
};

Kernel* build(const Region& region, std::string_view saved) {
  return new CompiledSource(region, saved);
}

}  // namespace

TILEWRIGHT_CODEGEN(build, "C source")
