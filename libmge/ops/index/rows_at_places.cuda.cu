// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/rows_at_places.cuda.cuh"

namespace mge::cuda {
namespace {

// The type of sums: integers wrap around.
template <class T, bool is_an_integer>
struct SumOf {
    using Type = float;
};
template <class T>
struct SumOf<T, true> {
    using Type = typename Limits<T>::Wrapping;
};
template <class T>
using Sum = typename SumOf<T, is_integer<T>>::Type;

template <class T>
MGE_DEVICE Sum<T> to_sum(T value) {
    return Sum<T>(widen(value));
}
template <class T>
MGE_DEVICE T from_sum(Sum<T> sum) {
    return narrow<T>(Computed<T>(sum));
}

// An element of the result as the loops see it: all columns of one row, then those of the next one.
struct Element {
    int64_t row, outer, inner;
};
MGE_DEVICE Element element_of(const Rows& rows, int64_t i) {
    int64_t outer = split_index(i, rows.outer * rows.inner), inner = split_index(outer, rows.inner);
    return {i, outer, inner};
}
MGE_DEVICE int64_t value_at(const Rows& rows, const Nest& nest, Element e, uint32_t number) {
    int64_t n = (e.outer * rows.count + number) * rows.inner + e.inner;
    return nest.is_dense ? n : place_in(nest, n);
}

template <class Unit>
__global__ void set_ordered(int64_t n, Rows rows, OrderedPlaces places, Nest nest, const Unit* value,
                            Unit* y) {
    for (int64_t i = first_piece(); i < n; i += piece_step()) {
        Element e = element_of(rows, i);
        uint64_t key = places.keys[e.row];
        bool is_last = e.row + 1 == rows.count || places.keys[e.row + 1] != key;
        if (key == 0 || !is_last) continue;
        y[at_place(rows, e.outer, int64_t(key - 1), e.inner)] =
            value[value_at(rows, nest, e, places.numbers[e.row])];
    }
}

template <class T>
__global__ void add_ordered(int64_t n, Rows rows, OrderedPlaces places, Nest nest, const T* value, T* y) {
    for (int64_t i = first_piece(); i < n; i += piece_step()) {
        Element e = element_of(rows, i);
        uint64_t key = places.keys[e.row];
        bool is_first = e.row == 0 || places.keys[e.row - 1] != key;
        if (key == 0 || !is_first) continue;
        T* to = y + at_place(rows, e.outer, int64_t(key - 1), e.inner);
        Sum<T> sum = to_sum(*to);
        for (int64_t row = e.row; row < rows.count && places.keys[row] == key; ++row)
            sum += to_sum(value[value_at(rows, nest, e, places.numbers[row])]);
        *to = from_sum<T>(sum);
    }
}

}  // namespace

int unit_bytes(const Rows& rows, size_t element, const void* x, const void* y) {
    if (!rows.inner_nest.is_dense) return int(element);
    auto bytes = [&](int64_t elements) { return uint64_t(elements) * element; };
    uint64_t all = bytes(rows.inner) | bytes(rows.place_stride) | bytes(rows.outer_stride) |
                   reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) | 16;
    return int(all & (~all + 1));
}

Rows in_units(Rows rows, int64_t elements) {
    rows.inner /= elements;
    rows.place_stride /= elements;
    rows.outer_stride /= elements;
    return rows;
}

void set_rows(Stream stream, const Rows& rows, OrderedPlaces places, const Nest& nest, size_t element,
              const void* value, void* y) {
    int unit = nest.is_dense ? unit_bytes(rows, element, value, y) : int(element);
    Rows moved = in_units(rows, unit / int64_t(element));
    dispatch_unit(unit, [&]<class Unit>(Unit*) {
        launch(set_ordered<Unit>, grid_for(moved.numel()), block_threads, 0, stream, moved.numel(), moved,
               places, nest, static_cast<const Unit*>(value), static_cast<Unit*>(y));
    });
}

void add_rows(Stream stream, int type, const Rows& rows, OrderedPlaces places, const Nest& nest,
              const void* value, void* y) {
    dispatch_type(type, NumberTypes{}, [&]<class T>(T*) {
        launch(add_ordered<T>, grid_for(rows.numel()), block_threads, 0, stream, rows.numel(), rows, places,
               nest, static_cast<const T*>(value), static_cast<T*>(y));
    });
}

}  // namespace mge::cuda
