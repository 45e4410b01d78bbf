// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/reduce/arg_extreme.h"

#include <algorithm>
#include <concepts>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/reduce/reduce_vectors.h"
#include "libmge/kernel/cpu/rows/scalar_rows.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

using cpu::Reduction;

constexpr int64_t tile = 256;  // elements searched at once: their best values stay in the first-level cache

// x seen as (outer, length, inner), to be searched along length.
struct Search {
    DType dtype = DType::f32;
    int64_t outer = 1, length = 1, inner = 1;
};
Prepared prepare_search(const PrepareContext& context) {
    auto& x = context.problem.inputs[0];
    int axis = normalize_axis(context.problem.op, context.problem.as<ArgParams>().axis, x.shape.rank());
    Search search{x.dtype, 1, x.shape[axis], 1};
    for (int i = 0; i < axis; ++i) search.outer *= x.shape[i];
    for (int i = axis + 1; i < x.shape.rank(); ++i) search.inner *= x.shape[i];
    return Prepared::make(search);
}

// Strictly better, or the first NaN.
template <Reduction kind, class V>
bool is_better(V candidate, V best) {
    if (candidate != candidate) return best == best;
    return kind == Reduction::max ? candidate > best : candidate < best;
}

// The value by vectors first, then its place.
template <Reduction kind>
int32_t search_run(const float* x, int64_t length) {
    static const auto extreme = cpu::reduce_f32(kind).run;
    float best = extreme(x, length);
    const float* at = best == best ? std::find(x, x + length, best)
                                   : std::find_if(x, x + length, [](float v) { return v != v; });
    return int32_t(at - x);
}
template <Reduction kind, std::integral T>
int32_t search_run(const T* x, int64_t length) {
    T best = x[0];
    int64_t place = 0;
    for (int64_t first = 0; first < length; first += tile) {
        T extreme = x[first];
        for (int64_t i = first + 1; i < std::min(first + tile, length); ++i)
            extreme = kind == Reduction::max ? std::max(extreme, x[i]) : std::min(extreme, x[i]);
        if (!is_better<kind>(extreme, best)) continue;
        best = extreme;
        place = first;
    }
    return int32_t(std::find(x + place, x + length, best) - x);
}

template <Reduction kind, class T>
void search_tile(const void* from, int64_t length, int64_t stride, int64_t n, int32_t* y) {
    using V = decltype(cpu::ScalarOf<T>::v);
    auto* x = static_cast<const T*>(from);
    if constexpr (std::is_same_v<T, float> || std::is_integral_v<T>)
        if (stride == 1) {
            *y = search_run<kind>(x, length);
            return;
        }
    V best[tile];
    for (int64_t i = 0; i < n; ++i) {
        best[i] = V(x[i]);
        y[i] = 0;
    }
    for (int64_t row = 1; row < length; ++row)
        for (int64_t i = 0; i < n; ++i) {
            V value = V(x[row * stride + i]);
            bool better = is_better<kind>(value, best[i]);
            best[i] = better ? value : best[i];
            y[i] = better ? int32_t(row) : y[i];
        }
}

template <Reduction kind>
void run_search(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<Search>();
    auto search = search_tile<kind, float>;
    dispatch_dtype(s.dtype, AllTypes{},
                   [&]<class T>(std::type_identity<T>) { search = search_tile<kind, T>; });
    int64_t tiles = ceil_div(s.inner, tile), size = int64_t(size_of(s.dtype));
    par_for(launch.threads, s.outer * tiles, std::max<int64_t>(1, parallel_grain / s.length),
            [&](int64_t begin, int64_t end) {
                for (int64_t unit = begin; unit < end; ++unit) {
                    int64_t outer = unit / tiles, column = unit % tiles * tile;
                    search(launch.in<std::byte>(0) + (outer * s.length * s.inner + column) * size, s.length,
                           s.inner, std::min(tile, s.inner - column),
                           launch.out<int32_t>(0) + outer * s.inner + column);
                }
            });
}

template <Reduction kind>
void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<Search>();
    dispatch_dtype(s.dtype, AllTypes{}, [&]<class T>(std::type_identity<T>) {
        using V = decltype(cpu::ScalarOf<T>::v);
        for (int64_t i = 0; i < s.outer * s.inner; ++i) {
            const T* x = launch.in<T>(0) + i / s.inner * s.length * s.inner + i % s.inner;
            int64_t best = 0;
            for (int64_t j = 1; j < s.length; ++j)
                if (is_better<kind>(V(x[j * s.inner]), V(x[best * s.inner]))) best = j;
            launch.out<int32_t>(0)[i] = int32_t(best);
        }
    });
}

template <Reduction kind>
constexpr Algorithm algorithms[] = {
    {"tiles", always, prepare_search, run_search<kind>},
    {"reference", always, prepare_search, run_reference<kind>, {.naive = true}}};

}  // namespace

KernelList kernels(Cpu, Argmax) { return algorithms<Reduction::max>; }
KernelList kernels(Cpu, Argmin) { return algorithms<Reduction::min>; }

}  // namespace mge::ops
