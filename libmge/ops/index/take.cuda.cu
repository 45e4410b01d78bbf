// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/take.cuda.h"

#include "libmge/kernel/cuda/index_check.cuh"
#include "libmge/ops/index/rows_at_places.cuda.cuh"

namespace mge::cuda {
namespace {

// -1: an index is outside.
MGE_DEVICE int64_t place_of(const Combinations& x, int64_t n) {
    int64_t place = 0;
    for (int i = 0; i < x.axes; ++i) {
        auto& axis = x.axis[i];
        int64_t at = checked_place(axis.index[place_in(axis.at, n)], axis.check);
        if (at < 0) return -1;
        place += at * axis.stride;
    }
    return place;
}

template <class Unit>
__global__ void take_units(int64_t n, Rows rows, Combinations combinations, const Unit* x, Unit* y) {
    for (int64_t i = first_piece(); i < n; i += piece_step()) {
        int64_t outer = i, j = split_index(outer, rows.inner), combination = split_index(outer, rows.count);
        int64_t place = place_of(combinations, combination);
        y[i] = place < 0 ? Unit{} : x[at_place(rows, outer, place, j)];
    }
}

__global__ void find_keys(int64_t count, Combinations combinations, uint64_t* keys, uint32_t* numbers) {
    for (int64_t n = first_piece(); n < count; n += piece_step()) {
        keys[n] = uint64_t(place_of(combinations, n) + 1);
        numbers[n] = uint32_t(n);
    }
}

}  // namespace

void take_rows(Stream stream, const Rows& rows, const Combinations& combinations, size_t element,
               const void* x, void* y) {
    int unit = unit_bytes(rows, element, x, y);
    Rows moved = in_units(rows, unit / int64_t(element));
    dispatch_unit(unit, [&]<class Unit>(Unit*) {
        launch(take_units<Unit>, grid_for(moved.numel()), block_threads, 0, stream, moved.numel(), moved,
               combinations, static_cast<const Unit*>(x), static_cast<Unit*>(y));
    });
}

void find_places(Stream stream, int64_t count, const Combinations& combinations, uint64_t* keys,
                 uint32_t* numbers) {
    launch(find_keys, grid_for(count), block_threads, 0, stream, count, combinations, keys, numbers);
}

}  // namespace mge::cuda
