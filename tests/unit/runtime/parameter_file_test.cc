// SPDX-License-Identifier: Apache-2.0
#include "runtime/parameter_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/error.h"

namespace tw {
namespace {

struct File {
  std::string path = testing::TempDir() + "/parameters." + std::to_string(getpid());
  ~File() { std::remove(path.c_str()); }
  std::string content() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  std::string refusal() const {
    try {
      read_parameters(path);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::BadParameters) << e.what();
      return e.what();
    }
    ADD_FAILURE() << "it was read";
    return {};
  }
};

NDArray counting(const std::vector<int64_t>& shape, float from) {
  NDArray a = NDArray::empty(shape, float_type(32));
  for (int64_t i = 0; i < a.size(); ++i) a.data_as<float>()[i] = from + static_cast<float>(i);
  return a;
}

TEST(ParameterFile, ArraysComeBack) {
  const File file;
  const NDArray w = counting({3, 5}, 1), bytes = NDArray::zeros({7}, int_type(8));
  bytes.data_as<int8_t>()[6] = -3;
  const NDArray none = NDArray::empty({0, 4}, bfloat_type(16)), number = counting({}, 9);
  const std::vector<NamedArray> given = {
      {"w", w}, {"bytes", bytes}, {"none", none}, {"again", w}, {"a \"name\"\n", number}};
  const uint64_t checksum = write_parameters(file.path, given);
  const Parameters read = read_parameters(file.path);
  EXPECT_EQ(read.checksum, checksum);
  ASSERT_EQ(read.arrays.size(), given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const NDArray &a = given[i].value, &b = read.arrays[i].value;
    EXPECT_EQ(read.arrays[i].name, given[i].name);
    EXPECT_EQ(a.dtype(), b.dtype());
    EXPECT_TRUE(std::ranges::equal(a.shape(), b.shape()));
    EXPECT_TRUE(b.read_only());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data()) % NDArray::kAlignment, 0u);
    if (a.size() > 0) {
      EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.byte_size())), 0);
    }
  }
  // What is one array in memory is one in the file.
  EXPECT_EQ(read.arrays[0].value.data(), read.arrays[3].value.data());
}

TEST(ParameterFile, ArraysKeepTheMapping) {
  const File file;
  const NamedArray given[] = {{"w", counting({1000}, 0)}};
  write_parameters(file.path, given);
  const NDArray kept = read_parameters(file.path).arrays.at(0).value;
  std::filesystem::remove(file.path);
  EXPECT_EQ(kept.data_as<float>()[999], 999);
}

TEST(ParameterFile, DamageIsFound) {
  const File file;
  const NamedArray given[] = {{"w", counting({40}, 0)}};
  write_parameters(file.path, given);
  const std::string good = file.content();
  using testing::HasSubstr;
  for (size_t at : {size_t{64}, size_t{130}, good.size() - 1}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    file.write(bad);
    EXPECT_THAT(file.refusal(), HasSubstr("damaged")) << at;
  }
  for (size_t size : {size_t{64}, size_t{100}, good.size() - 1}) {
    file.write(good.substr(0, size));
    EXPECT_THAT(file.refusal(), HasSubstr("bytes of")) << size;
  }
  file.write(good + "more");
  EXPECT_THAT(file.refusal(), HasSubstr("bytes of"));
  std::string newer = good;
  newer[8] = 2;
  file.write(newer);
  EXPECT_THAT(file.refusal(), HasSubstr("version 2"));
  for (const std::string& text : {std::string(), std::string("text"), std::string(200, 'x')}) {
    file.write(text);
    EXPECT_THAT(file.refusal(), HasSubstr("no file of parameters"));
  }
  std::filesystem::remove(file.path);
  EXPECT_THAT(file.refusal(), HasSubstr("No such file"));
}

TEST(ParameterFile, ValuesNeedNotBeRead) {
  const File file;
  const NamedArray given[] = {{"w", counting({40}, 0)}};
  write_parameters(file.path, given);
  std::string bytes = file.content();
  const Parameters good = read_parameters(file.path, /*verify=*/false);
  EXPECT_EQ(good.arrays.at(0).value.data_as<float>()[39], 39);
  EXPECT_EQ(good.bytes, bytes.size());
  bytes.back() = 1;
  file.write(bytes);
  EXPECT_EQ(read_parameters(file.path, /*verify=*/false).fingerprint, good.fingerprint);
  const NamedArray others[] = {{"w", counting({40}, 1)}};
  write_parameters(file.path, others);
  EXPECT_NE(read_parameters(file.path, /*verify=*/false).fingerprint, good.fingerprint);
}

// Their elements take more bytes than those of their element type.
TEST(ParameterFile, VectorsLieInsideTheFile) {
  const File file;
  const NamedArray given[] = {{"w", counting({40}, 0)}};
  write_parameters(file.path, given);
  std::string bytes = file.content();
  const size_t at = bytes.find("float32");
  ASSERT_NE(at, bytes.npos);
  bytes.replace(at, 7, "int8x99");
  file.write(bytes);
  EXPECT_THROW(read_parameters(file.path, /*verify=*/false), UserError);
}

TEST(ParameterFile, BytesInMemory) {
  const NDArray w = counting({3, 5}, 1);
  const NamedArray given[] = {{"w", w}};
  const std::string bytes = parameters_to_bytes(given);
  const NDArray back = parameters_from_bytes(bytes).arrays.at(0).value;
  EXPECT_EQ(back.data_as<float>()[14], 15);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(back.data()) % NDArray::kAlignment, 0u);
  for (const std::string& bad : {std::string(), bytes.substr(1), bytes.substr(0, 70), bytes + "x"})
    EXPECT_THROW(parameters_from_bytes(bad), UserError);
}

TEST(ParameterFile, WhatCannotBeWritten) {
  const NDArray gaps =
      NDArray::zeros({16}, float_type(32)).view(std::vector<int64_t>{8}, std::vector<int64_t>{2});
  const NamedArray strided[] = {{"w", gaps}};
  const File file;
  try {
    write_parameters(file.path, strided);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::ArgumentStrides);
  }
  const NamedArray good[] = {{"w", counting({4}, 0)}};
  try {
    write_parameters("/no/such/folder/file", good);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::BadParameters);
  }
}

}  // namespace
}  // namespace tw
