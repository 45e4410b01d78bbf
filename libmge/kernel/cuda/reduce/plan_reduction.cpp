// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/reduce/plan_reduction.h"

#include <algorithm>
#include <bit>

#include "libmge/base/numbers/ceil_div.h"

namespace mge::cuda {
namespace {

constexpr int64_t short_length = 32;     // elements that one thread adds without regret
constexpr int64_t many_outputs = 32768;  // enough to give each a thread
constexpr int64_t busy_blocks = 1056;    // several for each multiprocessor
constexpr int64_t few_blocks = 264;      // so few leave multiprocessors idle
constexpr int64_t least_loads = 16;      // loads per thread from which a piece justifies its second launch
constexpr int64_t enough_loads = 32;     // loads per thread from which the overhead of its block is small
constexpr int64_t lane_loads = 8;        // the same for a warp that has several rows
constexpr int line_lanes = 8;            // that read a cache line together
constexpr int64_t busy_threads = 1 << 18;

int power_of_two(int64_t n, int most) {
    return int(std::bit_ceil(uint64_t(std::clamp<int64_t>(n, 1, most))));
}

// Merges neighbouring axes of one kind. True: the innermost axis is kept.
bool group_axes(const Shape& x, const std::array<bool, max_rank>& reduced, ReduceGeometry& g) {
    int64_t stride = x.numel();
    AxisGroups* last = nullptr;
    for (int axis = 0; axis < x.rank(); ++axis) {
        if (x[axis] == 1) continue;
        stride = x[axis] ? stride / x[axis] : 0;
        auto& groups = reduced[size_t(axis)] ? g.reduced : g.kept;
        if (&groups == last) {
            groups.extent[groups.count - 1] *= x[axis];
            groups.stride[groups.count - 1] = stride;
        } else {
            groups.extent[groups.count] = x[axis];
            groups.stride[groups.count++] = stride;
        }
        last = &groups;
    }
    return last == &g.kept;
}
int64_t count(const AxisGroups& groups) {
    int64_t n = 1;
    for (int i = 0; i < groups.count; ++i) n *= groups.extent[i];
    return n;
}

// All runs of the innermost axes begin at a multiple of the pack and are as long as some.
bool can_pack(const ReduceGeometry& g, const AxisGroups& inner, int pack) {
    auto fits = [&](const AxisGroups& groups) {
        for (int i = 0; i < groups.count; ++i) {
            bool is_innermost = &groups == &inner && i == groups.count - 1;
            if ((is_innermost ? groups.extent[i] : groups.stride[i]) % pack != 0) return false;
        }
        return true;
    };
    return fits(g.kept) && fits(g.reduced);
}

// There are `blocks` without pieces; `units` of elements, such as packs, are read by one of `readers`.
void cut(ReduceGeometry& g, int64_t blocks, int64_t readers, int64_t unit) {
    g.pieces = 1;
    g.piece = std::max<int64_t>(1, g.length);
    if (blocks >= few_blocks) return;
    int64_t pieces = std::min(ceil_div(busy_blocks, std::max<int64_t>(1, blocks)),
                              g.length / (readers * least_loads * unit));
    int64_t full = std::max(ceil_div(busy_blocks / 2, std::max<int64_t>(1, blocks)),
                            g.length / (readers * enough_loads * unit));
    pieces = std::min(pieces, full);
    if (pieces < 2) return;
    g.piece = ceil_div(ceil_div(g.length, pieces), unit) * unit;
    g.pieces = ceil_div(g.length, g.piece);
}

}  // namespace

ReduceGeometry plan_reduction(const Shape& x, const std::array<bool, max_rank>& reduced, int pack) {
    ReduceGeometry g{};
    bool is_inner_kept = group_axes(x, reduced, g);
    g.outputs = count(g.kept);
    g.length = count(g.reduced);
    g.pieces = 1;
    g.piece = std::max<int64_t>(1, g.length);
    g.method = ReduceMethod::lanes;
    g.lanes = 1;
    if (g.outputs == 0 || g.length <= 1) return g;
    if (is_inner_kept && g.length <= short_length && g.outputs >= many_outputs) return g;
    g.is_packed = pack > 1 && can_pack(g, is_inner_kept ? g.kept : g.reduced, pack);
    int64_t unit = g.is_packed ? pack : 1;
    if (is_inner_kept) {
        g.method = ReduceMethod::columns;
        int64_t columns = g.kept.extent[g.kept.count - 1] / unit;
        g.lanes = power_of_two(columns, 32);
        cut(g, g.outputs / g.kept.extent[g.kept.count - 1] * ceil_div(columns, g.lanes),
            reduce_threads / g.lanes, 1);
        return g;
    }
    int64_t loads = g.length / unit;
    g.lanes = power_of_two(ceil_div(loads, 2), 32);
    int fewer = std::max(power_of_two(ceil_div(loads, lane_loads), 32), std::min(g.lanes, line_lanes));
    if (g.outputs * fewer >= busy_threads) g.lanes = fewer;
    if (loads < 1024 && (loads < 128 || g.outputs >= busy_blocks)) return g;
    g.method = ReduceMethod::rows;
    cut(g, g.outputs, reduce_threads, unit);
    return g;
}

size_t reduction_workspace(const ReduceGeometry& g, size_t bytes_of_total) {
    return g.pieces > 1 ? size_t(g.outputs * g.pieces) * bytes_of_total : 0;
}

}  // namespace mge::cuda
