// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/softmax.cuda.h"

#include "libmge/kernel/cuda/rows.cuh"

namespace mge::cuda {
namespace {

constexpr float minus_infinity = -__builtin_huge_valf();

MGE_DEVICE float result(float x, float top, float sum, bool is_log) {
    return is_log ? x - top - logf(sum) : expf(x - top) / sum;
}

// NaN need not be found: it makes the sum NaN.
struct Higher {
    MGE_DEVICE float operator()(float a, float b) const { return fmaxf(a, b); }
};

// e^x for x up to 0: a product and the instruction for 2^x, which makes the smallest ones 0. The error grows
// with -x as the result vanishes.
MGE_DEVICE float exponential(float x) {
    float power = x * 1.44269504088896341f;
#ifdef MGE_EMULATES_CUDA
    return exp2f(power);
#else
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(power));
    return y;
#endif
}

template <class T, class Team, int pack, int held>
__global__ void softmax_rows(const T* x, T* y, int64_t rows, int64_t n, bool is_log) {
    for (int64_t i = Team::first_row(); i < rows; i += Team::row_step()) {
        auto row = row_of<Team, pack, held>({x}, i, n);
        float top = minus_infinity, sum = 0;
        row.each([&](int64_t, const float(&v)[1][pack]) {
#pragma unroll
            for (float value : v[0]) top = Higher()(top, value);
        });
        top = Team::together(top, Higher());
        // The rest is a product, or for the logarithm a sum.
        row.each([&](int64_t, float(&v)[1][pack]) {
#pragma unroll
            for (float& value : v[0]) {
                float distance = value - top, power = exponential(distance);
                sum += power;
                value = is_log ? distance : power;
            }
        });
        sum = Team::together(sum, Plus());
        float factor = is_log ? 1 : 1 / sum, shift = is_log ? -logf(sum) : 0;
        row.each([&](int64_t at, const float(&v)[1][pack]) {
            float results[pack];
#pragma unroll
            for (int k = 0; k < pack; ++k) {
                float value = v[0][k];
                if constexpr (held == 0) value = is_log ? value - top : exponential(value - top);
                results[k] = fmaf(value, factor, shift);
            }
            store_pack(y + i * n + at, results);
        });
    }
}

// The block's threads form rows of `across`; threads in one column of them share a column.
template <class Join>
MGE_DEVICE float down_block(float value, int across, Join join) {
    __shared__ float of_thread[block_threads];
    __syncthreads();  // other threads may still read the last call's values
    of_thread[threadIdx.x] = value;
    for (int half = block_threads / 2; half >= across; half /= 2) {
        __syncthreads();
        if (int(threadIdx.x) < half)
            of_thread[threadIdx.x] = join(of_thread[threadIdx.x], of_thread[threadIdx.x + half]);
    }
    __syncthreads();
    return of_thread[threadIdx.x % across];
}

template <class T>
__global__ void softmax_columns(const T* x, T* y, SoftmaxArguments s, int across) {
    int64_t columns = s.outer * s.inner, down = block_threads / across;
    int first = int(threadIdx.x) / across;
    for (int64_t tile = blockIdx.x; tile * across < columns; tile += gridDim.x) {
        int64_t column = tile * across + threadIdx.x % across, rest = column;
        int64_t inner = split_index(rest, s.inner), at = rest * s.n * s.inner + inner;
        int64_t n = column < columns ? s.n : 0;
        float top = minus_infinity, sum = 0;
        for (int64_t i = first; i < n; i += down) top = Largest()(top, to_float(x[at + i * s.inner]));
        top = down_block(top, across, Largest());
        for (int64_t i = first; i < n; i += down) sum += expf(to_float(x[at + i * s.inner]) - top);
        sum = down_block(sum, across, Plus());
        for (int64_t i = first; i < n; i += down)
            y[at + i * s.inner] = from_float<T>(result(to_float(x[at + i * s.inner]), top, sum, s.is_log));
    }
}

template <class T>
void launch_columns(Stream stream, const SoftmaxArguments& s, const T* x, T* y) {
    constexpr int64_t many_columns = 65536, short_column = 32;
    int64_t columns = s.outer * s.inner;
    int across = columns >= many_columns || s.n <= short_column ? block_threads : 32;
    int64_t tiles = (columns + across - 1) / across;
    launch(softmax_columns<T>, bounded_blocks(tiles), block_threads, 0, stream, x, y, s, across);
}

template <class T>
void launch_softmax(Stream stream, const SoftmaxArguments& s, const T* x, T* y) {
    if (s.inner > 1) return launch_columns(stream, s, x, y);
    for_rows<T, 1>(s.outer, s.n, is_aligned(x) && is_aligned(y),
                   [&](auto team, auto pack, auto held, unsigned blocks, int threads) {
                       launch(softmax_rows<T, decltype(team), decltype(pack)::value, decltype(held)::value>,
                              blocks, threads, 0, stream, x, y, s.outer, s.n, s.is_log);
                   });
}

}  // namespace

void softmax(Stream stream, int type, const SoftmaxArguments& arguments, const void* x, void* y) {
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        launch_softmax(stream, arguments, static_cast<const T*>(x), static_cast<T*>(y));
    });
}

}  // namespace mge::cuda
