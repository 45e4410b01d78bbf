// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/reduce/cumsum.h"

#include <algorithm>
#include <array>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

constexpr int64_t tile = 256;  // columns summed at once: their totals stay in the first-level cache

// x seen as (outer, length, inner), to be summed along length.
struct Scan {
    DType dtype = DType::f32;
    int64_t outer = 1, length = 1, inner = 1;
};
Prepared prepare_scan(const PrepareContext& context) {
    auto& x = context.problem.inputs[0];
    int axis = normalize_axis(Cumsum::name, context.problem.as<Cumsum::Params>().axis, x.shape.rank());
    Scan scan{x.dtype, 1, x.shape[axis], 1};
    for (int i = 0; i < axis; ++i) scan.outer *= x.shape[i];
    for (int i = axis + 1; i < x.shape.rank(); ++i) scan.inner *= x.shape[i];
    return Prepared::make(scan);
}

// Floats are summed in double, integers in an unsigned type that wraps.
template <class T>
using Total = std::conditional_t<is_float(DTypeOf<T>), double, uint64_t>;

template <class T>
T result(Total<T> total) {
    if constexpr (is_float(DTypeOf<T>))
        return T(ComputedAs<T>(total));
    else
        return T(total);
}
template <class T>
Total<T> value(T x) {
    if constexpr (is_float(DTypeOf<T>))
        return double(ComputedAs<T>(x));
    else
        return uint64_t(x);
}

// Several contiguous runs side by side, because each addition waits for the one before.
template <int runs, class T>
void scan_runs(const T* x, T* y, int64_t length) {
    std::array<Total<T>, runs> totals{};  // in registers
    for (int64_t i = 0; i < length; ++i)
        for (int run = 0; run < runs; ++run) {
            Total<T>& total = totals[size_t(run)];
            total += value(x[run * length + i]);
            y[run * length + i] = result<T>(total);
        }
}

template <class T>
void scan_tile(const T* x, T* y, int64_t length, int64_t stride, int64_t n) {
    std::array<Total<T>, tile> totals{};
    for (int64_t row = 0; row < length; ++row)
        for (int64_t i = 0; i < n; ++i) {
            totals[size_t(i)] += value(x[row * stride + i]);
            y[row * stride + i] = result<T>(totals[size_t(i)]);
        }
}

template <class T>
void scan_all_runs(const T* x, T* y, int64_t length, int64_t begin, int64_t end) {
    constexpr int together = 4;
    int64_t run = begin;
    for (; run + together <= end; run += together)
        scan_runs<together>(x + run * length, y + run * length, length);
    for (; run < end; ++run) scan_runs<1>(x + run * length, y + run * length, length);
}

void run_tiles(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<Scan>();
    if (s.outer * s.length * s.inner == 0) return;
    dispatch_dtype(s.dtype, NumberTypes{}, [&]<class T>(std::type_identity<T>) {
        int64_t tiles = ceil_div(s.inner, tile);
        par_for(launch.threads, s.outer * tiles, std::max<int64_t>(1, parallel_grain / s.length),
                [&](int64_t begin, int64_t end) {
                    if (s.inner == 1)
                        return scan_all_runs(launch.in<T>(0), launch.out<T>(0), s.length, begin, end);
                    for (int64_t unit = begin; unit < end; ++unit) {
                        int64_t column = unit % tiles * tile;
                        int64_t offset = unit / tiles * s.length * s.inner + column;
                        scan_tile(launch.in<T>(0) + offset, launch.out<T>(0) + offset, s.length, s.inner,
                                  std::min(tile, s.inner - column));
                    }
                });
    });
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<Scan>();
    dispatch_dtype(s.dtype, NumberTypes{}, [&]<class T>(std::type_identity<T>) {
        for (int64_t i = 0; i < s.outer * s.inner; ++i) {
            int64_t offset = i / s.inner * s.length * s.inner + i % s.inner;
            Total<T> total = 0;
            for (int64_t j = 0; j < s.length; ++j) {
                total += value(launch.in<T>(0)[offset + j * s.inner]);
                launch.out<T>(0)[offset + j * s.inner] = result<T>(total);
            }
        }
    });
}

}  // namespace

KernelList kernels(Cpu, Cumsum) {
    static constexpr Algorithm list[] = {{"tiles", always, prepare_scan, run_tiles},
                                         {"reference", always, prepare_scan, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
