// SPDX-License-Identifier: Apache-2.0
// Small integer programs of every shape that sketches must cope with, as te text: exact in any
// order of summation.
#pragma once

#include <string_view>

namespace tw::test {

struct TuningProgram {
  std::string_view name, text;
};

inline constexpr TuningProgram kTuningPrograms[] = {
    {"gemm", R"(te 1
A = placeholder(int32, [12, 20])
B = placeholder(int32, [20, 48])
C = compute([i: 12, j: 48], reduce [k: 20], sum((A(i, k)*B(k, j))))
arguments A B C
outputs C
)"},
    {"gemm of odd sizes, bias and relu", R"(te 1
A = placeholder(int32, [13, 7])
B = placeholder(int32, [7, 37])
bias = placeholder(int32, [37])
C = compute([i: 13, j: 37], reduce [k: 7], sum((A(i, k)*B(k, j))))
D = compute([i: 13, j: 37], (C(i, j) + bias(j)))
E = compute([i: 13, j: 37], max(D(i, j), 0))
arguments A B bias E
outputs E
)"},
    {"three operands that nobody named", R"(te 1
A = placeholder(int32, [10, 9, 8])
B = placeholder(int32, [8, 16])
W = placeholder(int32, [9, 16])
C = compute([a: 10, d: 16], reduce [b: 9, c: 8], sum(((A(a, b, c)*B(c, d))*W(b, d))))
arguments A B W C
outputs C
)"},
    {"padded convolution", R"(te 1
x = placeholder(int32, [1, 4, 9, 14])
w = placeholder(int32, [6, 4, 3, 3])
p = compute([n: 1, c: 4, y: 11, z: 16], tvm_if_then_else(((((1 <= y) && (y < 10)) && (1 <= z)) && (z < 15)), x(n, c, (y - 1), (z - 1)), 0))
o = compute([n: 1, f: 6, y: 9, z: 14], reduce [c: 4, i: 3, j: 3], sum((p(n, c, (y + i), (z + j))*w(f, c, i, j))))
arguments x w o
outputs o
)"},
    {"convolution with windows of one element, biased", R"(te 1
x = placeholder(int32, [1, 5, 6, 21])
w = placeholder(int32, [9, 5, 1, 1], constant)
b = placeholder(int32, [9], constant)
o = compute([n: 1, f: 9, y: 6, z: 21], reduce [c: 5, i: 1, j: 1], sum((x(n, c, (y + i), (z + j))*w(f, c, i, j))))
s = compute([n: 1, f: 9, y: 6, z: 21], (o(n, f, y, z) + b(f)))
r = compute([n: 1, f: 9, y: 6, z: 21], max(s(n, f, y, z), 0))
arguments x w b r
outputs r
)"},
    {"convolution of channels in blocks, padded, biased", R"(te 1
x = placeholder(int32, [1, 2, 5, 9, 4])
w = placeholder(int32, [3, 2, 3, 3, 4, 16], constant)
b = placeholder(int32, [3, 1, 1, 16], constant)
p = compute([n: 1, c: 2, y: 7, z: 11, l: 4], tvm_if_then_else(((((1 <= y) && (y < 6)) && (1 <= z)) && (z < 10)), x(n, c, (y - 1), (z - 1), l), 0))
o = compute([n: 1, f: 3, y: 5, z: 9, g: 16], reduce [c: 2, i: 3, j: 3, l: 4], sum((p(n, c, (y + i), (z + j), l)*w(f, c, i, j, l, g))))
s = compute([n: 1, f: 3, y: 5, z: 9, g: 16], (o(n, f, y, z, g) + b(f, 0, 0, g)))
r = compute([n: 1, f: 3, y: 5, z: 9, g: 16], max(s(n, f, y, z, g), 0))
arguments x w b r
outputs r
)"},
    {"depthwise, strided", R"(te 1
x = placeholder(int32, [1, 6, 17, 17])
w = placeholder(int32, [6, 3, 3])
o = compute([n: 1, c: 6, y: 8, z: 8], reduce [i: 3, j: 3], sum((x(n, c, ((y*2) + i), ((z*2) + j))*w(c, i, j))))
r = compute([n: 1, c: 6, y: 8, z: 8], max(o(n, c, y, z), 0))
arguments x w r
outputs r
)"},
    {"padded depthwise", R"(te 1
x = placeholder(int32, [1, 5, 7, 14])
w = placeholder(int32, [5, 3, 3], constant)
p = compute([n: 1, c: 5, y: 9, z: 16], tvm_if_then_else(((((1 <= y) && (y < 8)) && (1 <= z)) && (z < 15)), x(n, c, (y - 1), (z - 1)), 0))
o = compute([n: 1, c: 5, y: 7, z: 14], reduce [i: 3, j: 3], sum((p(n, c, (y + i), (z + j))*w(c, i, j))))
arguments x w o
outputs o
)"},
    {"padded depthwise, strided", R"(te 1
x = placeholder(int32, [1, 5, 14, 15])
w = placeholder(int32, [5, 3, 3])
p = compute([n: 1, c: 5, y: 16, z: 17], tvm_if_then_else(((((1 <= y) && (y < 15)) && (1 <= z)) && (z < 16)), x(n, c, (y - 1), (z - 1)), 7))
o = compute([n: 1, c: 5, y: 7, z: 8], reduce [i: 3, j: 3], max((p(n, c, ((y*2) + i), ((z*2) + j))*w(c, i, j))))
arguments x w o
outputs o
)"},
    {"strided convolution with constant weights", R"(te 1
x = placeholder(int32, [1, 3, 15, 15])
w = placeholder(int32, [20, 3, 3, 3], constant)
p = compute([n: 1, c: 3, y: 17, z: 17], tvm_if_then_else(((((1 <= y) && (y < 16)) && (1 <= z)) && (z < 16)), x(n, c, (y - 1), (z - 1)), 0))
o = compute([n: 1, f: 20, y: 8, z: 8], reduce [c: 3, i: 3, j: 3], sum((p(n, c, ((y*2) + i), ((z*2) + j))*w(f, c, i, j))))
r = compute([n: 1, f: 20, y: 8, z: 8], max(o(n, f, y, z), 0))
arguments x w r
outputs r
)"},
    {"product of bytes, requantized", R"(te 1
A = placeholder(uint8, [13, 30])
B = placeholder(int8, [30, 37], constant)
C = compute([i: 13, j: 37], reduce [k: 30], sum((int32(A(i, k))*int32(B(k, j)))))
D = compute([i: 13, j: 37], saturating_cast<int8>((C(i, j) - 3)))
arguments A B D
outputs D
)"},
    {"product of signed bytes, weights in rows", R"(te 1
A = placeholder(int8, [24, 64])
W = placeholder(int8, [48, 64], constant)
C = compute([i: 24, j: 48], reduce [k: 64], sum((int32(A(i, k))*int32(W(j, k)))))
arguments A W C
outputs C
)"},
    {"product of bytes in whole tiles", R"(te 1
A = placeholder(uint8, [32, 128])
B = placeholder(int8, [128, 48], constant)
C = compute([i: 32, j: 48], reduce [k: 128], sum((int32(A(i, k))*int32(B(k, j)))))
arguments A B C
outputs C
)"},
    {"product of computed bytes and those of another, biased", R"(te 1
X = placeholder(int8, [16, 64])
B = placeholder(uint8, [40, 64])
bias = placeholder(int32, [40])
A = compute([i: 16, k: 64], max(X(i, k), int8(0)))
C = compute([i: 16, j: 40], reduce [k: 64], sum((int32(A(i, k))*int32(B(j, k)))))
D = compute([i: 16, j: 40], (C(i, j) + bias(j)))
arguments X B bias D
outputs D
)"},
    {"products of bfloat16, batched", R"(te 1
A = placeholder(bfloat16, [2, 9, 21])
B = placeholder(bfloat16, [2, 21, 40])
C = compute([b: 2, i: 9, j: 40], reduce [k: 21], sum((float32(A(b, i, k))*float32(B(b, k, j)))))
arguments A B C
outputs C
)"},
    {"products of bfloat16 in whole tiles, batched", R"(te 1
A = placeholder(bfloat16, [2, 16, 64])
B = placeholder(bfloat16, [2, 64, 48])
C = compute([b: 2, i: 16, j: 48], reduce [k: 64], sum((float32(A(b, i, k))*float32(B(b, k, j)))))
arguments A B C
outputs C
)"},
    {"product of bytes, nothing constant", R"(te 1
A = placeholder(uint8, [11, 19])
B = placeholder(int8, [19, 53])
C = compute([i: 11, j: 53], reduce [k: 19], sum((int32(A(i, k))*int32(B(k, j)))))
arguments A B C
outputs C
)"},
    {"convolution of bytes with windows of one element", R"(te 1
x = placeholder(uint8, [2, 10, 5, 18])
w = placeholder(int8, [17, 10, 1, 1], constant)
o = compute([n: 2, f: 17, y: 5, z: 18], reduce [c: 10, i: 1, j: 1], sum((int32(x(n, c, (y + i), (z + j)))*int32(w(f, c, i, j)))))
arguments x w o
outputs o
)"},
    {"padded convolution of bytes, requantized", R"(te 1
x = placeholder(uint8, [2, 6, 9, 20])
w = placeholder(int8, [20, 6, 3, 3], constant)
bias = placeholder(int32, [20], constant)
p = compute([n: 2, c: 6, y: 11, z: 22], tvm_if_then_else(((((1 <= y) && (y < 10)) && (1 <= z)) && (z < 21)), x(n, c, (y - 1), (z - 1)), (uint8)0))
o = compute([n: 2, f: 20, y: 9, z: 20], reduce [c: 6, i: 3, j: 3], sum((int32(p(n, c, (y + i), (z + j)))*int32(w(f, c, i, j)))))
b = compute([n: 2, f: 20, y: 9, z: 20], (o(n, f, y, z) + bias(f)))
r = compute([n: 2, f: 20, y: 9, z: 20], saturating_cast<uint8>(b(n, f, y, z)))
arguments x w bias r
outputs r
)"},
    {"strided convolution of signed bytes that are computed", R"(te 1
x = placeholder(int32, [1, 3, 9, 21])
w = placeholder(int8, [24, 3, 2, 2], constant)
q = compute([n: 1, c: 3, y: 9, z: 21], saturating_cast<int8>((x(n, c, y, z)*3)))
o = compute([n: 1, f: 24, y: 4, z: 10], reduce [c: 3, i: 2, j: 2], sum((int32(q(n, c, ((y*2) + i), ((z*2) + j)))*int32(w(f, c, i, j)))))
arguments x w o
outputs o
)"},
    {"elementwise chain", R"(te 1
A = placeholder(int32, [5, 33])
B = compute([i: 5, j: 33], (A(i, j)*3))
C = compute([i: 5, j: 33], max((B(i, j) - 4), A(i, j)))
arguments A C
outputs C
)"},
    {"row sums", R"(te 1
A = placeholder(int32, [24, 50])
S = compute([i: 24], reduce [k: 50], sum(A(i, k)))
arguments A S
outputs S
)"},
    {"sums of images, whose rows lie behind one another", R"(te 1
A = placeholder(int32, [5, 3, 7, 9])
S = compute([n: 5, c: 3], reduce [y: 7, x: 9], sum(A(n, c, y, x)))
arguments A S
outputs S
)"},
    {"greatest bytes of windows, in rows that end inside of a vector", R"(te 1
A = placeholder(uint8, [3, 9, 43])
M = compute([c: 3, y: 4, x: 21], reduce [v: 3, u: 3], max(A(c, ((y*2) + v), ((x*2) + u))))
arguments A M
outputs M
)"},
    {"column maxima, then a difference", R"(te 1
A = placeholder(int32, [30, 40])
M = compute([j: 40], reduce [k: 30], max(A(k, j)))
D = compute([i: 30, j: 40], (A(i, j) - M(j)))
arguments A D
outputs D
)"},
    {"two outputs that share a stage", R"(te 1
A = placeholder(int32, [8, 24])
B = compute([i: 8, j: 24], (A(i, j) + 7))
C = compute([i: 8, j: 24], (B(i, j)*2))
D = compute([i: 8], reduce [k: 24], sum(B(i, k)))
arguments A C D
outputs C D
)"},
    {"two products in a row", R"(te 1
A = placeholder(int32, [8, 12])
B = placeholder(int32, [12, 16])
W = placeholder(int32, [16, 20])
C = compute([i: 8, j: 16], reduce [k: 12], sum((A(i, k)*B(k, j))))
D = compute([i: 8, j: 20], reduce [k: 16], sum((C(i, k)*W(k, j))))
arguments A B W D
outputs D
)"},
    {"tall sum", R"(te 1
A = placeholder(int32, [300, 3])
S = compute([j: 3], reduce [i: 300], sum(A(i, j)))
arguments A S
outputs S
)"},
    {"vector times matrix", R"(te 1
v = placeholder(int32, [1, 70])
B = placeholder(int32, [70, 40])
y = compute([i: 1, j: 40], reduce [k: 70], sum((v(i, k)*B(k, j))))
arguments v B y
outputs y
)"},
    {"long whole sum", R"(te 1
A = placeholder(int32, [2, 77])
S = compute([], reduce [i: 2, j: 77], sum(A(i, j)))
arguments A S
outputs S
)"},
    {"variances of rows", R"(te 1
A = placeholder(int32, [21, 40])
M = compute([i: 21], reduce [k: 40], sum(A(i, k)))
V = compute([i: 21], reduce [k: 40], sum(((A(i, k) - M(i))*(A(i, k) - M(i)))))
D = compute([i: 21, j: 40], ((A(i, j) - M(i))*V(i)))
arguments A D
outputs D
)"},
    {"shares of rows", R"(te 1
A = placeholder(int32, [18, 33])
M = compute([i: 18], reduce [k: 33], max(A(i, k)))
E = compute([i: 18, j: 33], ((A(i, j) - M(i))*3))
S = compute([i: 18], reduce [k: 33], sum(E(i, k)))
D = compute([i: 18, j: 33], (E(i, j)*S(i)))
arguments A D
outputs D
)"},
    {"transposition", R"(te 1
A = placeholder(int32, [19, 40])
B = compute([i: 40, j: 19], A(j, i))
arguments A B
outputs B
)"},
    {"axes in another order, and sums of them", R"(te 1
A = placeholder(int32, [8, 3, 24])
B = placeholder(int32, [24])
C = compute([i: 24, j: 3, k: 8], ((A(k, j, i)*2) + B(i)))
S = compute([j: 3, k: 8], reduce [i: 24], sum(C(i, j, k)))
D = compute([i: 24, j: 3, k: 8], (C(i, j, k) - S(j, k)))
arguments A B D
outputs D
)"},
    {"whole sum", R"(te 1
A = placeholder(int32, [19, 3])
S = compute([], reduce [i: 19, j: 3], sum(A(i, j)))
arguments A S
outputs S
)"},
    {"shares of a whole", R"(te 1
A = placeholder(int32, [70])
M = compute([], reduce [k: 70], max(A(k)))
E = compute([i: 70], ((A(i) - M())*3))
S = compute([], reduce [k: 70], sum(E(k)))
D = compute([i: 70], (E(i)*S()))
arguments A D
outputs D
)"},
    {"padded convolution of groups, packed by images", R"(te 1
x = placeholder(int32, [8, 3, 9, 6])
w = placeholder(int32, [6, 2, 2])
p = compute([n: 8, c: 3, y: 11, z: 8], tvm_if_then_else(((((1 <= y) && (y < 10)) && (1 <= z)) && (z < 7)), x(n, c, (y - 1), (z - 1)), 0))
o = compute([n: 8, f: 6, y: 5, z: 4], reduce [i: 2, j: 2], sum((p(n, floordiv(f, 2), ((y*2) + i), ((z*2) + j))*w(f, i, j))))
arguments x w o
outputs o
)"},
    {"matrix times vector", R"(te 1
A = placeholder(int32, [40, 64])
v = placeholder(int32, [64])
y = compute([i: 40], reduce [k: 64], sum((A(i, k)*v(k))))
arguments A v y
outputs y
)"},
    {"sum of two products", R"(te 1
A = placeholder(int32, [13, 20])
B = placeholder(int32, [20, 37])
C = placeholder(int32, [13, 11])
D = placeholder(int32, [37, 11], constant)
P = compute([i: 13, j: 37], reduce [k: 20], sum((A(i, k)*B(k, j))))
Q = compute([i: 13, j: 37], reduce [k: 11], sum((C(i, k)*D(j, k))))
S = compute([i: 13, j: 37], (P(i, j) + Q(i, j)))
arguments A B C D S
outputs S
)"},
    {"product gated by another of the same rows", R"(te 1
X = placeholder(int32, [12, 18])
W = placeholder(int32, [18, 40], constant)
V = placeholder(int32, [18, 40], constant)
b = placeholder(int32, [40])
c = placeholder(int32, [40])
P = compute([i: 12, j: 40], reduce [k: 18], sum((X(i, k)*W(k, j))))
Q = compute([i: 12, j: 40], reduce [k: 18], sum((X(i, k)*V(k, j))))
R = compute([i: 12, j: 40], (P(i, j) + b(j)))
S = compute([i: 12, j: 40], (Q(i, j) + c(j)))
T = compute([i: 12, j: 40], max(S(i, j), 0))
G = compute([i: 12, j: 40], (R(i, j)*T(i, j)))
arguments X W V b c G
outputs G
)"},
    {"residual block of two convolutions", R"(te 1
x = placeholder(int32, [1, 5, 7, 14])
v = placeholder(int32, [6, 5, 3, 3])
a = placeholder(int32, [6])
w = placeholder(int32, [5, 6, 3, 3])
b = placeholder(int32, [5])
p = compute([n: 1, c: 5, y: 9, z: 16], tvm_if_then_else(((((1 <= y) && (y < 8)) && (1 <= z)) && (z < 15)), x(n, c, (y - 1), (z - 1)), 0))
o = compute([n: 1, f: 6, y: 7, z: 14], reduce [c: 5, i: 3, j: 3], sum((p(n, c, (y + i), (z + j))*v(f, c, i, j))))
s = compute([n: 1, f: 6, y: 7, z: 14], (o(n, f, y, z) + a(f)))
r = compute([n: 1, f: 6, y: 7, z: 14], max(s(n, f, y, z), 0))
q = compute([n: 1, c: 6, y: 9, z: 16], tvm_if_then_else(((((1 <= y) && (y < 8)) && (1 <= z)) && (z < 15)), r(n, c, (y - 1), (z - 1)), 0))
u = compute([n: 1, f: 5, y: 7, z: 14], reduce [c: 6, i: 3, j: 3], sum((q(n, c, (y + i), (z + j))*w(f, c, i, j))))
t = compute([n: 1, f: 5, y: 7, z: 14], (u(n, f, y, z) + b(f)))
m = compute([n: 1, f: 5, y: 7, z: 14], (t(n, f, y, z) + x(n, f, y, z)))
arguments x v a w b m
outputs m
)"},
    {"convolution beside a shortcut that is convolved", R"(te 1
x = placeholder(int32, [1, 4, 6, 18])
w = placeholder(int32, [7, 4, 3, 3], constant)
v = placeholder(int32, [7, 4, 1, 1], constant)
p = compute([n: 1, c: 4, y: 8, z: 20], tvm_if_then_else(((((1 <= y) && (y < 7)) && (1 <= z)) && (z < 19)), x(n, c, (y - 1), (z - 1)), 0))
o = compute([n: 1, f: 7, y: 6, z: 18], reduce [c: 4, i: 3, j: 3], sum((p(n, c, (y + i), (z + j))*w(f, c, i, j))))
q = compute([n: 1, f: 7, y: 6, z: 18], reduce [c: 4, i: 1, j: 1], sum((x(n, c, (y + i), (z + j))*v(f, c, i, j))))
s = compute([n: 1, f: 7, y: 6, z: 18], (o(n, f, y, z) + q(n, f, y, z)))
r = compute([n: 1, f: 7, y: 6, z: 18], max(s(n, f, y, z), 0))
arguments x w v r
outputs r
)"},
    {"products that meet one after the other, and again", R"(te 1
X = placeholder(int32, [16, 24])
U = placeholder(int32, [24, 32])
V = placeholder(int32, [24, 32])
W = placeholder(int32, [12, 32])
Y = placeholder(int32, [16, 12])
Z = compute([i: 16, k: 24], max(X(i, k), 0))
P = compute([i: 16, j: 32], reduce [k: 24], sum((Z(i, k)*U(k, j))))
Q = compute([i: 16, j: 32], reduce [k: 24], sum((Z(i, k)*V(k, j))))
R = compute([i: 16, j: 32], reduce [k: 12], sum((Y(i, k)*W(k, j))))
a = compute([i: 16, j: 32], (P(i, j) - Q(i, j)))
b = compute([i: 16, j: 32], max(a(i, j), 0))
c = compute([i: 16, j: 32], (b(i, j)*a(i, j)))
d = compute([i: 16, j: 32], (c(i, j) + R(i, j)))
arguments X U V W Y d
outputs d
)"},
    {"bytes made of sums of bytes, which another product takes apart", R"(te 1
x = placeholder(uint8, [1, 8, 5, 20])
w = placeholder(int8, [8, 8, 1, 1], constant)
v = placeholder(int8, [20, 8, 3, 3], constant)
o = compute([n: 1, f: 8, y: 5, z: 20], reduce [c: 8, i: 1, j: 1], sum((int32(x(n, c, (y + i), (z + j)))*int32(w(f, c, i, j)))))
q = compute([n: 1, f: 8, y: 5, z: 20], saturating_cast<uint8>(o(n, f, y, z)))
u = compute([n: 1, f: 20, y: 3, z: 18], reduce [c: 8, i: 3, j: 3], sum((int32(q(n, c, (y + i), (z + j)))*int32(v(f, c, i, j)))))
arguments x w v u
outputs u
)"},
    {"sums of nothing, biased, beside what has no elements", R"(te 1
A = placeholder(int32, [12, 0])
B = placeholder(int32, [0, 48])
bias = placeholder(int32, [48])
C = compute([i: 12, j: 48], reduce [k: 0], sum((A(i, k)*B(k, j))))
D = compute([i: 12, j: 48], max((C(i, j) + bias(j)), 0))
E = compute([i: 12, k: 0], (A(i, k)*2))
arguments A B bias D E
outputs D E
)"},
    {"a convolution beside an empty one", R"(te 1
x = placeholder(int32, [2, 4, 9, 14])
w = placeholder(int32, [6, 4, 3, 3], constant)
y = placeholder(int32, [0, 4, 9, 14])
p = compute([n: 2, f: 6, y: 7, z: 12], reduce [c: 4, i: 3, j: 3], sum((x(n, c, (y + i), (z + j))*w(f, c, i, j))))
q = compute([n: 0, f: 6, y: 7, z: 12], reduce [c: 4, i: 3, j: 3], sum((y(n, c, (y + i), (z + j))*w(f, c, i, j))))
r = compute([n: 2, f: 6, y: 7, z: 12], tvm_if_then_else((n < 0), q(n, f, y, z), p(n, f, y, z)))
s = compute([n: 2, f: 6, y: 7, z: 12], max(r(n, f, y, z), 0))
arguments x w y s
outputs s
)"},
    {"a recurrent cell, and what follows it", R"(te 1
X = placeholder(int32, [5, 3, 20])
W = placeholder(int32, [20, 20])
S = placeholder(int32, [5, 3, 20])
begin = compute([t: 1, b: 3, j: 20], X(0, b, j))
h = compute([t: 5, b: 3, j: 20], reduce [k: 20], sum((S((t - 1), b, k)*W(j, k))))
g = compute([t: 5, b: 3, j: 20], (h(t, b, j) + X(t, b, j)))
u = compute([t: 5, b: 3, j: 20], max(min(g(t, b, j), 50), -50))
R = scan(init=[begin], update=[u], state=[S], inputs=[X])
D = compute([t: 5, b: 3, j: 20], max((R(t, b, j) + X(t, b, j)), 0))
arguments X W D
outputs D
)"},
    {"a cell of two states with gates, of which one is used", R"(te 1
X = placeholder(int32, [4, 2, 4, 18])
W = placeholder(int32, [4, 18, 18])
hs = placeholder(int32, [4, 2, 18])
cs = placeholder(int32, [4, 2, 18])
hi = compute([t: 1, b: 2, j: 18], 1)
ci = compute([t: 1, b: 2, j: 18], j)
p = compute([t: 4, b: 2, x: 4, j: 18], reduce [k: 18], sum((hs((t - 1), b, k)*W(x, j, k))))
g = compute([t: 4, b: 2, x: 4, j: 18], max(min((p(t, b, x, j) + X(t, b, x, j)), 30), -30))
c = compute([t: 4, b: 2, j: 18], ((g(t, b, 0, j)*cs((t - 1), b, j)) + (g(t, b, 1, j)*g(t, b, 2, j))))
cu = compute([t: 4, b: 2, j: 18], max(min(c(t, b, j), 40), -40))
hu = compute([t: 4, b: 2, j: 18], max(min((g(t, b, 3, j)*c(t, b, j)), 40), -40))
R = scan(init=[hi, ci], update=[hu, cu], state=[hs, cs], inputs=[X])
arguments X W R.v0
outputs R.v0
)"},
    {"sums beside a scan of one column, and greatest elements with their places", R"(te 1
X = placeholder(int32, [9])
Y = placeholder(int32, [9, 33])
S = placeholder(int32, [9])
begin = compute([t: 1], X(0))
u = compute([t: 9], (S((t - 1)) + X(t)))
R = scan(init=[begin], update=[u], state=[S])
T = compute([i: 9], reduce [k: 33], reduce(identity=[-1, -1000], lhs=[a0, a1], rhs=[b0, b1], result=[select((a1 >= b1), a0, b0), max(a1, b1)], source=[k, Y(i, k)]))
D = compute([i: 9], (R(i) + T.v1(i)))
arguments X Y D
outputs D
)"},
    {"places of the greatest elements of rows", R"(te 1
A = placeholder(int32, [5, 70])
T = compute([i: 5], reduce [k: 70], reduce(identity=[2147483647, -2147483648], lhs=[a0, a1], rhs=[b0, b1], result=[select(((a1 > b1) || ((a1 == b1) && (a0 < b0))), a0, b0), max(a1, b1)], source=[k, A(i, k)]))
P = compute([i: 5], T.v0(i))
arguments A P
outputs P
)"},
    {"triangle by a vector", R"(te 1
A = placeholder(int32, [40, 40])
x = placeholder(int32, [40])
y = compute([i: 40], reduce [k: (i + 1)], sum((A(i, k)*x(k))))
arguments A x y
outputs y
)"},
    {"triangle by a matrix, relu", R"(te 1
A = placeholder(int32, [24, 24])
B = placeholder(int32, [24, 37])
C = compute([i: 24, j: 37], reduce [k: (i, (24 - i))], sum((A(i, k)*B(k, j))))
D = compute([i: 24, j: 37], max(C(i, j), 0))
arguments A B D
outputs D
)"},
    {"triangles whose rows stand last, halved", R"(te 1
A = placeholder(int32, [3, 33])
P = compute([b: 3, k: 33], (A(b, k)*3))
C = compute([b: 3, i: 33], reduce [k: (i + 1)], sum(P(b, k)))
D = compute([b: 3, i: 33], (C(b, i) - P(b, i)))
arguments A D
outputs D
)"},
    {"band of two axes, the greatest", R"(te 1
A = placeholder(int32, [22, 18, 3])
B = compute([i: 18, j: 18], reduce [k: (i, 4), c: 3], max(A(k, j, c)))
arguments A B
outputs B
)"},
    {"rows of a sparse matrix by a vector", R"(te 1
N = placeholder(int32, [20])
K = placeholder(int32, [80])
V = placeholder(int32, [80])
x = placeholder(int32, [19])
S = compute([i: 20], floormod((N(i)*N(i)), 23))
W = compute([i: 20], floormod(N(i), 50))
c = compute([e: 80], floormod(K(e), 19))
y = compute([i: 20], reduce [k: W(i)], sum((V((S(i) + k))*x(c((S(i) + k))))))
z = compute([i: 20], max(y(i), 0))
arguments N K V x z
outputs z
)"},
    {"rows of a sparse matrix by a matrix", R"(te 1
N = placeholder(int32, [20])
K = placeholder(int32, [80])
V = placeholder(int32, [80])
X = placeholder(int32, [19, 35])
S = compute([i: 20], floormod((N(i)*N(i)), 23))
W = compute([i: 20], floormod(N(i), 50))
c = compute([e: 80], floormod(K(e), 19))
y = compute([i: 20, j: 35], reduce [k: (S(i), W(i))], sum((V(k)*X(c(k), j))))
z = compute([i: 20, j: 35], max(y(i, j), 0))
arguments N K V X z
outputs z
)"},
    {"product stored transposed, biased by row", R"(te 1
A = placeholder(int32, [12, 20])
B = placeholder(int32, [20, 37])
bias = placeholder(int32, [37])
C = compute([i: 12, j: 37], reduce [k: 20], sum((A(i, k)*B(k, j))))
D = compute([i: 12, j: 37], (C(i, j) + bias(j)))
T = compute([j: 37, i: 12], (D(i, j)*D(i, j)))
E = compute([j: 37, i: 12], max(T(j, i), 0))
arguments A B bias E
outputs E
)"},
    {"convolution stored with channels last, and one of those positions only", R"(te 1
x = placeholder(int32, [2, 5, 6, 7])
w = placeholder(int32, [18, 5, 1, 1], constant)
r = placeholder(int32, [2, 6, 7, 18])
o = compute([n: 2, f: 18, y: 6, z: 7], reduce [c: 5, i: 1, j: 1], sum((x(n, c, (y + i), (z + j))*w(f, c, i, j))))
t = compute([n: 2, y: 6, z: 7, f: 18, one: 1], (o(n, f, y, z) + r(n, y, z, f)))
arguments x w r t
outputs t
)"},
    {"copies of an image behind one another", R"(te 1
x = placeholder(int32, [3, 5, 37])
t = compute([c: 3, i: 20, j: 37], (x(c, floormod(i, 5), j) + floormod(i, 5)))
arguments x t
outputs t
)"},
    {"gradient of a weight", R"(te 1
g = placeholder(int32, [2, 6, 5, 4])
x = placeholder(int32, [2, 17, 7, 6])
l = compute([n: 2, y: 7, z: 6, c: 17], x(n, c, y, z))
s = compute([i: 3, j: 3, f: 6, c: 17], reduce [n: 2, y: 5, z: 4], sum((g(n, f, y, z)*l(n, (y + i), (z + j), c))))
w = compute([f: 6, c: 17, i: 3, j: 3], s(i, j, f, c))
arguments g x w
outputs w
)"},
    {"terms that have an order", R"(te 1
A = placeholder(int32, [12, 40])
B = placeholder(int32, [40, 18])
H = compute([i: 12], reduce [k: 40], reduce(identity=[0], lhs=[x], rhs=[y], result=[floormod(((x*2) + y), 1000)], source=[A(i, k)]))
M = compute([i: 12, j: 18], reduce [k: 10, l: 4], reduce(identity=[0], lhs=[x], rhs=[y], result=[floormod(((x*3) + y), 1000)], source=[(A(i, ((k*4) + l))*B(((k*4) + l), j))]))
D = compute([i: 12], reduce [k: 40], reduce(identity=[0], lhs=[x], rhs=[y], result=[(x - y)], source=[A(i, k)]))
arguments A B H M D
outputs H M D
)"},
};

}  // namespace tw::test
