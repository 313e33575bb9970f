// SPDX-License-Identifier: Apache-2.0
// docs/pipeline.md holds the table of passes, and docs/add_a_pass.md tells the truth about each.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/pipeline.h"
#include "tests/support/golden.h"

namespace tw {
namespace {

std::string names(const std::vector<Property>& properties) {
  std::string text;
  for (Property p : properties) text += (text.empty() ? "" : ", ") + std::string(to_string(p));
  return text;
}

TEST(PipelineDocs, TableOfPasses) {
  std::string table =
      "| pass | what it does | requires | ensures | optional |\n|---|---|---|---|---|\n";
  for (const Pass& p : passes()) {
    table += fmt::format("| `{}` | {} | {} | {} | {} |\n", p.name, p.doc, names(p.requires_),
                         names(p.ensures), p.optional ? "yes" : "");
  }
  constexpr std::string_view kBegin = "<!-- passes -->\n", kEnd = "<!-- end of passes -->";
  std::string text = read_golden("../../docs/pipeline.md");
  const size_t begin = text.find(kBegin) + kBegin.size(), end = text.find(kEnd);
  ASSERT_LT(begin, text.size());
  ASSERT_NE(end, std::string::npos);
  text.replace(begin, end - begin, table);
  expect_golden("../../docs/pipeline.md", text);
}

TEST(PipelineDocs, EachPassHasItsFiles) {
  for (const Pass& p : passes()) {
    const std::string source = read_golden(fmt::format("../../lower/{}.cc", p.name));
    const size_t end = source.find("#include");
    ASSERT_NE(end, std::string::npos) << p.name;
    const std::string header = source.substr(0, end);
    EXPECT_THAT(header, testing::HasSubstr(fmt::format("// {}: ", p.name)));
    EXPECT_THAT(header, testing::HasSubstr("before")) << p.name;
    EXPECT_THAT(header, testing::HasSubstr("after")) << p.name;
    EXPECT_FALSE(read_golden(fmt::format("../unit/lower/{}_test.cc", p.name)).empty())
        << "tests/unit/lower/" << p.name << "_test.cc is missing";
    const bool whole = std::holds_alternative<ModulePass>(p.function);
    EXPECT_THAT(
        read_golden("../../lower/passes.h"),
        testing::HasSubstr(whole ? fmt::format("KernelModule {}(KernelModule module,", p.name)
                                 : fmt::format("Kernel {}(Kernel kernel,", p.name)));
  }
}

}  // namespace
}  // namespace tw
