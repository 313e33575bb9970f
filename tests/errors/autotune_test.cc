// SPDX-License-Identifier: Apache-2.0
// One bad thing asked of the tuner's parts each.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "autotune/log/log.h"
#include "autotune/log/replay.h"
#include "autotune/task/workloads.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace tw::autotune {
namespace {

using test::expect_error;

// A path in a folder that goes with the test.
class AutotuneErrors : public testing::Test {
 protected:
  std::string path() const { return folder_.file("log.db"); }
  const test::TemporaryFolder folder_;
};

te::Program program() { return parse_workload("gemm:m=4,n=4,k=4").program; }

TEST_F(AutotuneErrors, AWorkloadNobodyKnows) {
  const ErrorInfo e =
      expect_error(ErrorCode::UnknownWorkload, [] { parse_workload("gemm:bert.fnn"); });
  EXPECT_EQ(e.where, "gemm:bert.fnn");
  EXPECT_NE(e.what.find("'gemm:bert.ffn'"), std::string::npos) << e.what;
}

TEST_F(AutotuneErrors, ASizeThatCannotBe) {
  const ErrorInfo e =
      expect_error(ErrorCode::BadWorkload, [] { parse_workload("gemm:m=0,n=4,k=4"); });
  EXPECT_EQ(e.what, "size 'm' (rows) is 0");
  EXPECT_EQ(e.legal, "1 to 16777216");
}

TEST_F(AutotuneErrors, ATaskForNoThreads) {
  expect_error(ErrorCode::BadArgument, [] { make_task(program(), Target::host(), 0); });
  expect_error(ErrorCode::BadArgument, [] { make_task(program(), Target::host(), 1 << 20); });
}

TEST_F(AutotuneErrors, ATaskWithSymbolicExtents) {
  const te::Tensor x = te::placeholder({te::var("n")}, float_type(32), "x");
  const te::Tensor y =
      te::compute(x.shape(), [&](const std::vector<Var>& i) { return x(i[0]) + x(i[0]); }, "y");
  expect_error(ErrorCode::SymbolicExtent,
               [&] { make_task(te::make_program({y}), Target::host(), 1); });
}

TEST_F(AutotuneErrors, ATaskThatIsNoTeText) {
  expect_error(ErrorCode::ParseError, [] { make_task("once upon a time", Target::host(), 1); });
}

TEST_F(AutotuneErrors, ALogThatIsNotThere) {
  const ErrorInfo e = expect_error(ErrorCode::LogUnreadable, [&] { Log(path(), Log::Mode::Read); });
  EXPECT_EQ(e.where, path());
}

TEST_F(AutotuneErrors, ALogThatIsSomethingElse) {
  std::ofstream(path()) << "name,value\n";
  expect_error(ErrorCode::LogForeign, [&] { Log(path(), Log::Mode::Write); });
}

TEST_F(AutotuneErrors, ALogThatSomebodyWrites) {
  const Log log(path(), Log::Mode::Write);
  const ErrorInfo e = expect_error(ErrorCode::LogBusy, [&] { Log(path(), Log::Mode::Write); });
  EXPECT_EQ(e.what, fmt::format("process {} is writing this tuning log", getpid()));
}

TEST_F(AutotuneErrors, ABestRecordThatIsNotThere) {
  const Log log(path(), Log::Mode::Write);
  const ErrorInfo e =
      expect_error(ErrorCode::NoRecord, [&] { best_schedule(program(), log, Target::host(), 2); });
  EXPECT_NE(e.what.find(te::workload_id(program())), std::string::npos) << e.what;
}

TEST_F(AutotuneErrors, ATraceOfAnotherProgram) {
  expect_error(ErrorCode::BadTrace, [] { replay(program(), "not a trace"); });
  const te::Program conv = parse_workload("conv2d_bias_relu:ci=4,h=8,co=4,k=3,p=1").program;
  const Schedule s = Schedule::create(conv.outputs);
  s[conv.outputs[0]].split(s[conv.outputs[0]].axis(3), 2);
  EXPECT_THROW(replay(program(), to_text(s.trace())), UserError);
}

}  // namespace
}  // namespace tw::autotune
