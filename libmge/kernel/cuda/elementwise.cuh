// SPDX-License-Identifier: Apache-2.0
#pragma once
// How an elementwise operator gets its kernels from its functor. A group's .cuda.cu contains
//
//     template <> const ElementwiseKernels Elementwise<ops::Add>::kernels = numbers<functor::Add>();

#include "libmge/kernel/cuda/elementwise.h"
#include "libmge/kernel/cuda/grid.cuh"
#include "libmge/kernel/cuda/index_space.cuh"
#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

template <class F, class T>
inline constexpr bool is_unary = requires(F f, Scalar<Computed<T>> x) {
    f(x);
};

// R: the stored type, T or bool for comparisons. It is explicit, because nvcc deduces void for the host.
template <class R, class F, class T>
MGE_DEVICE R apply_functor(F f, T a, T b) {
    if constexpr (is_unary<F, T>)
        return stored<T>(f(load_scalar(a)));
    else
        return stored<T>(f(load_scalar(a), load_scalar(b)));
}

// Operands that run along with the output (step 1) or keep their value (step 0).
template <class F, class T, class R>
__global__ void elementwise_along(F f, const T* a, const T* b, R* y, int64_t n, int step_a, int step_b) {
    constexpr int size = pack_size<T>;
    using Loaded = Pack<T, size>;
    T one_a = *a, one_b = *b;
    int64_t packs = n / size;
    for (int64_t i = first_piece(); i < packs; i += piece_step()) {
        Loaded x, z;
        if (step_a) x = reinterpret_cast<const Loaded*>(a)[i];
        if (step_b) z = reinterpret_cast<const Loaded*>(b)[i];
        Pack<R, size> result;
#pragma unroll
        for (int k = 0; k < size; ++k)
            result.v[k] = apply_functor<R>(f, step_a ? x.v[k] : one_a, step_b ? z.v[k] : one_b);
        reinterpret_cast<Pack<R, size>*>(y)[i] = result;
    }
    for (int64_t i = packs * size + first_piece(); i < n; i += piece_step())
        y[i] = apply_functor<R>(f, step_a ? a[i] : one_a, step_b ? b[i] : one_b);
}

// Otherwise: `pack` elements at once, or one.
template <int pack, class Index, class F, class T, class R>
__global__ void elementwise_places(F f, const T* a, const T* b, R* y, IndexSpace<max_operands> space,
                                   int along_a, int along_b) {
    auto load = [](Pack<T, pack>& loaded, const T* from, int runs_along) {
        if (runs_along) {
            loaded = *reinterpret_cast<const Pack<T, pack>*>(from);
        } else {
            T one = *from;
#pragma unroll
            for (int k = 0; k < pack; ++k) loaded.v[k] = one;
        }
    };
    for (int64_t i = first_piece(); i < space.numel; i += piece_step()) {
        Index places[max_operands];
        find_places(space, Index(i), places);
        Pack<T, pack> x, z;
        load(x, a + places[0], along_a);
        if constexpr (!is_unary<F, T>) load(z, b + places[1], along_b);
        Pack<R, pack> result;
#pragma unroll
        for (int k = 0; k < pack; ++k) result.v[k] = apply_functor<R>(f, x.v[k], z.v[k]);
        reinterpret_cast<Pack<R, pack>*>(y)[i] = result;
    }
}

template <class F, class T, class R>
void run_elementwise(Stream stream, const ElementwiseArguments& x) {
    static_assert(sizeof(F) <= functor_bytes);
    constexpr int size = pack_size<T>;
    F f = *reinterpret_cast<const F*>(x.functor);
    auto *a = static_cast<const T*>(x.in[0]), *b = static_cast<const T*>(x.in[1]);
    auto* y = static_cast<R*>(x.out);
    auto [along_a, along_b] = x.runs_along;
    auto& space = x.elements;
    bool is_aligned_if_along = (!along_a || is_aligned(a)) && (!along_b || is_aligned(b)) && is_aligned(y);
    if (space.axes <= 1 && is_aligned_if_along)
        return launch(elementwise_along<F, T, R>, grid_for((space.numel + size - 1) / size), block_threads, 0,
                      stream, f, a, b, y, space.numel, along_a, along_b);
    if (x.packs.numel && is_aligned_if_along)
        return launch(elementwise_places<size, int32_t, F, T, R>, grid_for(x.packs.numel), block_threads, 0,
                      stream, f, a, b, y, x.packs, along_a, along_b);
    launch(elementwise_places<1, int64_t, F, T, R>, grid_for(space.numel), block_threads, 0, stream, f, a, b,
           y, space, 1, 1);
}

template <class F, bool is_question = false, class... Taken, class... T>
ElementwiseKernels kernels_of(Types<Taken...>, Types<T...>) {
    auto kernel = []<class One>(One*) -> ElementwiseKernel {
        if constexpr ((is_same<One, Taken> || ...))
            return run_elementwise<F, One, typename pick<is_question, bool, One>::type>;
        else
            return nullptr;
    };
    return {{kernel(static_cast<T*>(nullptr))...}};
}
template <class F>
ElementwiseKernels floats() {
    return kernels_of<F>(FloatTypes{}, AllTypes{});
}
template <class F>
ElementwiseKernels integers() {
    return kernels_of<F>(IntTypes{}, AllTypes{});
}
template <class F>
ElementwiseKernels numbers() {
    return kernels_of<F>(NumberTypes{}, AllTypes{});
}
template <class F>
ElementwiseKernels bools() {
    return kernels_of<F>(Types<bool>{}, AllTypes{});
}
// For any type; the results are bools.
template <class F>
ElementwiseKernels questions() {
    return kernels_of<F, true>(AllTypes{}, AllTypes{});
}

}  // namespace mge::cuda
