// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/row_norm.cuda.h"

#include "libmge/kernel/cuda/rows.cuh"

namespace mge::cuda {
namespace {

// Of elements that are read at once. Their factors lie side by side, or are one; pick_packs sees to that.
template <class T, int pack>
MGE_DEVICE void load_factors(const T* factors, const RowNorm& s, int64_t row, int64_t i, float absent,
                             float (&v)[pack]) {
    if (factors && s.pixels == 1) return load_pack(factors + row % s.groups * s.channels + i, v);
    float one = absent;
    if (factors) {
        split_index(i, s.pixels);
        one = to_float(factors[row % s.groups * s.channels + i]);
    }
#pragma unroll
    for (int k = 0; k < pack; ++k) v[k] = one;
}
template <class T>
bool can_pack(const RowNorm& s) {
    return s.pixels == 1 || s.pixels % pack_size<T> == 0;
}

template <class T, class Team, int pack, int held>
__global__ void normalize(RowNorm s, RowNormTensors<T> t) {
    for (int64_t i = Team::first_row(); i < s.rows; i += Team::row_step()) {
        auto row = row_of<Team, pack, held>({t.x}, i, s.n);
        float sum = 0, squares = 0;
        row.each([&](int64_t, const float(&v)[1][pack]) {
#pragma unroll
            for (float value : v[0]) sum += value;
        });
        float mean = float(Team::together(double(sum), Plus()) / double(s.n));
        row.each([&](int64_t, const float(&v)[1][pack]) {
#pragma unroll
            for (float value : v[0]) squares += (value - mean) * (value - mean);
        });
        float variance = float(Team::together(double(squares), Plus()) / double(s.n));
        float inv_std = 1 / sqrtf(variance + s.epsilon);
        row.each([&](int64_t at, const float(&v)[1][pack]) {
            float weight[pack], bias[pack], y[pack];
            load_factors(t.weight, s, i, at, 1, weight);
            load_factors(t.bias, s, i, at, 0, bias);
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
__global__ void normalize_backward(RowNorm s, RowNormGradients<T> t) {
    for (int64_t i = Team::first_row(); i < s.rows; i += Team::row_step()) {
        auto row = row_of<Team, pack, held>({t.x, t.dy}, i, s.n);
        float mean = t.mean[i], inv_std = t.inv_std[i];
        Both<float> sums{0, 0};
        row.each([&](int64_t at, const float(&v)[2][pack]) {
            float weight[pack];
            load_factors(t.weight, s, i, at, 1, weight);
#pragma unroll
            for (int k = 0; k < pack; ++k) {
                float g = v[1][k] * weight[k];
                sums = sums + Both<float>{g, g * (v[0][k] - mean) * inv_std};
            }
        });
        auto total = Team::together(Both<double>{double(sums.a), double(sums.b)}, Plus());
        if (t.dmean) total.a -= double(t.dmean[i] / inv_std);
        if (t.dinv_std) total.b += double(t.dinv_std[i] * inv_std);
        float of_g = float(total.a / double(s.n)), of_product = float(total.b / double(s.n));
        row.each([&](int64_t at, const float(&v)[2][pack]) {
            float weight[pack], dx[pack];
            load_factors(t.weight, s, i, at, 1, weight);
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
    for_rows<T>(s.rows, s.n, are_aligned && can_pack<T>(s),
                [&](auto team, auto pack, auto held, unsigned blocks) {
                    launch(normalize<T, decltype(team), decltype(pack)::value, decltype(held)::value>, blocks,
                           block_threads, 0, stream, s, t);
                });
}
template void normalize_rows(Stream, const RowNorm&, const RowNormTensors<f16>&);
template void normalize_rows(Stream, const RowNorm&, const RowNormTensors<bf16>&);
template void normalize_rows(Stream, const RowNorm&, const RowNormTensors<float>&);

template <class T>
void normalize_rows_backward(Stream stream, const RowNorm& s, const RowNormGradients<T>& t) {
    bool are_aligned = is_aligned(t.x) && is_aligned(t.dy) && is_aligned(t.dx) && is_aligned(t.weight);
    for_rows<T>(
        s.rows, s.n, are_aligned && can_pack<T>(s), [&](auto team, auto pack, auto held, unsigned blocks) {
            launch(normalize_backward<T, decltype(team), decltype(pack)::value, decltype(held)::value>,
                   blocks, block_threads, 0, stream, s, t);
        });
}
template void normalize_rows_backward(Stream, const RowNorm&, const RowNormGradients<f16>&);
template void normalize_rows_backward(Stream, const RowNorm&, const RowNormGradients<bf16>&);
template void normalize_rows_backward(Stream, const RowNorm&, const RowNormGradients<float>&);

}  // namespace mge::cuda
