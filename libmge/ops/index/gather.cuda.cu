// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/gather.cuda.h"

#include "libmge/kernel/cuda/index_check.cuh"
#include "libmge/ops/index/rows_at_places.cuda.cuh"

namespace mge::cuda {
namespace {

// -1: the index is outside.
MGE_DEVICE int64_t place_of(const IndexedElements& x, int64_t n) {
    int64_t at = checked_place(x.index[n], x.check);
    return at < 0 ? -1 : place_in(x.at, n) + at * x.axis_stride;
}

template <class Unit>
__global__ void gather_units(int64_t count, IndexedElements elements, const Unit* x, Unit* y) {
    for (int64_t n = first_piece(); n < count; n += piece_step()) {
        int64_t place = place_of(elements, n);
        y[n] = place < 0 ? Unit{} : x[place];
    }
}

__global__ void find_keys(int64_t count, IndexedElements elements, uint64_t* keys, uint32_t* numbers) {
    for (int64_t n = first_piece(); n < count; n += piece_step()) {
        keys[n] = uint64_t(place_of(elements, n) + 1);
        numbers[n] = uint32_t(n);
    }
}

template <bool is_sum, class T>
__global__ void change_lines(IndexedElements elements, const T* source, T* y) {
    for (int64_t line = first_piece(); line < elements.lines; line += piece_step()) {
        int64_t n = place_in(elements.line_in_index, line), base = place_in(elements.line_in_x, line);
        for (int64_t i = 0; i < elements.length; ++i, n += elements.step) {
            int64_t at = checked_place(elements.index[n], elements.check);
            if (at < 0) continue;
            T& target = y[base + at * elements.axis_stride];
            if constexpr (is_sum)
                target = stored<T>(load_scalar(target) + load_scalar(source[n]));
            else
                target = source[n];
        }
    }
}

}  // namespace

void gather_elements(Stream stream, const IndexedElements& elements, size_t bytes, const void* x, void* y) {
    dispatch_unit(int(bytes), [&]<class Unit>(Unit*) {
        launch(gather_units<Unit>, grid_for(elements.numel()), block_threads, 0, stream, elements.numel(),
               elements, static_cast<const Unit*>(x), static_cast<Unit*>(y));
    });
}

void find_places(Stream stream, const IndexedElements& elements, uint64_t* keys, uint32_t* numbers) {
    launch(find_keys, grid_for(elements.numel()), block_threads, 0, stream, elements.numel(), elements, keys,
           numbers);
}

void set_lines(Stream stream, const IndexedElements& elements, size_t bytes, const void* source, void* y) {
    dispatch_unit(int(bytes), [&]<class Unit>(Unit*) {
        launch(change_lines<false, Unit>, grid_for(elements.lines), block_threads, 0, stream, elements,
               static_cast<const Unit*>(source), static_cast<Unit*>(y));
    });
}

void add_lines(Stream stream, int type, const IndexedElements& elements, const void* source, void* y) {
    dispatch_type(type, NumberTypes{}, [&]<class T>(T*) {
        launch(change_lines<true, T>, grid_for(elements.lines), block_threads, 0, stream, elements,
               static_cast<const T*>(source), static_cast<T*>(y));
    });
}

}  // namespace mge::cuda
