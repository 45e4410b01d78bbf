// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiled matrix products: sum over k of left(row, k) right(column, k), by blocks of threads that share loaded
// data. A "work" defines the operands and the use of the sums:
//
//     struct Work {
//         using Value = float;                                  // of both operands
//         ProductExtents extents;
//         float* parts;                                         // where the parts of split sums are kept
//         L left(int64_t batch) const;                          // operands, see Strided
//         R right(int64_t batch) const;
//         void put(int64_t batch, int64_t row, int64_t column, SumOf<Value> sum) const;
//     };
//
// An element is summed up in the order of k by one thread, so the size of tiles does not change a bit.

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/products.h"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

// Floats are summed in f32. Integers wrap around.
template <class T, bool = is_integer<T>>
struct SumOfProducts {
    using Type = float;
};
template <class T>
struct SumOfProducts<T, true> {
    using Type = typename Limits<T>::Wrapping;
};
template <class T>
using SumOf = typename SumOfProducts<T>::Type;

// A matrix with any strides as an operand. `row` and `column` precompute parts that `value` uses many times.
template <class T>
struct Strided {
    const T* data;
    int64_t row_stride, column_stride;

    using Row = int64_t;
    using Column = int64_t;
    // Whether neighbours along k, rather than neighbouring rows, are neighbours in memory.
    MGE_DEVICE bool runs_along_k() const { return column_stride == 1; }
    MGE_DEVICE Row row(int64_t i) const { return i * row_stride; }
    MGE_DEVICE Column column(int64_t k) const { return k * column_stride; }
    MGE_DEVICE SumOf<T> value(Row row, Column column) const { return SumOf<T>(widen(data[row + column])); }
};

template <int rows, int columns, int depth_, int rows_of_thread, int columns_of_thread>
struct Tile {
    static constexpr int m = rows, n = columns, depth = depth_;
    static constexpr int thread_m = rows_of_thread, thread_n = columns_of_thread;
    static constexpr int threads_along_n = n / thread_n, threads = m / thread_m * threads_along_n;
};
using SmallTile = Tile<32, 32, 16, 4, 4>;
using MediumTile = Tile<64, 64, 16, 4, 4>;
using LargeTile = Tile<128, 128, 8, 8, 8>;

template <class T>
struct alignas(16) Four {
    T v[4];
};
// Behind the rows in shared memory: keeps threads that write along k off each other's banks.
inline constexpr int row_padding = 4;

// A thread's share of an operand's tile, on its way from global to shared memory.
template <class Operand, class Sum, int rows, int depth, int threads>
struct Share {
    static constexpr int count = rows * depth / threads, pitch = rows + row_padding;

    const Operand operand;
    const bool along_k;
    typename Operand::Row row[count];
    bool is_row[count];
    Sum held[count];

    MGE_DEVICE Share(const Operand& from, int64_t first_row, int64_t row_count)
        : operand(from), along_k(from.runs_along_k()) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            int64_t at = first_row + row_at(i);
            is_row[i] = at < row_count;
            row[i] = operand.row(is_row[i] ? at : first_row);
        }
    }
    MGE_DEVICE int number(int i) const { return int(threadIdx.x) + i * threads; }
    MGE_DEVICE int row_at(int i) const { return along_k ? number(i) / depth : number(i) % rows; }
    MGE_DEVICE int k_at(int i) const { return along_k ? number(i) % depth : number(i) / rows; }

    MGE_DEVICE void load(int64_t k, int64_t end) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            int64_t at = k + k_at(i);
            held[i] = is_row[i] && at < end ? operand.value(row[i], operand.column(at)) : Sum(0);
        }
    }
    MGE_DEVICE void store(Sum* shared) const {
#pragma unroll
        for (int i = 0; i < count; ++i) shared[k_at(i) * pitch + row_at(i)] = held[i];
    }
};

// The rows of a tile of `extent` that a thread has: groups of four, distributed so that a warp reads shared
// memory contiguously.
template <int extent, int of_thread>
MGE_DEVICE int position(int thread, int i) {
    return i / 4 * (extent / (of_thread / 4)) + thread * 4 + i % 4;
}
template <int extent, int of_thread, class Sum>
MGE_DEVICE void read_shared(const Sum* shared, int thread, Sum (&values)[of_thread]) {
#pragma unroll
    for (int i = 0; i < of_thread; i += 4) {
        auto four = *reinterpret_cast<const Four<Sum>*>(shared + position<extent, of_thread>(thread, i));
#pragma unroll
        for (int j = 0; j < 4; ++j) values[i + j] = four.v[j];
    }
}

// The sums of a thread over the part of k that is in shared memory.
template <class Tile, class Sum>
MGE_DEVICE void accumulate(const Sum* left, const Sum* right, Sum (&sums)[Tile::thread_m][Tile::thread_n]) {
    int along_m = int(threadIdx.x) / Tile::threads_along_n,
        along_n = int(threadIdx.x) % Tile::threads_along_n;
#pragma unroll 4
    for (int k = 0; k < Tile::depth; ++k) {
        Sum a[Tile::thread_m], b[Tile::thread_n];
        read_shared<Tile::m>(left + k * (Tile::m + row_padding), along_m, a);
        read_shared<Tile::n>(right + k * (Tile::n + row_padding), along_n, b);
#pragma unroll
        for (int i = 0; i < Tile::thread_m; ++i)
#pragma unroll
            for (int j = 0; j < Tile::thread_n; ++j) sums[i][j] += a[i] * b[j];
    }
}

// One tile. While a part of k is multiplied, the next one is loaded.
template <class Tile, class Sum, class L, class R>
MGE_DEVICE void multiply_tile(L& left, R& right, int64_t k, int64_t end,
                              Sum (&sums)[Tile::thread_m][Tile::thread_n]) {
    alignas(16) __shared__ Sum left_tile[2][Tile::depth * (Tile::m + row_padding)];
    alignas(16) __shared__ Sum right_tile[2][Tile::depth * (Tile::n + row_padding)];
    left.load(k, end);
    right.load(k, end);
    left.store(left_tile[0]);
    right.store(right_tile[0]);
    __syncthreads();
    for (int now = 0; k < end; k += Tile::depth, now ^= 1) {
        bool is_more = k + Tile::depth < end;
        if (is_more) {
            left.load(k + Tile::depth, end);
            right.load(k + Tile::depth, end);
        }
        accumulate<Tile>(left_tile[now], right_tile[now], sums);
        if (is_more) {
            left.store(left_tile[now ^ 1]);
            right.store(right_tile[now ^ 1]);
        }
        __syncthreads();
    }
}

// The start of a tile.
struct TileAt {
    int64_t row, column, batch, split;
};
template <class Tile>
MGE_DEVICE TileAt tile_at(const ProductExtents& x, int64_t tile) {
    int64_t along_m = (x.rows + Tile::m - 1) / Tile::m, along_n = (x.columns + Tile::n - 1) / Tile::n;
    TileAt at;
    at.row = tile % along_m * Tile::m;
    tile /= along_m;
    at.column = tile % along_n * Tile::n;
    tile /= along_n;
    at.batch = tile % x.batches;
    at.split = tile / x.batches;
    return at;
}

template <class Work, class Sum>
MGE_DEVICE void put_sum(const Work& work, const TileAt& at, int64_t row, int64_t column, Sum sum) {
    auto& x = work.extents;
    if (x.splits == 1)
        work.put(at.batch, row, column, sum);
    else
        work.parts[((at.split * x.batches + at.batch) * x.rows + row) * x.columns + column] = float(sum);
}

// One row of every thread at a time goes through shared memory, so that neighbouring threads store
// neighbouring columns, and the code for a sum is compiled only a few times.
template <class Tile, class Work, class Sum>
MGE_DEVICE void put_tile(const Work& work, const TileAt& at, Sum (&sums)[Tile::thread_m][Tile::thread_n]) {
    constexpr int rows = Tile::m / Tile::thread_m;
    alignas(16) __shared__ Sum staged[rows * Tile::n];
    int along_m = int(threadIdx.x) / Tile::threads_along_n,
        along_n = int(threadIdx.x) % Tile::threads_along_n;
#pragma unroll
    for (int i = 0; i < Tile::thread_m; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::thread_n; ++j)
            staged[along_m * Tile::n + position<Tile::n, Tile::thread_n>(along_n, j)] = sums[i][j];
        __syncthreads();
#pragma unroll 1
        for (int e = int(threadIdx.x); e < rows * Tile::n; e += Tile::threads) {
            int64_t row = at.row + position<Tile::m, Tile::thread_m>(e / Tile::n, i);
            int64_t column = at.column + e % Tile::n;
            if (row < work.extents.rows && column < work.extents.columns)
                put_sum(work, at, row, column, staged[e]);
        }
        __syncthreads();
    }
}

template <class Tile, class Work>
__global__ void __launch_bounds__(Tile::threads) multiply_tiles(Work work, int64_t tiles) {
    using Sum = SumOf<typename Work::Value>;
    auto& x = work.extents;
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        TileAt at = tile_at<Tile>(x, tile);
        auto a = work.left(at.batch);
        auto b = work.right(at.batch);
        Share<decltype(a), Sum, Tile::m, Tile::depth, Tile::threads> left(a, at.row, x.rows);
        Share<decltype(b), Sum, Tile::n, Tile::depth, Tile::threads> right(b, at.column, x.columns);
        int64_t first = at.split * x.depth_of_split, behind = first + x.depth_of_split;
        Sum sums[Tile::thread_m][Tile::thread_n] = {};
        if (x.splits == 1)
            multiply_tile<Tile>(left, right, 0, x.depth, sums);
        else
            multiply_tile<Tile>(left, right, first, behind < x.depth ? behind : x.depth, sums);
        put_tile<Tile>(work, at, sums);
    }
}

template <class Work>
__global__ void add_parts(Work work) {
    auto& x = work.extents;
    int64_t elements = x.batches * x.rows * x.columns;
    for (int64_t i = first_piece(); i < elements; i += piece_step()) {
        float sum = 0;
        for (int64_t split = 0; split < x.splits; ++split) sum += work.parts[split * elements + i];
        int64_t row = i / x.columns;
        work.put(row / x.rows, row % x.rows, i % x.columns, sum);
    }
}

template <class Tile, class Work>
void launch_tiles(Stream stream, const Work& work, TileSize size) {
    int64_t tiles = tiles_of(work.extents, size);
    launch(multiply_tiles<Tile, Work>, bounded_blocks(tiles), unsigned(Tile::threads), 0, stream, work,
           tiles);
}

// For at least one element.
template <class Work>
void launch_products(Stream stream, const Work& work) {
    constexpr bool has_sizes = !is_integer<typename Work::Value>;
    TileSize size = has_sizes ? tile_size_for(work.extents) : TileSize::medium;
    if constexpr (has_sizes) {
        if (size == TileSize::large) launch_tiles<LargeTile>(stream, work, size);
        if (size == TileSize::small) launch_tiles<SmallTile>(stream, work, size);
    }
    if (size == TileSize::medium) launch_tiles<MediumTile>(stream, work, size);
    if constexpr (has_sizes)
        if (work.extents.splits > 1)
            launch(add_parts<Work>, grid_for(work.extents.elements()), block_threads, 0, stream, work);
}

}  // namespace mge::cuda
