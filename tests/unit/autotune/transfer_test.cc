// SPDX-License-Identifier: Apache-2.0
#include "autotune/learn/transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "autotune/measure/measure.h"
#include "autotune/task/workloads.h"
#include "runtime/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/autotune/made_times.h"

namespace tw::autotune {
namespace {

constexpr size_t kTrials = 20;

class TransferTest : public testing::Test {
 protected:
  TransferTest() {
    log_.emplace(folder_.file("log.db"), Log::Mode::Write);
    log_->begin_run({.id = "run"});
  }

  static Task task_of(int m, CacheState caches = CacheState::Hot) {
    return make_task(parse_workload("gemm:w=1,n=32,k=32,m=" + std::to_string(m)).program,
                     Target::host(), 1, "gemm", caches);
  }

  // Trials of so many tasks, each with made times.
  void fill(int tasks, CacheState caches = CacheState::Hot, const std::string& kind = "here") {
    for (int k = 0; k < tasks; ++k) {
      const Task task = task_of(8 * (k + 1), caches);
      log_->add_task(task);
      const Space space(task);
      const made::Drawn drawn = made::draw(task, space, kTrials, 1);
      for (size_t p = 0; p < drawn.points.size(); ++p) {
        Record r{.seconds = {drawn.features[p]->prior_seconds * double(p % 5 + 1)},
                 .run = "run",
                 .kind = kind};
        describe(r, task, {.trace = space.trace(drawn.points[p])});
        log_->append(r);
      }
    }
  }

  Transfer find(std::string_view how, const std::vector<Task>& tuned) const {
    return find_transfer(how, *log_, tuned[0], tuned, "here", 1);
  }

  const tw::test::TemporaryFolder folder_;
  std::optional<Log> log_;
};

TEST_F(TransferTest, TakesTheLogWhereItHoldsEnoughElseTheShippedModel) {
  EXPECT_EQ(find("auto", {task_of(256)}).source, "the shipped model");
  fill(9);
  EXPECT_NE(find("auto", {task_of(256)}).source.find("of 9 other tasks"), std::string::npos);
  EXPECT_EQ(find("shipped", {task_of(256)}).source, "the shipped model");
}

TEST_F(TransferTest, WhatIsTunedIsNoOtherTask) {
  fill(3);
  const auto source = [&](const std::vector<Task>& tuned) { return find("log", tuned).source; };
  EXPECT_NE(source({task_of(256)}).find("3 other tasks"), std::string::npos);
  EXPECT_NE(source({task_of(8)}).find("2 other tasks"), std::string::npos);
  EXPECT_EQ(source({task_of(8), task_of(16)}), "") << "one alone teaches nothing";
}

TEST_F(TransferTest, OtherWaysToMeasureTeachNothing) {
  fill(3, CacheState::ColdConstants);
  EXPECT_EQ(find("log", {task_of(256)}).experience, nullptr) << "cold constants, hot task";
  EXPECT_NE(find("log", {task_of(256, CacheState::ColdConstants)}).experience, nullptr);
  fill(3, CacheState::Hot, "elsewhere; llvm");
  EXPECT_EQ(find("log", {task_of(256)}).experience, nullptr) << "another kind of machine";
}

TEST_F(TransferTest, NoneIsNone) {
  fill(9);
  const Transfer none = find("none", {task_of(256)});
  EXPECT_EQ(none.experience, nullptr);
  EXPECT_EQ(none.source + none.refusal, "");
}

TEST_F(TransferTest, AFileOfOtherFeaturesIsRefusedInALineAndIgnored) {
  fill(3);
  const std::string bytes = find("log", {task_of(256)}).experience->save(),
                    path = folder_.file("model.bin");
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(find(path, {task_of(256)}).source, path);
  std::string other = bytes;
  other.replace(bytes.find("features ") + 9, 4, "0000");
  std::ofstream(path, std::ios::binary) << other;
  const Transfer refused = find(path, {task_of(256)});
  EXPECT_EQ(refused.experience, nullptr);
  EXPECT_NE(refused.refusal.find("for features 0000"), std::string::npos) << refused.refusal;
  EXPECT_EQ(refused.refusal.find('\n'), std::string::npos);
}

TEST_F(TransferTest, WhatIsNeitherARowNorAFileIsAnError) {
  try {
    find("pretraind", {task_of(256)});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::BadArgument);
    EXPECT_NE(e.info().legal.find("auto, log, shipped, none"), std::string::npos);
  }
}

TEST_F(TransferTest, LessonsAreBounded) {
  fill(4);
  const auto count = [&](const LessonsOptions& options) {
    const Lessons lessons = lessons_of(*log_, options);
    return std::pair(lessons.workloads.size(), lessons.samples.size());
  };
  EXPECT_EQ(count({}), std::pair(size_t{4}, 4 * kTrials));
  EXPECT_EQ(count({.most_of_task = 16}), std::pair(size_t{4}, size_t{64}));
  EXPECT_EQ(count({.most = 2 * kTrials}), std::pair(size_t{2}, 2 * kTrials));
  EXPECT_EQ(count({.least_of_task = kTrials + 1}), std::pair(size_t{0}, size_t{0}));
  EXPECT_EQ(count({.seconds = -1}).first, 0u) << "the time is over";
}

// Visits to one candidate are one sample, in parts of the best of its task.
TEST_F(TransferTest, ALessonIsACandidate) {
  fill(2);
  fill(2);
  const Lessons lessons = lessons_of(*log_, {});
  ASSERT_EQ(lessons.samples.size(), 2 * kTrials);
  for (int task = 0; task < 2; ++task) {
    double best = 0;
    for (const Sample& s : lessons.samples) {
      if (s.task == task) best = std::max(best, s.throughput);
    }
    EXPECT_DOUBLE_EQ(best, 1);
  }
}

}  // namespace
}  // namespace tw::autotune
