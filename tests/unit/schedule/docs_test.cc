// SPDX-License-Identifier: Apache-2.0
// The documentation of primitives says what is so.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "schedule/kernel_part.h"
#include "schedule/primitive.h"
#include "schedule/te/placeholder.h"
#include "schedule/tensor_intrin.h"
#include "schedule/topi/operator.h"
#include "tests/support/scheduled.h"
#include "tests/support/source_dir.h"
#include "tests/unit/schedule/primitive_examples.h"

namespace tw {
namespace {

const std::string kRoot = source_dir() + "/";

std::string contents(const std::string& file) {
  std::ifstream in(kRoot + file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The blocks of C++ in a text, without the indentation of their list.
std::vector<std::string> code_blocks(const std::string& text) {
  std::vector<std::string> blocks;
  std::istringstream lines(text);
  bool inside = false;
  size_t indent = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find_first_not_of(' ');
    const bool fence = first != std::string::npos && line.compare(first, 3, "```") == 0;
    if (fence && !inside) {
      indent = first;
      blocks.emplace_back();
    }
    if (fence) {
      inside = !inside;
    } else if (inside) {
      blocks.back() += (line.size() > indent ? line.substr(indent) : "") + "\n";
    }
  }
  return blocks;
}

// Lines without what stands before the first letter of each, so that a block may be indented
// otherwise than the code.
std::string unindented(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find_first_not_of(' ');
    result += (first == std::string::npos ? "" : line.substr(first)) + "\n";
  }
  return result;
}

// Block k of the page, up to the heading `end`, stands in file k.
void expect_blocks(const std::string& page, const std::vector<std::string>& files,
                   const std::string& end = "\n# none") {
  const std::string text = contents(page);
  const std::vector<std::string> blocks = code_blocks(text.substr(0, text.find(end)));
  ASSERT_EQ(blocks.size(), files.size());
  for (size_t k = 0; k < files.size(); ++k) {
    EXPECT_NE(unindented(contents(files[k])).find(unindented(blocks[k])), std::string::npos)
        << "not in " << files[k] << ":\n"
        << blocks[k];
  }
}

TEST(PrimitiveDocs, TheExampleIsInTheCode) {
  expect_blocks("docs/add_a_primitive.md", {
                                               "schedule/primitives.def",
                                               "schedule/primitives/reorder.cc",
                                               "tests/unit/schedule/primitives_order_test.cc",
                                               "tests/errors/schedule_test.cc",
                                               "schedule/primitive_versions.def",
                                           });
}

TEST(OperatorDocs, TheExamplesAreInTheCode) {
  expect_blocks("docs/add_an_operator.md",
                {
                    "schedule/topi/elementwise.def",
                    "schedule/topi/nn/activation.h",
                    "schedule/topi/nn/activation.cc",
                    "schedule/topi/nn/activation.cc",
                    "tests/numeric/topi_elementwise_test.cc",
                    "tests/errors/topi_test.cc",
                },
                "\n# An operator of networks");
}

// Files of the library that name the operator in code, outside of comments and of calls by others.
std::set<std::string> files_that_name(const std::string& name) {
  const std::regex word("(^|[^\\w.])(" + name + ")([^\\w]|$)");
  std::set<std::string> files;
  for (const char* folder : {"schedule/topi", "python"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot + folder)) {
      const std::string extension = entry.path().extension();
      const bool code =
          extension == ".h" || extension == ".cc" || extension == ".def" || extension == ".py";
      if (!entry.is_regular_file() || !code) continue;
      const std::string file = entry.path().lexically_relative(kRoot);
      if (file.starts_with("python/tilewright/contrib/")) continue;  // names operators of networks
      std::istringstream lines(contents(file));
      for (std::string line; std::getline(lines, line);) {
        line = line.substr(0, line.find("//"));
        if (std::regex_search(line, word)) files.insert(file);
      }
    }
  }
  return files;
}

TEST(OperatorDocs, TheExamplesAreNamedInTheirFilesAlone) {
  EXPECT_EQ(
      files_that_name("leaky_relu"),
      (std::set<std::string>{"schedule/topi/nn/activation.cc", "schedule/topi/nn/activation.h"}));
  EXPECT_EQ(files_that_name("log_softmax"),
            (std::set<std::string>{"schedule/topi/nn/softmax.cc", "schedule/topi/nn/softmax.h"}));
  EXPECT_EQ(files_that_name("floor_divide"),
            (std::set<std::string>{"schedule/topi/broadcast.def", "python/operators.cc"}));
}

TEST(OperatorDocs, ThePageIsTheTable) {
  std::string page =
      "# Operators\n\n"
      "Made from the table of operators by `tests/unit/schedule/docs_test.cc`. `?` marks an "
      "argument with a default.\n\n"
      "| operator | arguments | |\n|---|---|---|\n";
  for (const topi::Operator& op : topi::operators()) {
    std::string parameters;
    for (const topi::Parameter& p : op.parameters) {
      parameters += (parameters.empty() ? "" : ", ") + std::string(p.name) + (p.initial ? "?" : "");
    }
    page += "| `" + op.full_name() + "` | " + parameters + " | " +
            std::regex_replace(std::string(op.doc), std::regex(R"(\|)"), R"(\|)") + " |\n";
  }
  if (std::getenv("TILEWRIGHT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kRoot + "docs/operators.md") << page;
    return;
  }
  EXPECT_EQ(contents("docs/operators.md"), page) << "TILEWRIGHT_UPDATE_GOLDEN=1 writes the page";
}

// The loop nest after the steps; of what is computed once when the kernel is built, a nest before.
std::string nest_after(const test::PrimitiveExample& example, std::string_view steps) {
  const Schedule s = normalize(test::scheduled(example.program, steps));
  std::vector<te::Tensor> constants = te::placeholders(s.outputs());
  std::erase_if(constants, [](const te::Tensor& t) { return !te::is_constant(t); });
  const DomainMap domains = infer_bound(s);
  const ScheduleParts parts = parts_of(s, constants);
  const auto nest = [&](const KernelPart& part) {
    return to_string(schedule_ops(s, domains, {}, part));
  };
  if (!parts.is_split()) return nest(parts.main);
  return "// once, when the kernel is built\n" + nest(parts.preparation) + "// in each call\n" +
         nest(parts.main);
}

// "`split@1(…)` and `vectorize@1(…)`"
std::string in_line(std::string_view steps) {
  return "`" + std::regex_replace(std::string(steps), std::regex("\n"), "` and `") + "`";
}

std::string shown(const test::PrimitiveExample& example) {
  const std::string first = example.before.empty() ? "" : fmt::format("{}\n", example.before);
  return fmt::format("## {}\n\nBefore{}:\n\n```\n{}```\n\nAfter {}:\n\n```\n{}```\n\n",
                     example.primitive, first.empty() ? "" : ", with " + in_line(example.before),
                     nest_after(example, first), in_line(example.steps),
                     nest_after(example, first + std::string(example.steps)));
}

TEST(PrimitiveDocs, EachHasAnExample) {
  ASSERT_EQ(std::size(test::kPrimitiveExamples), primitives().size());
  for (size_t k = 0; k < primitives().size(); ++k) {
    const test::PrimitiveExample& example = test::kPrimitiveExamples[k];
    EXPECT_EQ(example.primitive, primitives()[k].name);
    EXPECT_NE(("\n" + std::string(example.steps)).find(fmt::format("\n{}@", example.primitive)),
              std::string::npos);
  }
}

TEST(PrimitiveDocs, ThePageIsTheTable) {
  std::string page =
      "# Schedule primitives\n\n"
      "Made from `schedule/primitives.def` by `tests/unit/schedule/docs_test.cc`. `?` marks an "
      "optional argument.\n\n"
      "| primitive | version | arguments | makes | |\n|---|---|---|---|---|\n";
  for (const Primitive& p : primitives()) {
    std::string arguments, results;
    for (const Parameter& parameter : p.parameters) {
      arguments += (arguments.empty() ? "" : ", ") + std::string(parameter.name) + ": " +
                   std::string(to_string(parameter.type)) + (parameter.optional ? "?" : "");
    }
    for (ParameterType r : p.results)
      results += (results.empty() ? "" : ", ") + std::string(to_string(r));
    page += "| `" + std::string(p.name) + "` | " + std::to_string(p.version) + " | " + arguments +
            " | " + results + " | " + std::string(p.doc) + " |\n";
  }
  page +=
      "\nBelow, each as a step of a trace, with the loop nest that scheduling gives lowering, "
      "before the "
      "step and after it. `s1:0` is the first axis of operation 1, `t0.1` the second result of "
      "step 0.\n\n";
  for (const test::PrimitiveExample& example : test::kPrimitiveExamples) page += shown(example);
  page.pop_back();  // no empty line at the end
  if (std::getenv("TILEWRIGHT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kRoot + "docs/primitives.md") << page;
    return;
  }
  EXPECT_EQ(contents("docs/primitives.md"), page) << "TILEWRIGHT_UPDATE_GOLDEN=1 writes the page";
}

// Between the two comments of the page.
TEST(TensorIntrinDocs, ThePageHasTheTable) {
  std::string rows = "| intrinsic | computes | needs |\n|---|---|---|\n";
  for (const TensorIntrin& intrin : builtin_tensor_intrins()) {
    std::string features;
    for (const std::string& f : intrin->features)
      features += (features.empty() ? "" : ", ") + ("`" + f + "`");
    rows +=
        "| `" + intrin->name + "` | `" + expression_text(intrin->op) + "` | " + features + " |\n";
  }
  const std::string begin = "<!-- intrinsics -->\n", end = "<!-- end of intrinsics -->";
  const std::string page = contents("docs/tensor_intrinsics.md");
  const size_t from = page.find(begin) + begin.size(), to = page.find(end);
  ASSERT_NE(to, std::string::npos);
  if (std::getenv("TILEWRIGHT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kRoot + "docs/tensor_intrinsics.md")
        << page.substr(0, from) + rows + page.substr(to);
    return;
  }
  EXPECT_EQ(page.substr(from, to - from), rows) << "TILEWRIGHT_UPDATE_GOLDEN=1 writes the table";
}

}  // namespace
}  // namespace tw
