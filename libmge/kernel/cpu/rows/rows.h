// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elementwise computation on the CPU, seen from inside: a function over the two innermost loops (Rows) of a
// loop nest.

#include <array>
#include <cstddef>
#include <cstdint>

#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/loop_nest.h"

namespace mge::cpu {

inline constexpr int max_row_inputs = max_loop_inputs;

// `rows` rows of `n` elements. An input either runs along the row or is constant in it (is_scalar); from row
// to row it advances by row_stride bytes (0: repeats). The output may be in place of an input that runs along
// the row.
struct Rows {
    int64_t rows = 1, n = 0;
    std::array<const char*, max_row_inputs> in{};
    std::array<int64_t, max_row_inputs> row_stride{};
    std::array<bool, max_row_inputs> is_scalar{};
    char* out = nullptr;
    int64_t out_stride = 0;
    const void* functor = nullptr;         // its parameters, e.g. the bounds of clip
    void (*inner)(const Rows&) = nullptr;  // for wrappers: the same computation in f32

    template <class T>
    const T* input(int i, int64_t row) const {
        return reinterpret_cast<const T*>(in[size_t(i)] + row * row_stride[size_t(i)]);
    }
    template <class T>
    T* output(int64_t row) const {
        return reinterpret_cast<T*>(out + row * out_stride);
    }
};
using RowsFn = void (*)(const Rows&);

inline constexpr size_t max_functor_bytes = 24;

// A prepared elementwise computation.
struct ElementwiseState {
    RowsFn run = nullptr, inner = nullptr;
    int inputs = 0;
    int64_t numel = 0, grain = 0;
    LoopNest nest;
    Rows rows;  // the two innermost loops, without addresses
    alignas(double) std::array<char, max_functor_bytes> functor{};
};
Prepared prepare_elementwise(const Problem& problem, RowsFn run, RowsFn inner, const void* functor,
                             size_t functor_bytes, int64_t grain);
void run_elementwise(const Prepared& prepared, const Launch& launch);

}  // namespace mge::cpu
