// SPDX-License-Identifier: Apache-2.0
#pragma once
// How an elementwise operator gets its kernels from its functor. A group's .cuda.cu says
//
//     template <> ElementwiseKernels elementwise_kernels<ops::Add>() { return numbers<functor::Add>(); }

#include "libmge/kernel/cuda/divisor.cuh"
#include "libmge/kernel/cuda/elementwise.h"
#include "libmge/kernel/cuda/grid.cuh"
#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

template <class F, class T>
inline constexpr bool is_unary = requires(F f, Scalar<Computed<T>> x) {
    f(x);
};

// R: what is stored, T or for questions bool. It is said and not deduced: nvcc deduces void for the host.
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

struct Loops {
    int count;
    int64_t extent[max_axes], stride[max_operands][max_axes];
};

// As many elements at once as a pack holds: the innermost loop has whole packs, which every operand has one
// after the other (step 1) or one element for (step 0).
struct PackLoops {
    int count;
    Divisor extent[max_axes];  // the innermost one in packs
    int64_t stride[max_operands][max_axes];
    int step[max_operands];
};

template <class F, class T, class R>
__global__ void elementwise_packs(F f, const T* a, const T* b, R* y, int64_t packs, PackLoops loops) {
    constexpr int size = pack_size<T>;
    using Loaded = Pack<T, size>;
    for (int64_t i = first_piece(); i < packs; i += piece_step()) {
        int64_t rest = i, at_a = 0, at_b = 0;
        for (int loop = loops.count - 1; loop >= 0; --loop) {
            int64_t next = loop ? long_quotient(rest, loops.extent[loop]) : 0;
            int64_t at = rest - next * loops.extent[loop].value;
            at_a += at * loops.stride[0][loop];
            at_b += at * loops.stride[1][loop];
            rest = next;
        }
        Loaded x, z;
        T one_a, one_b;
        if (loops.step[0])
            x = *reinterpret_cast<const Loaded*>(a + at_a);
        else
            one_a = a[at_a];
        if constexpr (!is_unary<F, T>) {
            if (loops.step[1])
                z = *reinterpret_cast<const Loaded*>(b + at_b);
            else
                one_b = b[at_b];
        }
        Pack<R, size> result;
#pragma unroll
        for (int k = 0; k < size; ++k)
            result.v[k] = apply_functor<R>(f, loops.step[0] ? x.v[k] : one_a, loops.step[1] ? z.v[k] : one_b);
        reinterpret_cast<Pack<R, size>*>(y)[i] = result;
    }
}

template <class F, class T, class R>
__global__ void elementwise_loops(F f, const T* a, const T* b, R* y, int64_t n, Loops loops) {
    for (int64_t i = first_piece(); i < n; i += piece_step()) {
        int64_t rest = i, at_a = 0, at_b = 0;
        for (int loop = loops.count - 1; loop > 0; --loop) {
            int64_t at = split_index(rest, loops.extent[loop]);
            at_a += at * loops.stride[0][loop];
            at_b += at * loops.stride[1][loop];
        }
        at_a += rest * loops.stride[0][0];
        at_b += rest * loops.stride[1][0];
        y[i] = apply_functor<R>(f, a[at_a], b[at_b]);
    }
}

// Whether packs suit loops, and then what they are.
inline bool make_pack_loops(const Loops& loops, int size, const void* const (&in)[max_operands],
                            PackLoops& made) {
    const int inner = loops.count - 1;
    if (loops.extent[inner] % size) return false;
    made.count = loops.count;
    for (int loop = 0; loop <= inner; ++loop) {
        int64_t extent = loop == inner ? loops.extent[loop] / size : loops.extent[loop];
        if (extent >> 31) return false;
        made.extent[loop] = divisor_of(extent);
    }
    for (int i = 0; i < max_operands; ++i) {
        made.step[i] = int(loops.stride[i][inner]);
        if (made.step[i] != 0 && (loops.stride[i][inner] != 1 || !is_aligned(in[i]))) return false;
        for (int loop = 0; loop <= inner; ++loop) {
            int64_t stride = loops.stride[i][loop];
            if (loop < inner && made.step[i] && stride % size) return false;
            made.stride[i][loop] = loop == inner ? stride * size : stride;
        }
    }
    return true;
}

template <class F, class T, class R>
void run_elementwise(Stream stream, const ElementwiseArguments& x) {
    static_assert(sizeof(F) <= functor_bytes);
    F f = *reinterpret_cast<const F*>(x.functor);
    auto* a = static_cast<const T*>(x.in[0]);
    auto* b = is_unary<F, T> ? a : static_cast<const T*>(x.in[1]);
    auto* y = static_cast<R*>(x.out);
    int64_t step_a = x.stride[0][0], step_b = is_unary<F, T> ? step_a : x.stride[1][0];
    bool runs_along = x.loops == 1 && (step_a | step_b | 1) == 1;
    if (runs_along && is_aligned(a) && is_aligned(b) && is_aligned(y))
        return launch(elementwise_along<F, T, R>, grid_for((x.numel + pack_size<T> - 1) / pack_size<T>),
                      block_threads, 0, stream, f, a, b, y, x.numel, int(step_a), int(step_b));
    Loops loops{x.loops, {}, {}};
    for (int loop = 0; loop < x.loops; ++loop) {
        loops.extent[loop] = x.extent[loop];
        loops.stride[0][loop] = x.stride[0][loop];
        loops.stride[1][loop] = is_unary<F, T> ? x.stride[0][loop] : x.stride[1][loop];
    }
    PackLoops packs{};
    if (is_aligned(y) && make_pack_loops(loops, pack_size<T>, {a, b}, packs)) {
        int64_t count = x.numel / pack_size<T>;
        return launch(elementwise_packs<F, T, R>, grid_for(count), block_threads, 0, stream, f, a, b, y,
                      count, packs);
    }
    launch(elementwise_loops<F, T, R>, grid_for(x.numel), block_threads, 0, stream, f, a, b, y, x.numel,
           loops);
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
// Of any type; the answers are bools.
template <class F>
ElementwiseKernels questions() {
    return kernels_of<F, true>(AllTypes{}, AllTypes{});
}

}  // namespace mge::cuda
