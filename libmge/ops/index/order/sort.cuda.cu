// SPDX-License-Identifier: Apache-2.0
// Elements are sorted as unsigned keys that rise in the wanted direction. Equal ones are ordered by their
// places: the lower one first, or in descending order, which is exactly the reverse, the higher one.
#include "libmge/ops/index/order/sort.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/ops/index/order/sort_key.cuda.cuh"

namespace mge::cuda {
namespace {

// The first element of a row in a tensor whose rows have so many elements.
MGE_DEVICE int64_t begin_of(const SortedRows& rows, int64_t row, int64_t length) {
    int64_t inner = split_index(row, rows.inner);
    return row * rows.inner * length + inner;
}

// Results of sorting for element i of a row: its position, and whether the neighbours and the last requested
// one have its key.
struct Found {
    int32_t place;
    bool same_before, same_after, like_last;
};
template <class T>
MGE_DEVICE void give(const SortedRows& rows, int64_t row, int64_t i, Found found, const T* x, T* values,
                     int32_t* indices) {
    int64_t to;
    if (rows.last_only) {
        // Among equal elements the one with the lowest index.
        bool is_first = !(rows.descending ? found.same_after : found.same_before);
        if (!found.like_last || !is_first) return;
        to = begin_of(rows, row, 1);
    } else {
        if (i >= rows.taken) return;
        to = begin_of(rows, row, rows.taken) + i * rows.inner;
    }
    values[to] = x[begin_of(rows, row, rows.length) + found.place * rows.inner];
    indices[to] = found.place;
}

// --- short rows: bitonic, in shared memory ---

constexpr int items = longest_short_row;

// Keys with their places, all different.
template <class Key>
struct Items;
template <>
struct Items<uint32_t> {
    uint64_t item[items];
    MGE_DEVICE void set(int i, uint32_t key, uint32_t place) { item[i] = uint64_t(key) << 32 | place; }
    MGE_DEVICE uint32_t key(int i) const { return uint32_t(item[i] >> 32); }
    MGE_DEVICE uint32_t place(int i) const { return uint32_t(item[i]); }
    MGE_DEVICE bool is_behind(int i, int j) const { return item[i] > item[j]; }
};
template <>
struct Items<uint64_t> {
    uint64_t keys[items];
    uint32_t places[items];
    MGE_DEVICE void set(int i, uint64_t key, uint32_t place) {
        keys[i] = key;
        places[i] = place;
    }
    MGE_DEVICE uint64_t key(int i) const { return keys[i]; }
    MGE_DEVICE uint32_t place(int i) const { return places[i]; }
    MGE_DEVICE bool is_behind(int i, int j) const {
        return keys[i] != keys[j] ? keys[i] > keys[j] : places[i] > places[j];
    }
};

// Sorts each run of `width` items, a power of two, of so many in all.
template <class Key>
MGE_DEVICE void sort_runs(Items<Key>& x, int width, int all) {
    constexpr int warp_reach = 32;  // items this far apart are the same warp's in each step
    int last_stride = width;
    for (int size = 2; size <= width; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            if (stride > warp_reach || last_stride > warp_reach)
                __syncthreads();
            else
                __syncwarp();
            last_stride = stride;
            for (int pair = threadIdx.x; pair < all / 2; pair += blockDim.x) {
                int low = pair & (stride - 1), i = 2 * (pair - low) + low, j = i + stride;
                bool rises = (i & size & (width - 1)) == 0;
                if (x.is_behind(i, j) != rises) continue;
                Key key = x.key(i);
                uint32_t place = x.place(i);
                x.set(i, x.key(j), x.place(j));
                x.set(j, key, place);
            }
        }
    __syncthreads();
}

// Rows from `first` on; `width` is their length up to a power of two.
template <class T>
MGE_DEVICE void sort_in_block(const SortedRows& rows, int64_t first, int width, int rows_of_block, const T* x,
                              T* values, int32_t* indices) {
    using Key = typename SortKey<T>::Type;
    __shared__ Items<Key> sorted;
    int all = width * rows_of_block;
    uint32_t flip = rows.descending ? ~0u : 0;  // flips positions, so that the higher one comes first
    for (int n = threadIdx.x; n < all; n += blockDim.x) {
        // Neighbours in memory are elements of one row or rows beside each other.
        int row = rows.inner == 1 ? n / width : n % rows_of_block;
        int i = rows.inner == 1 ? n % width : n / rows_of_block;
        bool is_there = first + row < rows.rows && i < rows.length;
        if (is_there)
            sorted.set(row * width + i,
                       key_of(x[begin_of(rows, first + row, rows.length) + i * rows.inner], rows.descending,
                              rows.nan_is_largest),
                       uint32_t(i) ^ flip);
        else
            sorted.set(row * width + i, Key(0) - 1, ~0u);
    }
    sort_runs(sorted, width, all);
    for (int n = threadIdx.x; n < all; n += blockDim.x) {
        int row = rows.inner == 1 ? n / width : n % rows_of_block;
        int i = rows.inner == 1 ? n % width : n / rows_of_block;
        if (first + row >= rows.rows || i >= rows.length) continue;
        int at = row * width + i;
        Key key = sorted.key(at);
        Found found{int32_t(sorted.place(at) ^ flip), i > 0 && sorted.key(at - 1) == key,
                    i + 1 < rows.length && sorted.key(at + 1) == key,
                    sorted.key(row * width + int(rows.taken) - 1) == key};
        give(rows, first + row, i, found, x, values, indices);
    }
}

// Each block takes some rows at once.
template <class T>
__global__ void sort_by_block(SortedRows rows, int width, int rows_of_block, const T* x, T* values,
                              int32_t* indices) {
    for (int64_t first = int64_t(blockIdx.x) * rows_of_block; first < rows.rows;
         first += int64_t(gridDim.x) * rows_of_block) {
        sort_in_block(rows, first, width, rows_of_block, x, values, indices);
        __syncthreads();  // other threads may still read the old values
    }
}

// --- long rows: by radix ---

template <class T, class Key>
__global__ void make_keys(int64_t n, SortedRows rows, const T* x, Key* keys, uint32_t* numbers) {
    for (int64_t at = first_piece(); at < n; at += piece_step()) {
        int64_t row = at, i = split_index(row, rows.length);
        // Sorting keeps the order of equal keys.
        int64_t place = rows.descending ? rows.length - 1 - i : i;
        keys[at] = key_of(x[begin_of(rows, row, rows.length) + place * rows.inner], rows.descending,
                          rows.nan_is_largest);
        numbers[at] = uint32_t(place);
    }
}

template <class T, class Key>
__global__ void give_sorted(int64_t n, SortedRows rows, const Key* keys, const uint32_t* numbers, const T* x,
                            T* values, int32_t* indices) {
    for (int64_t at = first_piece(); at < n; at += piece_step()) {
        int64_t row = at, i = split_index(row, rows.length);
        Key key = keys[at];
        Found found{int32_t(numbers[at]), i > 0 && keys[at - 1] == key,
                    i + 1 < rows.length && keys[at + 1] == key, keys[at - i + rows.taken - 1] == key};
        give(rows, row, i, found, x, values, indices);
    }
}

}  // namespace

void sort_short_rows(Stream stream, int type, const SortedRows& rows, const void* x, void* values,
                     int32_t* indices) {
    int width = 2;
    while (width < rows.length) width *= 2;
    // Enough blocks for the device come first, then full ones.
    constexpr int64_t many_blocks = 256;
    int64_t of_block = rows.rows / many_blocks, most = items / width;
    of_block = of_block < 1 ? 1 : of_block < most ? of_block : most;
    int64_t pairs = width * of_block / 2;
    auto threads = unsigned(pairs < block_threads ? (pairs + 31) / 32 * 32 : block_threads);
    dispatch_type(type, AllTypes{}, [&]<class T>(T*) {
        launch(sort_by_block<T>, bounded_blocks((rows.rows + of_block - 1) / of_block), threads, 0, stream,
               rows, width, int(of_block), static_cast<const T*>(x), static_cast<T*>(values), indices);
    });
}

void sort_long_rows(Stream stream, int type, const SortedRows& rows, const KeysToSort<void>& memory,
                    const void* x, void* values, int32_t* indices) {
    int64_t n = rows.rows * rows.length;
    dispatch_type(type, AllTypes{}, [&]<class T>(T*) {
        using Key = typename SortKey<T>::Type;
        KeysToSort<Key> keys{memory.rows,
                             memory.length,
                             key_bits<T>,
                             static_cast<Key*>(memory.keys),
                             static_cast<Key*>(memory.other_keys),
                             memory.numbers,
                             memory.other_numbers,
                             memory.counts};
        launch(make_keys<T, Key>, grid_for(n), block_threads, 0, stream, n, rows, static_cast<const T*>(x),
               keys.keys, keys.numbers);
        keys = sort_by_radix(stream, keys);
        launch(give_sorted<T, Key>, grid_for(n), block_threads, 0, stream, n, rows, keys.keys, keys.numbers,
               static_cast<const T*>(x), static_cast<T*>(values), indices);
    });
}

}  // namespace mge::cuda
