// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/interpret.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

TEST(LowerParallel, TasksTakeChunks) {
  EXPECT_EQ(run_pass(pass::lower_parallel, R"(declare A: float32*
parallel (y, 0, 21) {
  parallel (x, 0, 4) {
    A[((y*4) + x)] = 1.000000f
  }
}
)"),
            R"(let y.tasks = min(num_threads(), 21)
// attr [y.task] parallel_launch = y.tasks
let y.chunk = (21/y.tasks)
let y.rest = (21 % y.tasks)
for (y, ((y.task*y.chunk) + min(y.task, y.rest)), (y.chunk + select((y.task < y.rest), 1, 0))) {
  for (x, 0, 4) {
    A[((y*4) + x)] = 1.000000f
  }
}
)");
}

TEST(LowerParallel, DynamicTasksArePieces) {
  EXPECT_EQ(run_pass(pass::lower_parallel, R"(declare A: float32*
// attr [] pragma_parallel_dynamic = 4
parallel (y, 2, 21) {
  A[y] = 1.000000f
}
)"),
            R"(// attr [y.task] parallel_launch_dynamic = 6
for (y, (2 + (y.task*4)), min(4, (21 - (y.task*4)))) {
  A[y] = 1.000000f
}
)");
}

// How many tasks a loop of so many iterations asks for on three threads.
int64_t tasks_of(const std::string& extent, const std::string& pragma, int64_t n) {
  const Stmt loop = parse_stmt("declare A: int32*\ndeclare n: int32\n" + pragma +
                               "parallel (y, 0, " + extent + ") {\n  A[(y + n)] = 1\n}\n");
  const Kernel kernel = run_pass(pass::lower_parallel, Kernel{.body = loop});
  InterpreterScope scope;
  for (const Var& v : free_vars(loop)) {
    if (!v.dtype().is_handle()) scope.values[v] = Value{.type = v.dtype(), .i = n};
  }
  const LetStmt* let = as<LetStmt>(kernel.body);
  return evaluate(let != nullptr ? let->value : as<AttrStmt>(kernel.body)->value, scope).i;
}

// No task at all would be one for each thread, and fewer than none are an error.
TEST(LowerParallel, NoIterationIsOneTask) {
  for (const char* pragma : {"", "// attr [] pragma_parallel_dynamic = 1\n"}) {
    EXPECT_EQ(tasks_of("0", pragma, 0), 1) << pragma;
    for (int64_t n : {-3, 0, 1}) EXPECT_EQ(tasks_of("n", pragma, n), 1) << pragma << n;
    EXPECT_EQ(tasks_of("n", pragma, 2), 2) << pragma;
  }
}

void each_iteration_once(const std::string& pragma) {
  const Kernel kernel =
      run_pass(pass::lower_parallel,
               Kernel{.body = parse_stmt("declare A: int32*\n" + pragma +
                                         "parallel (y, 2, 7) {\n  A[y] = (A[y] + 1)\n}\n")});
  const std::vector<Var> free = free_vars(kernel.body);
  ASSERT_EQ(free.size(), 1u);
  for (int threads : {1, 2, 3, 6, 7, 8, 100}) {
    const std::vector<int32_t> zeros(10, 0);
    InterpreterBuffer a = InterpreterBuffer::from_bytes(int_type(32), zeros.data(), 10);
    InterpreterScope scope;
    scope.buffers[free[0]] = &a;
    interpret(kernel.body, scope, {.shuffle_parallel = true, .num_threads = threads});
    for (int i = 0; i < 10; ++i) EXPECT_EQ(a.at(i).i, i >= 2 && i < 9) << threads << " " << i;
  }
}

TEST(LowerParallel, EachIterationOnce) {
  each_iteration_once("");
  for (const char* piece : {"1", "2", "7", "100"}) {
    each_iteration_once(fmt::format("// attr [] pragma_parallel_dynamic = {}\n", piece));
  }
}

}  // namespace
}  // namespace tw
