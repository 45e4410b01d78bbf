// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/linalg/matmul.h"

namespace mge::to_onnx {
namespace {

constexpr size_t bias = 2, residual = 3;

Operand swapped(Site& s, size_t i, bool is_swapped) {
    if (!is_swapped || s.rank(i) < 2) return s.in(i);
    IntList pattern(size_t(s.rank(i)));
    std::iota(pattern.begin(), pattern.end(), 0);
    std::swap(pattern[pattern.size() - 1], pattern[pattern.size() - 2]);
    return s.transpose(s.in(i), pattern);
}

Operands export_matmul(Site& s) {
    auto& p = s.params<ops::Matmul>();
    bool are_matrices = s.spec(0).shape.rank() == 2 && s.spec(1).shape.rank() == 2;
    bool are_bytes = s.out().dtype == DType::i32 && size_of(s.dtype()) == 1;
    if (are_matrices && is_float(s.dtype()) && (p.transpose_a || p.transpose_b || s.has(bias))) {
        Operand y = s.emit("Gemm", {s.in(0), s.in(1), s.in(bias)},
                           {{"transA", int64_t(p.transpose_a)}, {"transB", int64_t(p.transpose_b)}});
        return {with_epilogue(s, y, p.activation)};
    }
    // ONNX has no products of integers of two bytes.
    auto factor = [&](size_t i, bool is_swapped) {
        Operand x = swapped(s, i, is_swapped);
        return are_bytes ? x : s.cast(x, s.dtype(i), s.out().dtype);
    };
    Operand y =
        s.emit(are_bytes ? "MatMulInteger" : "MatMul", {factor(0, p.transpose_a), factor(1, p.transpose_b)});
    if (s.has(bias)) y = s.emit("Add", {y, s.cast(s.in(bias), s.dtype(bias), s.out().dtype)});
    return {with_epilogue(s, y, p.activation)};
}

}  // namespace

Operand with_epilogue(Site& s, Operand y, Activation activation) {
    if (s.has(residual)) y = s.emit("Add", {y, s.cast(s.in(residual), s.dtype(residual), s.out().dtype)});
    return activated(s, activation, y, s.out().dtype);
}

ExportRows matmul_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::Matmul::info, export_matmul, "MatMul"},
    };
    return rows;
}

}  // namespace mge::to_onnx
