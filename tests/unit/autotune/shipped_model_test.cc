// SPDX-License-Identifier: Apache-2.0
// The model in the library has learnt what one prior misses, of one set of features. Nothing in its
// file says which prior that was, so what it is worth is seen on the recorded candidates of the
// tree.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "autotune/learn/experience.h"
#include "autotune/learn/learning_labels.h"
#include "autotune/learn/transfer.h"
#include "autotune/study/simulation.h"
#include "tests/support/source_dir.h"

namespace tw::autotune {
namespace {

namespace fs = std::filesystem;

// The recorded candidates, unpacked for as long as this lives.
class UnpackedSample {
 public:
  UnpackedSample() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    const std::string command =
        fmt::format("gzip -dc '{}/bench/study_sample.db.gz' > '{}'", source_dir(), path());
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  ~UnpackedSample() { fs::remove_all(folder_); }
  std::string path() const { return folder_ + "/sample.db"; }

 private:
  std::string folder_ = (fs::temp_directory_path() / "tilewright-sample-XXXXXX").string();
};

TEST(ShippedModelTest, OrdersRecordedCandidatesBetterThanThePriorAlone) {
  const UnpackedSample sample;
  const Lessons lessons = lessons_of(Log(sample.path(), Log::Mode::Read),
                                     {.most_of_task = 60, .most = 1'000'000, .seconds = INFINITY});
  ASSERT_GE(lessons.workloads.size(), 12u);
  std::map<int, std::vector<const Sample*>> tasks;
  for (const auto& s : lessons.samples) tasks[s.task].push_back(&s);
  double prior_alone = 0, with_model = 0;
  for (const auto& [task, own] : tasks) {
    std::vector<const Features*> rows;
    std::vector<double> prior, taught, speed;
    for (const auto* s : own) {
      rows.push_back(s->features.get());
      prior.push_back(prior_score(*s->features));
      speed.push_back(s->throughput);
    }
    ASSERT_NE(shipped_experience().experience, nullptr) << shipped_experience().refusal;
    taught = shipped_experience().experience->opinion(rows).score;
    for (size_t k = 0; k < prior.size(); ++k) taught[k] += prior[k];
    prior_alone += rank_correlation(prior, speed) / static_cast<double>(tasks.size());
    with_model += rank_correlation(taught, speed) / static_cast<double>(tasks.size());
  }
  EXPECT_GT(with_model, prior_alone + 0.03)
      << "the model does not fit this prior: make it anew with ./tw bench model --pretrain";
}

}  // namespace
}  // namespace tw::autotune
