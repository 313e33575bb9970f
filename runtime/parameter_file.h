// SPDX-License-Identifier: Apache-2.0
// Arrays in a file that is mapped into memory, so that processes share its pages and what is not
// used is not read. All numbers are little-endian:
//
//   byte  0   "TWPARAMS"
//         8   uint32  version, 1
//        12   uint32  bytes of the index
//        16   uint64  bytes of the file
//        24   uint64  checksum of all that follows byte 64 (checksum.h)
//        32   zeros
//        64   the index, JSON: [{"name": "w", "dtype": "float32", "shape": [3, 4], "offset": 128},
//        …]
//             the arrays, compact and row-major, each at its offset from the beginning of the file,
//             a multiple of 64; zeros between. Arrays that are one in memory are one in the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/api.h"
#include "runtime/ndarray.h"

namespace tw {

struct NamedArray {
  std::string name;
  NDArray value;
};

// Returns the checksum. The arrays must be compact (ArgumentStrides). Throws BadParameters when the
// file cannot be written. The file must not be overwritten in place while it is mapped; write
// another and rename it.
TW_API uint64_t write_parameters(const std::string& path, std::span<const NamedArray> arrays);

struct Parameters {
  std::vector<NamedArray> arrays;  // in the order of the file; read-only, they keep the mapping
  uint64_t checksum = 0;
  uint64_t bytes = 0;        // of the file
  uint64_t fingerprint = 0;  // checksum of header and index, and so of what the header says
};
// Maps a file that write_parameters wrote. Throws BadParameters for one that is missing, damaged,
// cut short, of a newer version or of another kind. Damage to the arrays is found with `verify`,
// which reads all of the file once to compare the checksum.
TW_API Parameters read_parameters(const std::string& path, bool verify = true);

// The same without a file: what it would hold, and the arrays in a copy of such bytes.
TW_API std::string parameters_to_bytes(std::span<const NamedArray> arrays);
TW_API Parameters parameters_from_bytes(std::string_view bytes);

}  // namespace tw
