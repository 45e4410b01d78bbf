// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/norm_sums.cuda.h"

#include "libmge/kernel/cuda/reduce/reduce.cuh"
#include "libmge/kernel/cuda/rows.cuh"

namespace mge::cuda {
namespace {

template <class T>
struct FactorGradients {
    using Value = Both<float>;
    using Total = Both<double>;
    const T *x, *dy;
    const float *mean, *inv_std;
    void *dweight, *dbias;
    int64_t span, count;
    bool are_f32;

    static MGE_DEVICE Value combine(Value a, Value b) { return a + b; }
    static MGE_DEVICE Total join(Total a, Total b) { return a + b; }
    static MGE_DEVICE Total widen(Value v) { return {double(v.a), double(v.b)}; }
    static MGE_DEVICE Total identity() { return {0, 0}; }

    MGE_DEVICE int64_t statistic(int64_t at) const {
        split_index(at, span);
        return split_index(at, count);
    }
    template <int pack>
    MGE_DEVICE void load(int64_t at, int64_t, int, Value (&v)[pack]) const {
        float of_x[pack], of_dy[pack];
        load_pack(x + at, of_x);
        load_pack(dy + at, of_dy);
        bool is_same_for_all = span % pack == 0;
        int64_t i = statistic(at);
#pragma unroll
        for (int k = 0; k < pack; ++k) {
            if (!is_same_for_all && k > 0) i = statistic(at + k);
            v[k] = {of_dy[k] * (of_x[k] - mean[i]) * inv_std[i], of_dy[k]};
        }
    }
    MGE_DEVICE void store(int64_t output, Total total) const {
        store_converted(dweight, output, float(total.a));
        store_converted(dbias, output, float(total.b));
    }
    MGE_DEVICE void store_converted(void* y, int64_t at, float value) const {
        if (are_f32)
            static_cast<float*>(y)[at] = value;
        else
            static_cast<T*>(y)[at] = from_float<T>(value);
    }
};

}  // namespace

template <class T>
void sum_factor_gradients(Stream stream, const FactorSums& sums, const T* x, const T* dy, const float* mean,
                          const float* inv_std, void* dweight, void* dbias, void* workspace) {
    static_assert(sizeof(Both<double>) == norm_total_bytes);
    FactorGradients<T> gradients{x, dy, mean, inv_std, dweight, dbias, sums.span, sums.count, sums.are_f32};
    reduce<pack_size<T>>(stream, gradients, sums.geometry, is_aligned(x) && is_aligned(dy), workspace);
}
template void sum_factor_gradients(Stream, const FactorSums&, const f16*, const f16*, const float*,
                                   const float*, void*, void*, void*);
template void sum_factor_gradients(Stream, const FactorSums&, const bf16*, const bf16*, const float*,
                                   const float*, void*, void*, void*);
template void sum_factor_gradients(Stream, const FactorSums&, const float*, const float*, const float*,
                                   const float*, void*, void*, void*);

}  // namespace mge::cuda
