// SPDX-License-Identifier: Apache-2.0
#include "lower/llvm/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <charconv>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "lower/llvm/machine.h"
#include "runtime/error.h"
#include "runtime/nearest_word.h"

namespace tw {
namespace {

using llvm::MCSubtargetInfo;

// Instruction-set extensions that code generation may use unasked. Others (system instructions,
// tuning preferences) make no difference to what a kernel may contain.
constexpr std::string_view kFeaturesThatMatter[] = {
    "adx",          "amx-bf16",     "amx-int8",
    "amx-tile",     "avx",          "avx10.1-256",
    "avx10.1-512",  "avx2",         "avx512bf16",
    "avx512bitalg", "avx512bw",     "avx512cd",
    "avx512dq",     "avx512f",      "avx512fp16",
    "avx512ifma",   "avx512vbmi",   "avx512vbmi2",
    "avx512vl",     "avx512vnni",   "avx512vpopcntdq",
    "avxifma",      "avxneconvert", "avxvnni",
    "avxvnniint16", "avxvnniint8",  "bmi",
    "bmi2",         "cmov",         "cx16",
    "cx8",          "evex512",      "f16c",
    "fma",          "fma4",         "gfni",
    "lzcnt",        "mmx",          "movbe",
    "pclmul",       "popcnt",       "prfchw",
    "sahf",         "sse",          "sse2",
    "sse3",         "sse4.1",       "sse4.2",
    "sse4a",        "ssse3",        "tbm",
    "vaes",         "vpclmulqdq",   "xop",
};

[[noreturn]] void unknown(std::string what, std::string legal) {
  raise({.code = ErrorCode::UnknownTarget, .what = std::move(what), .legal = std::move(legal)});
}

std::unique_ptr<MCSubtargetInfo> make_subtarget(const std::string& triple, const std::string& cpu,
                                                const std::vector<std::string>& features) {
  codegen::initialize_llvm();
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (target == nullptr) {
    unknown(fmt::format("unknown triple '{}'", triple),
            fmt::format("x86-64 triples such as {}", codegen::host_triple()));
  }
  return std::unique_ptr<MCSubtargetInfo>(
      target->createMCSubtargetInfo(triple, cpu, fmt::format("{}", fmt::join(features, ","))));
}

// The same, remembered: making one takes some 50 µs, and each tensor intrinsic that is emitted asks
// for features.
std::shared_ptr<const MCSubtargetInfo> subtarget(const std::string& triple, const std::string& cpu,
                                                 const std::vector<std::string>& features) {
  constexpr size_t kKept = 8;
  thread_local std::list<std::pair<std::string, std::shared_ptr<const MCSubtargetInfo>>> cache;
  std::string key = fmt::format("{}|{}|{}", triple, cpu, fmt::join(features, ","));
  auto it = std::ranges::find(cache, key, [](const auto& entry) { return entry.first; });
  if (it == cache.end()) {
    cache.emplace_front(std::move(key), make_subtarget(triple, cpu, features));
    if (cache.size() > kKept) cache.pop_back();
  } else {
    cache.splice(cache.begin(), cache, it);
  }
  return cache.front().second;
}

bool has(const MCSubtargetInfo& info, std::string_view feature) {
  return info.checkFeatures("+" + std::string(feature));
}

bool is_known_feature(const MCSubtargetInfo& info, std::string_view feature) {
  return std::ranges::any_of(info.getAllProcessorFeatures(),
                             [&](const auto& row) { return std::string_view(row.Key) == feature; });
}

// The shortest sorted list that gives the same processor: repeated and implied ones are dropped.
std::vector<std::string> canonical_features(const std::string& triple, const std::string& cpu,
                                            const std::vector<std::string>& given) {
  if (given.empty()) return {};
  const llvm::FeatureBitset wanted = subtarget(triple, cpu, given)->getFeatureBits();
  const auto gives_wanted = [&](const std::vector<std::string>& list) {
    return make_subtarget(triple, cpu, list)->getFeatureBits() == wanted;
  };
  std::vector<std::string> list = given;
  std::ranges::sort(list);
  list.erase(std::ranges::unique(list).begin(), list.end());
  if (!gives_wanted(list)) list = given;  // the order matters: "-avx" after "+avx2" takes both away
  for (size_t i = 0; i < list.size();) {
    std::vector<std::string> shorter = list;
    shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
    if (gives_wanted(shorter)) {
      list = std::move(shorter);
    } else {
      ++i;
    }
  }
  return list;
}

void derive(Target& t) {
  const auto info = subtarget(t.triple, t.cpu, t.features);
  const bool x86 = llvm::Triple(t.triple).isX86();
  const bool wide = x86 && has(*info, "avx512f");
  t.vector_bits = wide ? 512 : x86 && has(*info, "avx") ? 256 : 128;
  t.vector_registers = wide ? 32 : 16;
  t.has_fma = x86 && (has(*info, "fma") || wide);
  t.has_masks = wide;
  t.has_byte_masks = wide && has(*info, "avx512bw") && has(*info, "avx512vl");
  // Where features add AVX-512 to a processor, LLVM does not take its registers of 512 bits for
  // legal, nor the instruction apart.
  t.has_ldexp = wide && has(*info, "avx512vl") && has(*subtarget(t.triple, t.cpu, {}), "avx512f");
  t.has_f16c = x86 && has(*info, "f16c");
  t.has_int8_dot = (wide && has(*info, "avx512vnni") && has(*info, "avx512vl")) ||
                   (x86 && !wide && has(*info, "avxvnni"));
  t.has_bf16_dot = wide && has(*info, "avx512bf16") && has(*info, "avx512vl");
}

void parse_features(Target& t, std::string_view list, const MCSubtargetInfo& info) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view part = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    if (part.empty()) continue;
    if (part[0] != '+' && part[0] != '-') {
      unknown(fmt::format("feature '{}' has no sign", part), fmt::format("+{0} or -{0}", part));
    }
    if (!is_known_feature(info, part.substr(1))) {
      std::vector<std::string_view> names;
      for (const auto& row : info.getAllProcessorFeatures()) names.emplace_back(row.Key);
      const std::string_view near = nearest_word(part.substr(1), names);
      unknown(fmt::format("unknown feature '{}'", part),
              near.empty() ? "a feature of this machine that LLVM knows, such as +avx2"
                           : fmt::format("the nearest is {}{}", part[0], near));
    }
    t.features.emplace_back(part);
  }
}

}  // namespace

Target Target::parse(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = text.find_first_not_of(" \t\n", at);
    if (begin == std::string_view::npos) break;
    at = std::min(text.find_first_of(" \t\n", begin), text.size());
    words.push_back(text.substr(begin, at - begin));
  }
  if (words.empty() || words[0] != "llvm") {
    unknown(fmt::format("unknown target '{}'", words.empty() ? "" : words[0]),
            "llvm, with -mcpu=, -mattr=, -mtriple=, -opt=");
  }
  std::optional<std::string_view> cpu, attributes, triple, opt;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string_view key = words[i].substr(0, equals);
    std::optional<std::string_view>* slot = nullptr;
    if (key == "-mcpu") slot = &cpu;
    if (key == "-mattr") slot = &attributes;
    if (key == "-mtriple") slot = &triple;
    if (key == "-opt") slot = &opt;
    if (slot == nullptr || equals == std::string_view::npos) {
      const std::string_view near = nearest_word(key, {"-mcpu", "-mattr", "-mtriple", "-opt"});
      unknown(fmt::format("unknown option '{}' of target 'llvm'", words[i]),
              near.empty() ? "-mcpu=, -mattr=, -mtriple= or -opt="
                           : fmt::format("the nearest is {}=", near));
    }
    *slot = words[i].substr(equals + 1);
  }
  if (!cpu && !attributes && !triple) {
    Target t = host();
    if (!opt) return t;
    return parse(t.text() + " -opt=" + std::string(*opt));
  }

  Target t;
  t.triple = triple ? llvm::Triple::normalize(llvm::StringRef(*triple)) : codegen::host_triple();
  const bool same_machine =
      llvm::Triple(t.triple).getArch() == llvm::Triple(codegen::host_triple()).getArch();
  if (!cpu && same_machine) {  // the host's features, changed by those given
    Target h = host();
    t.cpu = h.cpu;
    t.features = h.features;
  } else {
    t.cpu = cpu ? std::string(*cpu) : "generic";
  }
  if (t.cpu == "native") {
    Target h = host();
    t.cpu = h.cpu;
    t.features = h.features;
  }
  const auto plain = subtarget(t.triple, "", {});
  if (!plain->isCPUStringValid(t.cpu)) {
    std::vector<std::string_view> names;
    for (const auto& row : plain->getAllProcessorDescriptions()) names.emplace_back(row.Key);
    const std::string_view near = nearest_word(t.cpu, names);
    unknown(fmt::format("unknown cpu '{}'", t.cpu),
            near.empty() ? "native, or a processor that LLVM knows, such as x86-64-v3"
                         : fmt::format("the nearest is {}", near));
  }
  if (attributes) parse_features(t, *attributes, *plain);
  // LLVM 19 keeps 512-bit registers behind a feature of their own, which old names do not imply.
  const auto given = subtarget(t.triple, t.cpu, t.features);
  if (llvm::Triple(t.triple).isX86() && has(*given, "avx512f") && !has(*given, "evex512") &&
      std::ranges::find(t.features, "-evex512") == t.features.end()) {
    t.features.emplace_back("+evex512");
  }
  t.features = canonical_features(t.triple, t.cpu, t.features);
  if (opt) {
    const auto [end, error] = std::from_chars(opt->data(), opt->data() + opt->size(), t.opt_level);
    if (error != std::errc() || end != opt->data() + opt->size() || t.opt_level < 0 ||
        t.opt_level > 3) {
      unknown(fmt::format("optimization level '{}'", *opt), "-opt=0 to -opt=3");
    }
  }
  derive(t);
  return t;
}

Target Target::host() {
  static const Target cached = [] {
    codegen::initialize_llvm();
    Target t;
    t.triple = codegen::host_triple();
    t.cpu = llvm::sys::getHostCPUName().str();
    // What the processor's name promises and the machine (or the system below it) does not
    // provide, and the other way round.
    const auto present = llvm::sys::getHostCPUFeatures();
    const auto implied = subtarget(t.triple, t.cpu, {});
    for (std::string_view feature : kFeaturesThatMatter) {
      const auto found = present.find(llvm::StringRef(feature));
      if (found == present.end() || !is_known_feature(*implied, feature)) continue;
      if (found->second != has(*implied, feature)) {
        t.features.push_back((found->second ? "+" : "-") + std::string(feature));
      }
    }
    t.features = canonical_features(t.triple, t.cpu, t.features);
    derive(t);
    return t;
  }();
  return cached;
}

std::string Target::text() const {
  std::string s = "llvm -mcpu=" + cpu;
  if (!features.empty()) s += fmt::format(" -mattr={}", fmt::join(features, ","));
  if (triple != codegen::host_triple()) s += " -mtriple=" + triple;
  if (opt_level != 3) s += fmt::format(" -opt={}", opt_level);
  return s;
}

bool Target::has_feature(std::string_view feature) const {
  return has(*subtarget(triple, cpu, features), feature);
}

std::vector<std::string> Target::instruction_sets() const {
  const auto mine = subtarget(triple, cpu, features);
  std::vector<std::string> sets;
  for (std::string_view feature : kFeaturesThatMatter) {
    if (is_known_feature(*mine, feature) && has(*mine, feature)) sets.emplace_back(feature);
  }
  return sets;
}

std::vector<std::string> Target::features_missing_on_host() const {
  const Target machine = host();
  if (llvm::Triple(triple).getArch() != llvm::Triple(machine.triple).getArch()) return {triple};
  std::vector<std::string> missing = instruction_sets();
  std::erase_if(missing, [&](const std::string& feature) { return machine.has_feature(feature); });
  return missing;
}

void raise_missing_features(const Target& target, std::string_view subject,
                            std::string_view or_else) {
  raise({.code = ErrorCode::TargetFeature,
         .what = fmt::format("{} for '{}', which needs {}; this machine has not", subject,
                             target.text(), fmt::join(target.features_missing_on_host(), ", ")),
         .legal =
             fmt::format("'{}'{}{}", Target::host().text(), or_else.empty() ? "" : ", ", or_else)});
}

std::string llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace tw
