// SPDX-License-Identifier: Apache-2.0
#include "autotune/log/replay.h"

#include <gtest/gtest.h>

#include "autotune/measure/measure.h"
#include "autotune/task/workloads.h"
#include "lower/llvm/compile.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace tw::autotune {
namespace {

class Replay : public testing::Test {
 protected:
  std::string path() const { return folder_.file("log.db"); }
  const tw::test::TemporaryFolder folder_;
};

Schedule tiled(const te::Program& program, int64_t factor) {
  const Schedule s = Schedule::create(program.outputs);
  const Stage stage = s[program.outputs[0]];
  const auto [outer, inner] = stage.split(stage.axis(1), factor);
  stage.reorder({outer, stage.axis(0), stage.reduce_axis(0), inner});
  return s;
}

TEST_F(Replay, TheBestRecordGivesTheKernelThatWasMeasured) {
  const Task task =
      make_task(parse_workload("gemm:m=16,n=24,k=20").program, Target::host(), 1, "gemm:tiny");
  MeasureOptions options;
  options.workers = 2;
  options.run_budget = 0.002;
  LocalMeasurer measurer(options);
  std::vector<Candidate> batch;
  for (int64_t factor : {2, 4, 8}) batch.push_back({.trace = tiled(task.program, factor).trace()});
  const auto records = measurer.measure(task, batch, 0, {});
  ASSERT_EQ(records.size(), 3u);
  {
    Log log(path(), Log::Mode::Write);
    log.add_task(task);
    for (const Record& r : records) {
      ASSERT_TRUE(r.ok()) << r.message;
      log.append(r);
    }
  }
  // Nothing but the log's text from here on.
  const Log log(path(), Log::Mode::Read);
  const te::Program program = te::parse_program(*log.te_text(task.workload));
  const auto best = log.best(task.workload, task.target_text, 1);
  ASSERT_TRUE(best);
  const Schedule schedule = best_schedule(program, log, Target::host(), 1);
  EXPECT_EQ(to_text(schedule.trace()), best->trace);
  EXPECT_EQ(ir_hash(lower_program(program, schedule, Target::host(), "another_name")),
            best->ir_hash);
  // The same program written with other names is the same workload.
  const te::Program mine = parse_workload("gemm:m=16,n=24,k=20").program;
  EXPECT_EQ(ir_hash(lower_program(mine, best_schedule(mine, log, Target::host(), 1), Target::host(),
                                  "gemm")),
            best->ir_hash);
}

TEST_F(Replay, PrecomputedWeightsAreMeasuredAsTheyAreBuilt) {
  const Task task = make_task(parse_workload("gemm:m=16,n=24,k=20,w=1").program, Target::host(), 1);
  const Schedule schedule = Schedule::create(task.program.outputs);
  const te::Tensor c = task.program.outputs[0];
  const Stage pack = schedule[schedule.cache_read(task.program.arguments[1], "global", {c.op()})];
  pack.transform_layout(pack.axis(1), 16, {1, 0, 2});
  pack.precompute();
  MeasureOptions options;
  options.run_budget = 0.002;
  LocalMeasurer measurer(options);
  const std::vector<Candidate> batch = {{.trace = schedule.trace()}};
  const auto records = measurer.measure(task, batch, 0, {});
  ASSERT_EQ(records.size(), 1u);
  ASSERT_TRUE(records[0].ok()) << records[0].message;
  const auto module = lower_program(task.program, replay(task.program, records[0].trace),
                                    te::constants_of(task.program), Target::host(), "gemm");
  ASSERT_NE(module.preparation(), nullptr);
  EXPECT_EQ(ir_hash(module.entry()), records[0].ir_hash);
}

TEST_F(Replay, HashesTellKernelsApartAndNamesNot) {
  const te::Program program = parse_workload("gemm:m=16,n=24,k=20").program;
  const auto hash = [&](int64_t factor, const char* name) {
    return ir_hash(lower_program(program, tiled(program, factor), Target::host(), name));
  };
  EXPECT_EQ(hash(4, "a").size(), 16u);
  EXPECT_EQ(hash(4, "a"), hash(4, "b"));
  EXPECT_NE(hash(4, "a"), hash(8, "a"));
}

TEST_F(Replay, AMissingRecordNamesTheCommandThatTunes) {
  Log log(path(), Log::Mode::Write);
  const te::Program program = parse_workload("gemm:bert.ffn").program;
  const auto error = [&](const te::Program& p) {
    return test::expect_error(ErrorCode::NoRecord,
                              [&] { best_schedule(p, log, Target::host(), 3); });
  };
  const ErrorInfo named = error(program);
  EXPECT_NE(named.what.find(te::workload_id(program)), std::string::npos) << named.what;
  EXPECT_NE(named.what.find(Target::host().text()), std::string::npos) << named.what;
  EXPECT_NE(named.legal.find("autotune gemm:bert.ffn"), std::string::npos) << named.legal;
  EXPECT_NE(named.legal.find("--threads=3"), std::string::npos) << named.legal;
  EXPECT_NE(named.legal.find(path()), std::string::npos) << named.legal;
  EXPECT_EQ(named.what.find('\n'), std::string::npos);
  EXPECT_EQ(named.legal.find('\n'), std::string::npos);

  const te::Tensor x = te::placeholder({8}, float_type(32), "x");
  const ErrorInfo unnamed = error(te::make_program(
      {te::compute({8}, [&](const std::vector<Var>& i) { return x(i[0]) * x(i[0]); }, "y")}));
  EXPECT_NE(unnamed.legal.find("autotune.tune("), std::string::npos) << unnamed.legal;
}

}  // namespace
}  // namespace tw::autotune
