// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/sort_keys.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/reduce/scan.cuh"

namespace mge::cuda {
namespace {

constexpr int digit_bits = 8, digits = 1 << digit_bits;
// A block moves a tile of a row; each of its threads also represents a digit.
constexpr int tile_threads = digits, warps = tile_threads / 32, keys_of_thread = 8;
constexpr int tile = tile_threads * keys_of_thread;
constexpr int most_counters = 4 * digits;  // threads that add up the counts of a row

int64_t tiles_of(int64_t length) { return (length + tile - 1) / tile; }

template <class Key>
MGE_DEVICE unsigned digit_of(Key key, int shift) {
    return unsigned(key >> shift) % digits;
}

// counts[row][tile][digit]
template <class Key>
__global__ void count_digits(KeysToSort<Key> x, int shift, int64_t tiles) {
    __shared__ uint32_t counts[digits];
    for (int64_t at = blockIdx.x; at < x.rows * tiles; at += gridDim.x) {
        int64_t row = at, number = split_index(row, tiles);
        counts[threadIdx.x] = 0;
        __syncthreads();
        for (int k = 0; k < keys_of_thread; ++k) {
            int64_t i = number * tile + k * tile_threads + threadIdx.x;
            if (i < x.length) atomicAdd(&counts[digit_of(x.keys[row * x.length + i], shift)], 1u);
        }
        __syncthreads();
        x.counts[at * digits + threadIdx.x] = counts[threadIdx.x];
    }
}

// Converts the counts of a row to the position of each tile's first key with a digit. Groups of the block's
// threads, one thread per digit, share the tiles.
MGE_DEVICE void find_first_places(uint32_t* of_row, int64_t tiles) {
    __shared__ uint32_t totals[most_counters];
    int digit = threadIdx.x % digits, group = threadIdx.x / digits, groups = blockDim.x / digits;
    uint32_t* counts = of_row + digit;
    int64_t begin = tiles * group / groups, end = tiles * (group + 1) / groups;
    uint32_t total = 0, before_group = 0;
    for (int64_t i = begin; i < end; ++i) total += counts[i * digits];
    totals[threadIdx.x] = total;
    __syncthreads();
    for (int i = 0; i < group; ++i) before_group += totals[i * digits + digit];
    uint32_t of_digit = 0;
    if (group == 0)
        for (int i = 0; i < groups; ++i) of_digit += totals[i * digits + digit];
    uint32_t smaller_digits = scan_block(of_digit).before;
    __syncthreads();
    if (group == 0) totals[digit] = smaller_digits;
    __syncthreads();
    uint32_t at = totals[digit] + before_group;
    for (int64_t i = begin; i < end; ++i) {
        uint32_t count = counts[i * digits];
        counts[i * digits] = at;
        at += count;
    }
}
template <class Key>
__global__ void __launch_bounds__(most_counters) find_first_places_of_rows(KeysToSort<Key> x, int64_t tiles) {
    for (int64_t row = blockIdx.x; row < x.rows; row += gridDim.x) {
        find_first_places(x.counts + row * tiles * digits, tiles);
        __syncthreads();  // other threads may still read the old values
    }
}

// For one tile. Each warp processes a run of it, so that equal keys keep their order.
template <class Key>
MGE_DEVICE void move_tile(const KeysToSort<Key>& x, int shift, int64_t tiles, int64_t tile_of_all) {
    __shared__ uint32_t places[warps * digits];
    int64_t row = tile_of_all, number = split_index(row, tiles);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = threadIdx.x; i < warps * digits; i += tile_threads) places[i] = 0;
    __syncthreads();
    Key key[keys_of_thread];
    uint32_t before[keys_of_thread];  // number with the same digit in the warp's run
    int64_t first = number * tile + warp * (tile / warps) + lane;
#pragma unroll
    for (int k = 0; k < keys_of_thread; ++k) {
        if (first - lane + 32 * k >= x.length) break;  // no keys for the whole warp
        bool is_there = first + 32 * k < x.length;
        key[k] = is_there ? x.keys[row * x.length + first + 32 * k] : 0;
        unsigned digit = is_there ? digit_of(key[k], shift) : digits;
        unsigned same = __match_any_sync(~0u, digit), lower = same & ((1u << lane) - 1);
        uint32_t found = is_there ? places[warp * digits + digit] : 0;
        __syncwarp();
        if (is_there && lower == 0) places[warp * digits + digit] = found + __popc(same);
        __syncwarp();
        before[k] = found + __popc(lower);
    }
    __syncthreads();
    uint32_t at = x.counts[tile_of_all * digits + threadIdx.x];
    for (int i = 0; i < warps; ++i) {
        uint32_t count = places[i * digits + threadIdx.x];
        places[i * digits + threadIdx.x] = at;
        at += count;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < keys_of_thread; ++k) {
        int64_t i = first + 32 * k;
        if (i >= x.length) continue;
        int64_t to = row * x.length + places[warp * digits + digit_of(key[k], shift)] + before[k];
        x.other_keys[to] = key[k];
        x.other_numbers[to] = x.numbers[row * x.length + i];
    }
}
template <class Key>
__global__ void move_by_digit(KeysToSort<Key> x, int shift, int64_t tiles) {
    for (int64_t at = blockIdx.x; at < x.rows * tiles; at += gridDim.x) {
        move_tile(x, shift, tiles, at);
        __syncthreads();  // other threads may still read the old values
    }
}

// Ranks 256 keys of a row against all of it, as many at a time.
template <class Key>
MGE_DEVICE void place_by_rank(const KeysToSort<Key>& x, int64_t row, int64_t first) {
    __shared__ Key others[block_threads];
    const Key* keys = x.keys + row * x.length;
    int64_t own = first + threadIdx.x;
    Key key = own < x.length ? keys[own] : 0;
    int64_t rank = 0;
    for (int64_t begin = 0; begin < x.length; begin += block_threads) {
        int64_t count = x.length - begin < block_threads ? x.length - begin : block_threads;
        __syncthreads();
        if (threadIdx.x < count) others[threadIdx.x] = keys[begin + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < count; ++i) rank += others[i] < key || (others[i] == key && begin + i < own);
    }
    if (own >= x.length) return;
    x.other_keys[row * x.length + rank] = key;
    x.other_numbers[row * x.length + rank] = x.numbers[row * x.length + own];
}
template <class Key>
__global__ void place_rows_by_rank(KeysToSort<Key> x, int64_t parts) {
    for (int64_t at = blockIdx.x; at < x.rows * parts; at += gridDim.x) {
        int64_t row = at, part = split_index(row, parts);
        place_by_rank(x, row, part * block_threads);
    }
}

template <class T>
void exchange(T& a, T& b) {
    T old = a;
    a = b;
    b = old;
}
template <class Key>
void exchange_sides(KeysToSort<Key>& x) {
    exchange(x.keys, x.other_keys);
    exchange(x.numbers, x.other_numbers);
}

}  // namespace

int64_t radix_counts(int64_t rows, int64_t length) { return rows * tiles_of(length) * digits; }

template <class Key>
KeysToSort<Key> sort_by_radix(Stream stream, KeysToSort<Key> x) {
    int64_t tiles = tiles_of(x.length);
    unsigned blocks = bounded_blocks(x.rows * tiles);
    constexpr int64_t many_tiles = 64;  // then four threads per digit pay
    unsigned counters = tiles < many_tiles ? digits : most_counters;
    for (int shift = 0; shift < x.bits; shift += digit_bits) {
        launch(count_digits<Key>, blocks, tile_threads, 0, stream, x, shift, tiles);
        launch(find_first_places_of_rows<Key>, bounded_blocks(x.rows), counters, 0, stream, x, tiles);
        launch(move_by_digit<Key>, blocks, tile_threads, 0, stream, x, shift, tiles);
        exchange_sides(x);
    }
    return x;
}

template <class Key>
KeysToSort<Key> sort_by_rank(Stream stream, KeysToSort<Key> x) {
    int64_t parts = (x.length + block_threads - 1) / block_threads;
    launch(place_rows_by_rank<Key>, bounded_blocks(x.rows * parts), block_threads, 0, stream, x, parts);
    exchange_sides(x);
    return x;
}

template KeysToSort<uint32_t> sort_by_radix(Stream, KeysToSort<uint32_t>);
template KeysToSort<uint64_t> sort_by_radix(Stream, KeysToSort<uint64_t>);
template KeysToSort<uint32_t> sort_by_rank(Stream, KeysToSort<uint32_t>);
template KeysToSort<uint64_t> sort_by_rank(Stream, KeysToSort<uint64_t>);

}  // namespace mge::cuda
