// SPDX-License-Identifier: Apache-2.0
#include "autotune/learn/experience.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <sstream>

#include "autotune/learn/learning_labels.h"
#include "runtime/error.h"

namespace tw::autotune {
namespace {

constexpr size_t kMembers = 8;
constexpr BoostingOptions kBoosting = {
    .rounds = 24, .depth = 4, .learning_rate = 0.15, .column_share = 0.1, .least_weight = 5};

constexpr std::string_view kHead = "tilewright experience 1";

[[noreturn]] void refuse(std::string what) {
  raise({.code = ErrorCode::CostModel,
         .what = std::move(what),
         .legal = "a model made by this version: ./tw bench model --pretrain"});
}

// Names of columns and their order, as 16 hex digits (FNV-1a).
std::string fingerprint() {
  uint64_t h = 0xcbf29ce484222325ull;
  for (const std::string& name : feature_names()) {
    for (const char c : name + "\n") h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  }
  return fmt::format("{:016x}", h);
}

std::string compressed(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string result(size, '\0');
  compress2(reinterpret_cast<Bytef*>(result.data()), &size,
            reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_BEST_COMPRESSION);
  result.resize(size);
  return result;
}

// `size` bytes of what was compressed.
std::string expanded(std::string_view bytes, size_t size) {
  std::string result(size, '\0');
  uLongf found = size;
  const int status = uncompress(reinterpret_cast<Bytef*>(result.data()), &found,
                                reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (status != Z_OK || found != size) refuse("a damaged model of other tasks");
  return result;
}

std::vector<const Features*> features_of(const std::vector<Sample>& samples) {
  std::vector<const Features*> rows;
  for (const Sample& s : samples) rows.push_back(s.features.get());
  return rows;
}

}  // namespace

std::shared_ptr<const Experience> Experience::learn(const std::vector<Sample>& samples,
                                                    uint64_t seed) {
  std::set<int> distinct;
  for (const Sample& s : samples) distinct.insert(s.task);
  if (distinct.size() < 2) return nullptr;
  std::vector<int> tasks(distinct.begin(), distinct.end());
  std::mt19937_64 rng(seed);
  auto result = std::make_shared<Experience>();
  for (size_t m = 0; m < kMembers; ++m) {
    std::ranges::shuffle(tasks, rng);
    const auto half = tasks.begin() + static_cast<std::ptrdiff_t>((tasks.size() + 1) / 2);
    const std::set<int> chosen(tasks.begin(), half);
    std::vector<Sample> own;
    std::ranges::copy_if(samples, std::back_inserter(own),
                         [&](const Sample& s) { return chosen.contains(s.task); });
    const Labels labels(own);
    BoostingOptions options = kBoosting;
    options.seed = rng();
    result->members_.push_back(std::make_unique<BoostedTrees>(
        FeatureMatrix(features_of(own)), labels.residual({}), labels.weight, options));
  }
  return result;
}

Opinion Experience::opinion(const std::vector<const Features*>& candidates) const {
  Opinion result{std::vector<double>(candidates.size()), std::vector<double>(candidates.size())};
  if (candidates.empty()) return result;
  const FeatureMatrix matrix(candidates);
  const auto members = static_cast<double>(members_.size());
  for (const auto& member : members_) {
    const std::vector<float> own = member->predict(matrix);
    for (size_t i = 0; i < own.size(); ++i) {
      result.score[i] += double(own[i]) / members;
      result.deviation[i] += double(own[i]) * double(own[i]) / members;
    }
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    const double mean = result.score[i];
    result.deviation[i] = std::sqrt(std::max(0.0, result.deviation[i] - mean * mean));
  }
  return result;
}

// A line of text, `<head> features <fingerprint> members <bytes of each>`, and all members as they
// were saved, compressed.
std::string Experience::save() const {
  std::string line = fmt::format("{} features {} members", kHead, fingerprint()), bytes;
  for (const auto& member : members_) {
    const std::string own = member->save();
    line += fmt::format(" {}", own.size());
    bytes += own;
  }
  return line + "\n" + compressed(bytes);
}

std::shared_ptr<const Experience> Experience::load(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  std::istringstream line{std::string(bytes.substr(0, end))};
  std::string head, word, made_for;
  for (int k = 0; k < 3 && line >> word; ++k) head += (k > 0 ? " " : "") + word;
  if (end == std::string_view::npos || head != kHead) refuse("no model of other tasks");
  line >> word >> made_for >> word;
  if (made_for != fingerprint()) {
    refuse(fmt::format("a model of other tasks for features {}, where this version has {}",
                       made_for, fingerprint()));
  }
  std::vector<size_t> sizes;
  size_t all = 0;
  for (size_t size = 0; line >> size; all += size) sizes.push_back(size);
  constexpr size_t kMost = size_t{1} << 28;
  if (sizes.empty() || all > kMost) refuse("a damaged model of other tasks");
  const std::string saved = expanded(bytes.substr(end + 1), all);
  auto result = std::make_shared<Experience>();
  for (size_t at = 0; const size_t size : sizes) {
    result->members_.push_back(
        std::make_unique<BoostedTrees>(std::string_view(saved).substr(at, size)));
    at += size;
  }
  return result;
}

}  // namespace tw::autotune
