// SPDX-License-Identifier: Apache-2.0
// A block has a matrix, its warps pairs of vectors: the columns of the matrix, or of the transposed one where
// it is wide. The order of the pairs is the CPU's (svd.cpu.cpp), and so are the signs of the vectors.
#include "libmge/ops/linalg/svd.cuda.h"

#include "libmge/kernel/cuda/best_first.cuh"
#include "libmge/kernel/cuda/rows.cuh"

namespace mge::cuda {
namespace jacobi {
using ::copysign, ::fabs, ::hypot, ::sqrt;
#define inline __device__ __forceinline__
#include "libmge/kernel/scalar/jacobi.inc"
#undef inline
}  // namespace jacobi

namespace {

constexpr int lanes = 32;

// The memory of a block.
struct Vectors {
    int64_t count, length;
    double *vectors, *turns, *rest, *lengths;
    int64_t* of_rank;

    MGE_DEVICE explicit Vectors(const SvdArguments& x) : count(x.shorter), length(x.longer) {
        vectors = x.memory + blockIdx.x * x.numbers;
        turns = vectors + count * length;
        rest = turns + count * count;
        lengths = rest + length;
        of_rank = reinterpret_cast<int64_t*>(lengths + count);
    }
    MGE_DEVICE double* vector(int64_t i) const { return vectors + i * length; }
    MGE_DEVICE double* turn(int64_t i) const { return turns + i * count; }
};

// For a warp.
MGE_DEVICE double warp_dot(const double* a, const double* b, int64_t n) {
    double sum = 0;
    for (int64_t i = threadIdx.x % lanes; i < n; i += lanes) sum += a[i] * b[i];
    return across_lanes(sum, lanes, Plus());
}
MGE_DEVICE void rotate(double* a, double* b, int64_t n, const jacobi::Turn& turn) {
    for (int64_t i = threadIdx.x % lanes; i < n; i += lanes) {
        double x = a[i], y = b[i];
        a[i] = turn.cosine * x - turn.sine * y;
        b[i] = turn.sine * x + turn.cosine * y;
    }
}
MGE_DEVICE double block_dot(const double* a, const double* b, int64_t n) {
    double sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += a[i] * b[i];
    return across_block(sum, Plus());
}

// Every pair; false for all threads when there was nothing to turn.
MGE_DEVICE bool turn_all(const Vectors& v) {
    int warp = threadIdx.x / lanes, warps = blockDim.x / lanes, has_turned = 0;
    for (int64_t round = 0; round < jacobi::rounds_of(v.count); ++round) {
        for (int64_t number = warp; number < jacobi::pairs_in_round(v.count); number += warps) {
            auto pair = jacobi::pair_of(v.count, round, number);
            if (pair.j >= v.count) continue;
            double *a = v.vector(pair.i), *b = v.vector(pair.j);
            auto turn =
                jacobi::turn_of(warp_dot(a, a, v.length), warp_dot(b, b, v.length), warp_dot(a, b, v.length));
            if (!turn.is_needed) continue;
            rotate(a, b, v.length, turn);
            rotate(v.turn(pair.i), v.turn(pair.j), v.count, turn);
            has_turned = 1;
        }
        __syncthreads();
    }
    return across_block(has_turned, Plus()) != 0;
}

MGE_DEVICE void rank_lengths(const Vectors& v) {
    for (int64_t i = threadIdx.x / lanes; i < v.count; i += blockDim.x / lanes) {
        double length = ::sqrt(warp_dot(v.vector(i), v.vector(i), v.length));
        if (threadIdx.x % lanes == 0) v.lengths[i] = length;
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < v.count; i += blockDim.x) {
        int64_t rank = 0;
        for (int64_t j = 0; j < v.count; ++j) rank += is_before(v.lengths[j], j, v.lengths[i], i);
        v.of_rank[rank] = i;
    }
    __syncthreads();
}

// A unit vector orthogonal to those of lower rank, in the place of one without a direction: of the axes'
// directions the one that they leave most of.
MGE_DEVICE void find_direction(const Vectors& v, int64_t rank) {
    double *best = v.vector(v.of_rank[rank]), largest = 0;
    for (int64_t axis = 0; axis < v.length; ++axis) {
        for (int64_t i = threadIdx.x; i < v.length; i += blockDim.x) v.rest[i] = i == axis;
        __syncthreads();
        for (int64_t k = 0; k < 2 * rank; ++k) {  // the second time takes off what rounding left
            const double* other = v.vector(v.of_rank[k % rank]);
            double share = block_dot(v.rest, other, v.length);
            for (int64_t i = threadIdx.x; i < v.length; i += blockDim.x) v.rest[i] -= share * other[i];
            __syncthreads();
        }
        double size = block_dot(v.rest, v.rest, v.length);
        if (size > largest) {
            largest = size;
            for (int64_t i = threadIdx.x; i < v.length; i += blockDim.x) best[i] = v.rest[i];
        }
        __syncthreads();
    }
    for (int64_t i = threadIdx.x; i < v.length; i += blockDim.x) best[i] /= ::sqrt(largest);
    __syncthreads();
}

MGE_DEVICE void make_unit_vectors(const Vectors& v) {
    for (int64_t rank = 0; rank < v.count; ++rank) {
        int64_t number = v.of_rank[rank];
        double length = v.lengths[number];
        if (length == 0)
            find_direction(v, rank);
        else
            for (int64_t i = threadIdx.x; i < v.length; i += blockDim.x) v.vector(number)[i] /= length;
        __syncthreads();
    }
}

template <class T>
MGE_DEVICE void read_matrix(const Vectors& v, const T* x, int64_t columns, bool is_wide) {
    for (int64_t at = threadIdx.x; at < v.count * v.length; at += blockDim.x) {
        int64_t i = at / v.length, j = at % v.length;
        v.vectors[at] = to_float(x[is_wide ? i * columns + j : j * columns + i]);
    }
    for (int64_t at = threadIdx.x; at < v.count * v.count; at += blockDim.x)
        v.turns[at] = at / v.count == at % v.count;
    __syncthreads();
}

template <class T>
MGE_DEVICE void write_result(const Vectors& v, const SvdArguments& x, int64_t matrix, bool is_wide) {
    T* u = static_cast<T*>(x.u) + matrix * x.rows * v.count;
    T* s = static_cast<T*>(x.s) + matrix * v.count;
    T* to = static_cast<T*>(x.v) + matrix * v.count * x.columns;
    auto element = [&](bool turned, int64_t rank, int64_t i) {
        int64_t number = v.of_rank[rank];
        return from_float<T>(float(turned ? v.turn(number)[i] : v.vector(number)[i]));
    };
    for (int64_t at = threadIdx.x; at < v.count; at += blockDim.x)
        s[at] = from_float<T>(float(v.lengths[v.of_rank[at]]));
    for (int64_t at = threadIdx.x; at < x.rows * v.count; at += blockDim.x)
        u[at] = element(is_wide, at % v.count, at / v.count);
    for (int64_t at = threadIdx.x; at < x.columns * v.count; at += blockDim.x)
        to[at] = element(!is_wide, at / x.columns, at % x.columns);
    __syncthreads();
}

constexpr int most_threads = 2 * block_threads;

template <class T>
__global__ void __launch_bounds__(most_threads) decompose(SvdArguments x) {
    Vectors v(x);
    bool is_wide = x.rows < x.columns;
    for (int64_t matrix = blockIdx.x; matrix < x.matrices; matrix += gridDim.x) {
        read_matrix(v, static_cast<const T*>(x.x) + matrix * x.rows * x.columns, x.columns, is_wide);
        for (int sweep = 0; sweep < jacobi::most_sweeps; ++sweep)
            if (!turn_all(v)) break;
        rank_lengths(v);
        make_unit_vectors(v);
        write_result<T>(v, x, matrix, is_wide);
    }
}

}  // namespace

void run_svd(Stream stream, int type, const SvdArguments& x) {
    constexpr int64_t many_vectors = 64;
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        launch(decompose<T>, unsigned(x.blocks), x.shorter < many_vectors ? block_threads : most_threads, 0,
               stream, x);
    });
}

}  // namespace mge::cuda
