// SPDX-License-Identifier: Apache-2.0
// A locale whose numbers have a decimal comma, made by the C library's own tool.
#pragma once

#include <locale.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>

namespace tw::test {

// Holds for this thread while it lives.
class CommaLocale {
 public:
  CommaLocale() {
    folder_ = std::filesystem::temp_directory_path() / ("comma_locale_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "source") << "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\n"
                                         "grouping 3;3\nEND LC_NUMERIC\n";
    const std::string at = folder_.string();
    // It warns of the categories that are not defined, and says so in its code.
    std::ignore = std::system(
        ("localedef -c -i " + at + "/source -f ANSI_X3.4-1968 " + at + "/xx_XX >/dev/null 2>&1")
            .c_str());
    setenv("LOCPATH", at.c_str(), 1);
    locale_ = newlocale(LC_NUMERIC_MASK, "xx_XX", nullptr);
    unsetenv("LOCPATH");
    if (locale_ != nullptr) before_ = uselocale(locale_);
  }
  ~CommaLocale() {
    if (locale_ != nullptr) {
      uselocale(before_);
      freelocale(locale_);
    }
    std::filesystem::remove_all(folder_);
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

  // False where the tool is missing.
  bool works() const { return std::strtod("1,5", nullptr) == 1.5; }

 private:
  std::filesystem::path folder_;
  locale_t locale_ = nullptr, before_ = nullptr;
};

}  // namespace tw::test
