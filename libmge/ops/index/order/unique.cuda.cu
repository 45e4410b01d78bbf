// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/order/unique.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/ops/index/order/sort_key.cuda.cuh"
#include "libmge/ops/index/rows_at_places.cuda.cuh"

namespace mge::cuda {
namespace {

__global__ void number(int64_t count, uint32_t* numbers) {
    for (int64_t i = first_piece(); i < count; i += piece_step()) numbers[i] = uint32_t(i);
}

template <class T>
__global__ void key_column(Slices slices, int64_t column, const uint32_t* numbers, uint64_t* keys) {
    auto* x = static_cast<const T*>(slices.x);
    for (int64_t i = first_piece(); i < slices.count; i += piece_step())
        keys[i] = key_of(x[numbers[i] * slices.length + column], false);
}

template <class T>
__global__ void find_begins(Slices slices, const uint32_t* numbers, bool* begins) {
    for (int64_t i = first_piece(); i < slices.count; i += piece_step()) {
        bool differs = i == 0;
        auto* a = static_cast<const T*>(slices.x) + numbers[i] * slices.length;
        auto* b = static_cast<const T*>(slices.x) + numbers[i == 0 ? 0 : i - 1] * slices.length;
        for (int64_t k = 0; k < slices.length && !differs; ++k)
            differs = key_of(a[k], false) != key_of(b[k], false);
        begins[i] = differs;
    }
}

// The place of the last element that is not above the value; the first one is not.
template <class T>
MGE_DEVICE int64_t last_up_to(const T* rising, int64_t n, T value) {
    int64_t found = 0, behind = n;
    while (behind - found > 1) {
        int64_t middle = (found + behind) / 2;
        (rising[middle] > value ? behind : found) = middle;
    }
    return found;
}

__global__ void mark_firsts(SliceGroups g, bool* begins) {
    for (int64_t i = first_piece(); i < g.groups; i += piece_step()) begins[g.first_slice[i]] = true;
}

__global__ void fill_groups(SliceGroups g, int64_t* first, int64_t* inverse, int64_t* counts) {
    for (int64_t i = first_piece(); i < g.count; i += piece_step()) {
        int64_t group = last_up_to(g.begin, g.groups, int32_t(i));
        int64_t slice = g.first_slice[group];
        int64_t to = g.in_order ? last_up_to(g.in_order, g.groups, int32_t(slice)) : group;
        inverse[g.numbers[i]] = to;
        if (i != g.begin[group]) continue;
        first[to] = slice;
        counts[to] = (group + 1 < g.groups ? g.begin[group + 1] : g.count) - i;
    }
}

template <class Unit>
__global__ void copy_slices(const Unit* x, int64_t length, const int64_t* numbers, int64_t elements,
                            Unit* values) {
    for (int64_t i = first_piece(); i < elements; i += piece_step()) {
        int64_t slice = i, at = split_index(slice, length);
        values[i] = x[numbers[slice] * length + at];
    }
}

}  // namespace

KeysToSort<uint64_t> order_slices(Stream stream, int type, const Slices& slices, KeysToSort<uint64_t> keys,
                                  bool* begins) {
    unsigned grid = grid_for(slices.count);
    launch(number, grid, block_threads, 0, stream, slices.count, keys.numbers);
    dispatch_type(type, AllTypes{}, [&]<class T>(T*) {
        keys.bits = key_bits<T>;
        for (int64_t column = slices.length; column-- > 0;) {
            launch(key_column<T>, grid, block_threads, 0, stream, slices, column, keys.numbers, keys.keys);
            keys = sort_by_radix(stream, keys);
        }
        launch(find_begins<T>, grid, block_threads, 0, stream, slices, keys.numbers, begins);
    });
    return keys;
}

void mark_first_slices(Stream stream, const SliceGroups& groups, bool* begins) {
    launch(mark_firsts, grid_for(groups.groups), block_threads, 0, stream, groups, begins);
}

void write_groups(Stream stream, const SliceGroups& groups, int64_t* first, int64_t* inverse,
                  int64_t* counts) {
    launch(fill_groups, grid_for(groups.count), block_threads, 0, stream, groups, first, inverse, counts);
}

void take_slices(Stream stream, const Slices& slices, int element, const int64_t* numbers, int64_t count,
                 void* values) {
    int64_t elements = count * slices.length;
    if (elements == 0) return;
    dispatch_unit(element, [&]<class Unit>(Unit*) {
        launch(copy_slices<Unit>, grid_for(elements), block_threads, 0, stream,
               static_cast<const Unit*>(slices.x), slices.length, numbers, elements,
               static_cast<Unit*>(values));
    });
}

}  // namespace mge::cuda
