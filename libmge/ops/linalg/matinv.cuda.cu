// SPDX-License-Identifier: Apache-2.0
// Gauss-Jordan elimination: a block of threads computes [1 | x⁻¹] from the rows of [x | 1], column by column.
// Finished columns are not read again, so they are not written.

#include "libmge/ops/linalg/matinv.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {
namespace {

constexpr int lanes = 32;

struct Rows {
    double* values;
    int64_t n;
    MGE_DEVICE double* row(int64_t i) const { return values + 2 * n * i; }
};

// The row with the largest element, from `column` on; the first of them. For a whole warp.
MGE_DEVICE int64_t find_pivot(const Rows& rows, int64_t column) {
    int64_t best = column;
    double largest = fabs(rows.row(column)[column]);
    for (int64_t i = column + 1 + int(threadIdx.x) % lanes; i < rows.n; i += lanes) {
        double value = fabs(rows.row(i)[column]);
        if (value > largest) {
            largest = value;
            best = i;
        }
    }
    for (int distance = lanes / 2; distance; distance /= 2) {
        double other = __shfl_xor_sync(~0u, largest, distance);
        auto at = int64_t(__shfl_xor_sync(~0u, (long long)(best), distance));
        if (other > largest || (other == largest && at < best)) {
            largest = other;
            best = at;
        }
    }
    return best;
}

// Puts the pivot's row in its place, divided by the pivot.
MGE_DEVICE void swap_rows(const Rows& rows, int64_t column, int64_t pivot, double factor) {
    double *top = rows.row(column), *from = rows.row(pivot);
    for (int64_t j = column + int(threadIdx.x); j < 2 * rows.n; j += int(blockDim.x)) {
        double value = from[j];
        from[j] = top[j];
        top[j] = value * factor;
    }
}

// Takes the pivot's row from all others: a warp for each.
MGE_DEVICE void eliminate(const Rows& rows, int64_t column) {
    const double* top = rows.row(column);
    for (int64_t i = int(threadIdx.x) / lanes; i < rows.n; i += int(blockDim.x) / lanes) {
        double* row = rows.row(i);
        double share = row[column];
        if (i == column || share == 0) continue;
        for (int64_t j = column + 1 + int(threadIdx.x) % lanes; j < 2 * rows.n; j += lanes)
            row[j] -= share * top[j];
    }
}

// False for all threads when the matrix has no inverse.
MGE_DEVICE bool invert(const Rows& rows) {
    __shared__ int64_t pivot_row;
    for (int64_t column = 0; column < rows.n; ++column) {
        if (threadIdx.x < lanes) {
            int64_t found = find_pivot(rows, column);
            if (threadIdx.x == 0) pivot_row = found;
        }
        __syncthreads();
        int64_t pivot = pivot_row;
        double value = rows.row(pivot)[column];
        __syncthreads();
        if (value == 0) return false;
        swap_rows(rows, column, pivot, 1 / value);
        __syncthreads();
        eliminate(rows, column);
        __syncthreads();
    }
    return true;
}

template <class T>
__global__ void invert_matrices(MatinvArguments x) {
    int64_t n = x.n, size = n * n;
    Rows rows{x.rows ? x.rows + blockIdx.x * 2 * size : dynamic_shared<double>(), n};
    for (int64_t matrix = blockIdx.x; matrix < x.matrices; matrix += gridDim.x) {
        const T* from = static_cast<const T*>(x.x) + matrix * size;
        T* to = static_cast<T*>(x.y) + matrix * size;
        for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
            int64_t row = i / n, column = i % n;
            rows.row(row)[column] = widen(from[i]);
            rows.row(row)[n + column] = row == column;
        }
        __syncthreads();
        if (!invert(rows) && threadIdx.x == 0) atomicMin(x.first_singular, (long long)(matrix));
        for (int64_t i = threadIdx.x; i < size; i += blockDim.x)
            to[i] = from_float<T>(float(rows.row(i / n)[n + i % n]));
        __syncthreads();
    }
}

}  // namespace

void run_matinv(Stream stream, int type, const MatinvArguments& x) {
    int threads = x.n <= lanes ? 2 * lanes : block_threads;
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        launch(invert_matrices<T>, unsigned(x.blocks), unsigned(threads),
               x.rows ? size_t(0) : size_t(matinv_bytes(x.n)), stream, x);
    });
}

}  // namespace mge::cuda
