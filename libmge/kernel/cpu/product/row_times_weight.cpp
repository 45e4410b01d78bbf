// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/product/row_times_weight.h"

#include <algorithm>

#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/packed_row.h"

namespace mge::cpu {
namespace {

// Work per thread that is worth a parallel region; about 30 multiplications per nanosecond are done.
constexpr int64_t grain_multiplications = 1 << 15;

struct State {
    PackedRow row;
    std::shared_ptr<const onednn::PackedWeight> weight;
    Activation activation;
    int64_t grain;
};

// Panels of 64 columns, each row by row; oneDNN's tag for that has blocks of 16 rows, which only changes the
// padding at the end.
onednn::MemoryDesc panels(const RowTimesWeight& s) { return onednn::tagged({s.k, s.n}, dnnl_BA16a64b); }

}  // namespace

Prepared prepare_row(const RowTimesWeight& s, const void* weight, size_t weight_input, int threads,
                     const Packing& packing) {
    const int64_t dims[]{s.k, s.n}, strides[]{s.stride_k, s.stride_n};
    auto used = panels(s);
    State state{{s.n, s.k, 0},
                onednn::pack_weight(onednn::strided(dims, strides, dnnl_f32), used, weight, threads, packing),
                s.activation,
                grain_multiplications / (s.k * panel_columns) + 1};
    state.row.panel = int64_t(used.bytes() / sizeof(float)) / state.row.panels();
    PackedInputs packed{{{state.weight->data(), used.bytes()}}, 1u << weight_input};
    return Prepared::make(std::move(state), 0, std::move(packed));
}

void run_row(const Prepared& prepared, const RowAddresses& a, int threads) {
    auto& s = prepared.state<State>();
    PackedRowData data{a.x, static_cast<const float*>(s.weight->data()), a.bias, a.residual, a.y};
    par_for(threads, s.row.panels(), s.grain, [&](int64_t first, int64_t last) {
        packed_row(s.row, data, first, last);
        int64_t begin = first * panel_columns, end = std::min(last * panel_columns, s.row.n);
        activate(s.activation, a.y + begin, end - begin);
    });
}

}  // namespace mge::cpu
