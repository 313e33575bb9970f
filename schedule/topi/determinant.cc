// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/determinant.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/operator.h"
#include "schedule/topi/statements.h"

namespace tw::topi {
namespace {

// A square matrix in memory that is eliminated column by column.
struct Elimination {
  int64_t n;
  Memory matrix, pivot, product;  // all elements; a row; what the determinant is so far

  Expr at(const Expr& row, const Expr& column) const { return row * number(n) + column; }
  Expr magnitude(const Expr& row, const Expr& column) const {
    return call("fabs", {matrix[at(row, column)]});
  }
  // Which row from `c` on has the greatest element of column c.
  Stmt find_pivot(const Expr& c) const {
    const Stmt look = loop("r", number(n) - c, [&](const Expr& r) {
      const Expr row = c + r;
      return when(magnitude(row, c) > magnitude(pivot[number(0)], c), pivot.store(number(0), row));
    });
    return block({pivot.store(number(0), c), look});
  }
  Stmt exchange(const Expr& c, const Expr& row) const {
    const Stmt rows = loop("j", number(n), [&](const Expr& j) {
      return let("other", matrix[at(c, j)], [&](const Expr& other) {
        return block({matrix.store(at(c, j), matrix[at(row, j)]), matrix.store(at(row, j), other)});
      });
    });
    return block({product.store(number(0), -product[number(0)]), rows});
  }
  // Takes multiples of row c off the rows behind it.
  Stmt eliminate(const Expr& c) const {
    const Expr behind = number(n - 1) - c;
    return loop("r", behind, [&](const Expr& r) {
      const Expr row = c + number(1) + r;
      const Expr quotient = div(matrix[at(row, c)], matrix[at(c, c)]);
      return let("factor", quotient, [&](const Expr& factor) {
        return loop("j", behind, [&](const Expr& j) {
          const Expr column = c + number(1) + j;
          return matrix.store(at(row, column),
                              matrix[at(row, column)] - factor * matrix[at(c, column)]);
        });
      });
    });
  }
  Stmt column(const Expr& c) const {
    const Expr diagonal = matrix[at(c, c)];
    return block({find_pivot(c),
                  let("row", pivot[number(0)],
                      [&](const Expr& row) { return when(row != c, exchange(c, row)); }),
                  product.store(number(0), product[number(0)] * diagonal),
                  when(diagonal != make_zero(diagonal.dtype()), eliminate(c))});
  }
};

}  // namespace

Tensor det(const Tensor& data) {
  const Place place{"det", "data"};
  require_float(place, data);
  if (data.rank() < 2) {
    bad_shape(place, fmt::format("shape {}", shape_text(data.shape())), "rank 2 or more");
  }
  const std::vector<Expr> shape = data.shape();
  const std::vector<Expr> outer(shape.begin(), shape.end() - 2);
  const auto rows = as_const_int(shape[outer.size()]), columns = as_const_int(shape.back());
  if (!rows || rows != columns) {
    bad_shape(place, fmt::format("shape {}", shape_text(shape)),
              "square matrices, of constant extents");
  }
  const int64_t n = *rows, size = n * n;
  const DType type = accumulation_type(data.dtype());
  const auto of_matrix = [&](const Memory& from, const Expr& number_of, const Memory& out,
                             const Elimination& e) {
    const Stmt copy = loop("e", number(size), [&](const Expr& k) {
      return e.matrix.store(k, cast(type, from[number_of * number(size) + k]));
    });
    return block({copy, e.product.store(number(0), make_const(type, 1)),
                  loop("c", number(n), [&](const Expr& c) { return e.column(c); }),
                  out.store(number_of, cast(data.dtype(), e.product[number(0)]))});
  };
  return computed_by(
      "det", {data}, {{outer, data.dtype()}}, [&](const Memories& ins, const Memories& outs) {
        return for_rows(product(outer), size * n, [&](const Expr& first, const Expr& count) {
          const auto all = [&](const Elimination& e) {
            return loop("k", count, [&](const Expr& k) {
              return let("matrix_number", first + k,
                         [&](const Expr& m) { return of_matrix(ins[0], m, outs[0], e); });
            });
          };
          return allocate("matrix", type, number(std::max<int64_t>(size, 1)), [&](const Memory& m) {
            return allocate("pivot", int_type(32), number(1), [&](const Memory& pivot) {
              return allocate("product", type, number(1),
                              [&](const Memory& product) { return all({n, m, pivot, product}); });
            });
          });
        });
      })[0];
}

std::vector<Operator> determinant_rows() {
  return {make_operator(
      "topi", "det", [](const Tensor& data) { return det(data); },
      {{"data", "[..., n, n], floats, n constant"}},
      "The determinants of matrices in the last two dimensions. ONNX Det.")};
}

}  // namespace tw::topi
