// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/linalg/matinv.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

// The rows of [x | 1], which become [1 | x⁻¹].
struct Rows {
    int64_t n;
    std::vector<double> values = std::vector<double>(size_t(2 * n * n));
    double* row(int64_t i) { return values.data() + 2 * n * i; }
};

// False when the matrix has no inverse.
bool eliminate(Rows& rows) {
    int64_t n = rows.n, width = 2 * n;
    for (int64_t column = 0; column < n; ++column) {
        int64_t pivot = column;
        for (int64_t i = column + 1; i < n; ++i)
            if (std::abs(rows.row(i)[column]) > std::abs(rows.row(pivot)[column])) pivot = i;
        double* top = rows.row(pivot);
        if (top[column] == 0) return false;
        std::swap_ranges(top, top + width, rows.row(column));
        top = rows.row(column);
        double factor = 1 / top[column];
        for (int64_t j = column; j < width; ++j) top[j] *= factor;
        for (int64_t i = 0; i < n; ++i) {
            double share = rows.row(i)[column];
            if (i == column || share == 0) continue;
            for (int64_t j = column; j < width; ++j) rows.row(i)[j] -= share * top[j];
        }
    }
    return true;
}

template <class T>
void invert(const T* x, T* y, int64_t n, int64_t matrix) {
    Rows rows{n};
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) rows.row(i)[j] = float(x[i * n + j]);
        rows.row(i)[n + i] = 1;
    }
    if (!eliminate(rows)) throw_user(Matinv::name, text("matrix ", matrix, " of x is singular"));
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) y[i * n + j] = T(float(rows.row(i)[n + j]));
}

void run_elimination(const Prepared& prepared, const Launch& launch) {
    auto& x = prepared.state<ProblemState<NoParams>>().inputs[0];
    int64_t n = x.shape[x.shape.rank() - 1], size = n * n;
    dispatch_dtype(x.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        for (int64_t i = 0; size && i < x.numel() / size; ++i)
            invert(launch.in<T>(0) + i * size, launch.out<T>(0) + i * size, n, i);
    });
}

}  // namespace

KernelList kernels(Cpu, Matinv) {
    return one_algorithm<copy_problem<NoParams>, run_elimination>("elimination");
}

}  // namespace mge::ops
