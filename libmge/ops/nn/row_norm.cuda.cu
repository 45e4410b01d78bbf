// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/row_norm.cuda.h"

#include "libmge/kernel/cuda/rows.cuh"

namespace mge::cuda {
namespace {

// The factors of one row; absent ones are a constant. The factors of elements that are read at once are
// contiguous, or constant; can_pack ensures that.
template <class T>
struct Factors {
    const T* first;
    int64_t pixels;
    float absent;

    template <int pack>
    MGE_DEVICE void load(int64_t i, float (&v)[pack]) const {
        if (first && pixels == 1) return load_pack(first + i, v);
        float one = absent;
        if (first) {
            split_index(i, pixels);
            one = to_float(first[i]);
        }
#pragma unroll
        for (int k = 0; k < pack; ++k) v[k] = one;
    }
};
template <class T>
MGE_DEVICE Factors<T> factors_of(const T* factors, const RowNorm& s, int64_t row, float absent) {
    int64_t first = s.groups == 1 ? 0 : split_index(row, s.groups) * s.channels;
    return {factors ? factors + first : nullptr, s.pixels, absent};
}
template <class T>
bool can_pack(const RowNorm& s) {
    return s.pixels == 1 || s.pixels % pack_size<T> == 0;
}

// `share`: of an element in a mean.
template <class T, class Team, int pack, int held>
__global__ void __launch_bounds__(block_threads, 3) normalize(RowNorm s, RowNormTensors<T> t, double share) {
    for (int64_t i = Team::first_row(); i < s.rows; i += Team::row_step()) {
        auto row = row_of<Team, pack, held>({t.x}, i, s.n);
        auto weights = factors_of(t.weight, s, i, 1), biases = factors_of(t.bias, s, i, 0);
        float sum = 0, squares = 0;
        row.each([&](int64_t, const float(&v)[1][pack]) {
#pragma unroll
            for (float value : v[0]) sum += value;
        });
        float mean = float(Team::together(double(sum), Plus()) * share);
        row.each([&](int64_t, const float(&v)[1][pack]) {
#pragma unroll
            for (float value : v[0]) squares += (value - mean) * (value - mean);
        });
        float variance = float(Team::together(double(squares), Plus()) * share);
        float inv_std = rsqrtf(variance + s.epsilon);
        row.each([&](int64_t at, const float(&v)[1][pack]) {
            float weight[pack], bias[pack], y[pack];
            weights.load(at, weight);
            biases.load(at, bias);
#pragma unroll
            for (int k = 0; k < pack; ++k) y[k] = (v[0][k] - mean) * inv_std * weight[k] + bias[k];
            store_pack(t.y + i * s.n + at, y);
        });
        if (Team::thread() == 0) {
            t.mean[i] = mean;
            t.inv_std[i] = inv_std;
        }
    }
}

// g = dy·weight, x̂ = (x − mean)·inv_std:  dx = inv_std·(g − mean(g) − x̂·mean(g·x̂)).
// With Σg less dmean/inv_std and Σg·x̂ plus dinv_std·inv_std that goes through the statistics as well.
template <class T, class Team, int pack, int held>
__global__ void __launch_bounds__(block_threads, 2)
    normalize_backward(RowNorm s, RowNormGradients<T> t, double share) {
    for (int64_t i = Team::first_row(); i < s.rows; i += Team::row_step()) {
        auto row = row_of<Team, pack, held>({t.x, t.dy}, i, s.n);
        auto weights = factors_of(t.weight, s, i, 1);
        float mean = t.mean[i], inv_std = t.inv_std[i];
        Both<float> sums{0, 0};
        row.each([&](int64_t at, const float(&v)[2][pack]) {
            float weight[pack];
            weights.load(at, weight);
#pragma unroll
            for (int k = 0; k < pack; ++k) {
                float g = v[1][k] * weight[k];
                sums = sums + Both<float>{g, g * (v[0][k] - mean) * inv_std};
            }
        });
        auto total = Team::together(Both<double>{double(sums.a), double(sums.b)}, Plus());
        if (t.dmean) total.a -= double(t.dmean[i] / inv_std);
        if (t.dinv_std) total.b += double(t.dinv_std[i] * inv_std);
        float of_g = float(total.a * share), of_product = float(total.b * share);
        row.each([&](int64_t at, const float(&v)[2][pack]) {
            float weight[pack], dx[pack];
            weights.load(at, weight);
#pragma unroll
            for (int k = 0; k < pack; ++k)
                dx[k] = inv_std * (v[1][k] * weight[k] - of_g - (v[0][k] - mean) * inv_std * of_product);
            store_pack(t.dx + i * s.n + at, dx);
        });
    }
}

}  // namespace

template <class T>
void normalize_rows(Stream stream, const RowNorm& s, const RowNormTensors<T>& t) {
    bool are_aligned = is_aligned(t.x) && is_aligned(t.y) && is_aligned(t.weight) && is_aligned(t.bias);
    for_rows<T, 1>(s.rows, s.n, are_aligned && can_pack<T>(s),
                   [&](auto team, auto pack, auto held, unsigned blocks, int threads) {
                       launch(normalize<T, decltype(team), decltype(pack)::value, decltype(held)::value>,
                              blocks, threads, 0, stream, s, t, 1 / double(s.n));
                   });
}
template void normalize_rows(Stream, const RowNorm&, const RowNormTensors<f16>&);
template void normalize_rows(Stream, const RowNorm&, const RowNormTensors<bf16>&);
template void normalize_rows(Stream, const RowNorm&, const RowNormTensors<float>&);

template <class T>
void normalize_rows_backward(Stream stream, const RowNorm& s, const RowNormGradients<T>& t) {
    bool are_aligned = is_aligned(t.x) && is_aligned(t.dy) && is_aligned(t.dx) && is_aligned(t.weight);
    for_rows<T, 2>(
        s.rows, s.n, are_aligned && can_pack<T>(s),
        [&](auto team, auto pack, auto held, unsigned blocks, int threads) {
            launch(normalize_backward<T, decltype(team), decltype(pack)::value, decltype(held)::value>,
                   blocks, threads, 0, stream, s, t, 1 / double(s.n));
        });
}
template void normalize_rows_backward(Stream, const RowNorm&, const RowNormGradients<f16>&);
template void normalize_rows_backward(Stream, const RowNorm&, const RowNormGradients<bf16>&);
template void normalize_rows_backward(Stream, const RowNorm&, const RowNormGradients<float>&);

}  // namespace mge::cuda
