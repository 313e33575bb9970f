// SPDX-License-Identifier: Apache-2.0
#include "autotune/learn/experience.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autotune/learn/cost_models.h"
#include "autotune/study/simulation.h"
#include "autotune/task/workloads.h"
#include "runtime/error.h"
#include "tests/unit/autotune/made_times.h"

namespace tw::autotune {
namespace {

constexpr uint64_t kTruth = 3;  // which made times all tasks have in common
constexpr const char* kOthers[] = {"gemm:m=64,n=64,k=64", "gemm:m=32,n=128,k=48",
                                   "gemm:m=96,n=48,k=32", "gemm:m=80,n=80,k=96"};

Task task_of(const char* workload) {
  return make_task(parse_workload(workload).program, Target::host(), 1, workload);
}

class ExperienceTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    int number = 0;
    for (const char* workload : kOthers) {
      const Task task = task_of(workload);
      const made::Drawn drawn = made::draw(task, Space(task), 120, 1);
      const made::MadeTimes times(drawn, kTruth);
      double best = INFINITY;
      for (const auto& f : drawn.features) best = std::min(best, times.seconds(*f));
      for (const auto& f : drawn.features) {
        others_.push_back({.features = f, .throughput = best / times.seconds(*f), .task = number});
      }
      ++number;
    }
  }
  static std::vector<Sample> others_;

  std::vector<const Features*> rows() const {
    std::vector<const Features*> result;
    for (const auto& f : drawn_.features) result.push_back(f.get());
    return result;
  }
  // How well the scores are in the order of the times.
  double order(const std::vector<double>& scores, const made::MadeTimes& times) const {
    std::vector<double> speed;
    for (const auto& f : drawn_.features) speed.push_back(1 / times.seconds(*f));
    return rank_correlation(scores, speed);
  }
  std::unique_ptr<CostModel> model(std::shared_ptr<const Experience> experience) const {
    return cost_model("xgboost")({.seed = 1, .experience = [=] { return experience; }});
  }

  Task task_ = task_of("gemm:m=48,n=96,k=64");
  made::Drawn drawn_ = made::draw(task_, Space(task_), 150, 2);
  made::MadeTimes times_{drawn_, kTruth};
};
std::vector<Sample> ExperienceTest::others_;

TEST_F(ExperienceTest, RanksATaskThatWasNeverMeasured) {
  const double before = order(model(nullptr)->predict(rows()), times_);
  const auto taught = model(Experience::learn(others_, 1));
  EXPECT_TRUE(taught->trained()) << "before the first trial";
  EXPECT_GT(order(taught->predict(rows()), times_), before + 0.2);
}

TEST_F(ExperienceTest, DoubtsItselfUntilTheTaskIsMeasured) {
  const Opinion opinion = model(Experience::learn(others_, 1))->opinion(rows());
  EXPECT_GT(std::ranges::min(opinion.deviation), 0);
}

// Here all is the other way round than in the tasks that taught.
TEST_F(ExperienceTest, IsOverruledWhereItMisleads) {
  const auto contrary = [&](const Features& f) { return 1e-6 / times_.seconds(f); };
  std::vector<Sample> own;
  double best = INFINITY;
  for (const auto& f : drawn_.features) best = std::min(best, contrary(*f));
  for (size_t k = 0; k < 48; ++k) {
    const auto& f = drawn_.features[k];
    own.push_back({.features = f, .throughput = best / contrary(*f)});
  }
  const auto misled = model(Experience::learn(others_, 1)), alone = model(nullptr);
  EXPECT_LT(-order(misled->predict(rows()), times_), 0);
  misled->train(own);
  alone->train(own);
  EXPECT_GT(-order(misled->predict(rows()), times_), -order(alone->predict(rows()), times_) - 0.05);
}

TEST_F(ExperienceTest, OneTaskTeachesNothingOfOthers) {
  std::vector<Sample> one = others_;
  for (Sample& s : one) s.task = 7;
  EXPECT_EQ(Experience::learn(one, 1), nullptr);
  EXPECT_EQ(Experience::learn({}, 1), nullptr);
}

TEST_F(ExperienceTest, IsSavedAndLoadedAsItIs) {
  const auto made = Experience::learn(others_, 1);
  const std::string bytes = made->save();
  EXPECT_EQ(bytes, Experience::learn(others_, 1)->save()) << "equal samples, equal bytes";
  const auto loaded = Experience::load(bytes);
  const Opinion a = made->opinion(rows()), b = loaded->opinion(rows());
  EXPECT_EQ(a.score, b.score);
  EXPECT_EQ(a.deviation, b.deviation);
  EXPECT_EQ(loaded->save().substr(0, 30), bytes.substr(0, 30));
}

std::string refusal(const std::string& bytes) {
  try {
    Experience::load(bytes);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::CostModel);
    return e.info().what;
  }
  return "";
}

TEST_F(ExperienceTest, OneOfOtherFeaturesIsRefused) {
  std::string bytes = Experience::learn(others_, 1)->save();
  const size_t at = bytes.find("features ") + 9;
  bytes.replace(at, 4, "0000");
  EXPECT_NE(refusal(bytes).find("for features 0000"), std::string::npos) << refusal(bytes);
}

TEST_F(ExperienceTest, ADamagedOneIsRefused) {
  const std::string bytes = Experience::learn(others_, 1)->save();
  EXPECT_NE(refusal(""), "");
  EXPECT_NE(refusal("SQLite format 3"), "");
  for (const size_t length : {bytes.size() / 2, bytes.size() - 1, bytes.find('\n') + 1}) {
    EXPECT_NE(refusal(bytes.substr(0, length)), "") << length;
  }
}

TEST(ShippedExperience, IsOfThisVersionsFeatures) {
  const ShippedExperience& shipped = shipped_experience();
  EXPECT_EQ(shipped.refusal, "") << "./tw bench model --pretrain makes it anew";
  EXPECT_NE(shipped.experience, nullptr);
}

}  // namespace
}  // namespace tw::autotune
