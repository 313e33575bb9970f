// SPDX-License-Identifier: Apache-2.0
// Operators whose elements depend on where they stand: diagonals, triangles, sequences, positions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// start, start + step, … before stop. BadArgument for a step of 0. NumPy arange.
Tensor arange(double start, double stop, double step, DType dtype,
              const std::string& name = "T_arange", const std::string& tag = kInjective);
int64_t arange_count(double start, double stop, double step);
// Ones where column - row is k, else zeros. NumPy eye.
Tensor eye(int64_t rows, int64_t columns, int k, DType dtype, const std::string& name = "T_eye",
           const std::string& tag = kInjective);
// Of a vector the square matrix that has it on diagonal k; of matrices, the last two dimensions,
// their diagonal k. NumPy diag.
Tensor diag(const Tensor& a, int k = 0, const std::string& name = "T_diag",
            const std::string& tag = kInjective);
// The extent of diagonal k of so many rows and columns.
int64_t diagonal_extent(int64_t rows, int64_t columns, int64_t k);
// Matrices with `diagonal`, of the shape of diag, on diagonal k.
Tensor matrix_set_diag(const Tensor& data, const Tensor& diagonal, int k = 0,
                       const std::string& name = "T_matrix_set_diag",
                       const std::string& tag = kInjective);
// Matrices with zeros below diagonal k, or above it. ONNX Trilu.
Tensor trilu(const Tensor& data, int k = 0, bool upper = true, const std::string& name = "T_trilu",
             const std::string& tag = kElementwise);
// The vectors along the dimensions of a grid, each repeated along all others. `indexing`: "ij", or
// "xy" with the first two dimensions exchanged. NumPy meshgrid.
std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, std::string_view indexing = "ij",
                             const std::string& name = "T_meshgrid",
                             const std::string& tag = kBroadcast);
// The positions, along a new first dimension, of elements with row-major positions, from the end
// where negative, the nearest where outside. NumPy unravel_index.
Tensor unravel_index(const Tensor& indices, const std::vector<int64_t>& shape,
                     const std::string& name = "T_unravel", const std::string& tag = kInjective);
// The extents as a vector. ONNX Shape.
Tensor shape(const Tensor& a, DType dtype = int_type(32), const std::string& name = "T_shape",
             const std::string& tag = kInjective);
// How many elements there are. ONNX Size.
Tensor ndarray_size(const Tensor& a, DType dtype = int_type(32),
                    const std::string& name = "ndarray_size", const std::string& tag = kInjective);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> matrix_rows();

}  // namespace tw::topi
