// SPDX-License-Identifier: Apache-2.0
#include "autotune/study/recording.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "autotune/log/log.h"
#include "autotune/task/workloads.h"
#include "runtime/error.h"
#include "tests/support/source_dir.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/autotune/made_times.h"

namespace tw::autotune {
namespace {

class RecordingTest : public testing::Test {
 protected:
  Task task_ = make_task(parse_workload("gemm:m=48,n=96,k=64").program, Target::host(), 1, "gemm");
  Space space_{task_};
  std::vector<Point> points_ = made::draw(task_, space_, 30, 1).points;

  Record visit(size_t point, double seconds) const {
    return {.trace = to_text(space_.trace(points_[point])), .seconds = {seconds}};
  }
};

TEST_F(RecordingTest, VisitsOfACandidateAreJoined) {
  // As a machine disturbs them: half of the visits take twice as long.
  const Recording recording(task_, {visit(0, 2.0), visit(1, 5.0), visit(0, 1.1), visit(0, 1.0),
                                    visit(0, 2.2), visit(0, 2.1)});
  ASSERT_EQ(recording.candidates().size(), 2u);
  EXPECT_EQ(recording.candidates()[0].visits, (std::vector<double>{2.0, 1.1, 1.0, 2.2, 2.1}));
  EXPECT_EQ(recording.candidates()[0].seconds, 1.1);
  EXPECT_EQ(recording.candidates()[1].seconds, 5.0);
  EXPECT_EQ(recording.best_seconds(), 1.1);
  EXPECT_EQ(recording.index(points_[1]), 1u);
  EXPECT_EQ(recording.index(points_[2]), 2u) << "was not recorded";
}

TEST_F(RecordingTest, FailuresNeverEnd) {
  Record failed = visit(0, 1);
  failed.error = ErrorCode::WrongResult;
  const Recording recording(task_, {failed, visit(1, 1.0)});
  EXPECT_TRUE(std::isinf(recording.candidates()[0].seconds));
  EXPECT_TRUE(recording.candidates()[0].visits.empty());
}

TEST_F(RecordingTest, ForeignTracesAreLeftOut) {
  Record foreign = visit(0, 1);
  foreign.trace = "split@1(s9, s9:0, factor=3)\n";
  EXPECT_EQ(Recording(task_, {foreign, foreign, visit(1, 1.0)}).candidates().size(), 1u);
  try {
    Recording(task_, {foreign});
    FAIL() << "nothing is left";
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ErrorCode::NoRecord);
  }
}

TEST_F(RecordingTest, EveryStepEndsAtARecordedPoint) {
  std::vector<Record> records;
  for (size_t k = 0; k < points_.size(); ++k) records.push_back(visit(k, 1.0));
  const Recording recording(task_, records);
  const size_t count = recording.candidates().size();
  std::mt19937_64 rng(1);
  std::set<size_t> met, steps;
  for (int i = 0; i < 500; ++i) {
    const Point p = recording.random(rng);
    met.insert(recording.index(p));
    const Point next = recording.mutate(p, rng);
    ASSERT_LT(recording.index(next), count);
    EXPECT_NE(next, p);
    EXPECT_EQ(next.sketch, p.sketch);
    if (recording.index(p) == 0) steps.insert(recording.index(next));
    const Point of_sketch = recording.random(p.sketch, rng);
    EXPECT_EQ(of_sketch.sketch, p.sketch);
    const size_t child = recording.index(recording.crossover(p, of_sketch, rng));
    ASSERT_LT(child, count);
    EXPECT_EQ(recording.known_features(p), recording.candidates()[recording.index(p)].features);
  }
  EXPECT_EQ(met.size(), count);
  EXPECT_GT(steps.size(), 3u);
}

// The sample that studies of the cost model start from was recorded once: a space that no longer
// has its points, or whose schedules have other steps, makes it worthless, and every user's log
// with it.
TEST(Recording, OfTheTreeIsOfPointsOfTodaysSpaces) {
  const test::TemporaryFolder folder;
  const std::string file = folder.file("sample.db");
  const std::string unpack =
      "gzip -dc '" + source_dir() + "/bench/study_sample.db.gz' > '" + file + "'";
  ASSERT_EQ(std::system(unpack.c_str()), 0);
  const Log log(file, Log::Mode::Read);
  EXPECT_GE(log.workloads().size(), 15u);
  for (const Log::Workload& w : log.workloads()) {
    const std::vector<Record> records = log.records(w.id);
    const Record& first = records.at(0);
    const Space space(make_task(w.te_text, Target::parse(first.target), first.threads, w.name));
    std::set<std::string> traces;
    for (const Record& r : records) traces.insert(r.trace);
    size_t lost = 0;
    for (const std::string& trace : traces) lost += !space.find(parse_trace(trace));
    EXPECT_EQ(lost, 0u) << "of " << traces.size() << " of " << w.name;
  }
}

}  // namespace
}  // namespace tw::autotune
