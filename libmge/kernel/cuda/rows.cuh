// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows that a team of threads goes over several times. Short ones are held in registers, so that they are
// read once; longer ones are read again, from the cache as a rule.

#include "libmge/kernel/cuda/grid.cuh"
#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/together.cuh"

namespace mge::cuda {

template <class T, int pack>
MGE_DEVICE void load_pack(const T* x, float (&v)[pack]) {
    auto loaded = *reinterpret_cast<const Pack<T, pack>*>(x);
#pragma unroll
    for (int k = 0; k < pack; ++k) v[k] = to_float(loaded.v[k]);
}
template <class T, int pack>
MGE_DEVICE void store_pack(T* y, const float (&v)[pack]) {
    Pack<T, pack> stored;
#pragma unroll
    for (int k = 0; k < pack; ++k) stored.v[k] = from_float<T>(v[k]);
    *reinterpret_cast<Pack<T, pack>*>(y) = stored;
}

struct Plus {
    template <class V>
    MGE_DEVICE V operator()(V a, V b) const {
        return a + b;
    }
};
// NaN where there is one.
struct Largest {
    MGE_DEVICE float operator()(float a, float b) const { return b > a || b != b ? b : a; }
};

// A warp or a block, each of which has a row at a time.
template <bool is_block>
struct Team {
    static MGE_DEVICE int thread() { return is_block ? int(threadIdx.x) : int(threadIdx.x) % 32; }
    static MGE_DEVICE int size() { return is_block ? int(blockDim.x) : 32; }
    static MGE_DEVICE int64_t first_row() { return is_block ? int64_t(blockIdx.x) : first_piece() / 32; }
    static MGE_DEVICE int64_t row_step() { return is_block ? int64_t(gridDim.x) : piece_step() / 32; }
    template <class V, class Join>
    static MGE_DEVICE V together(V value, Join join) {
        if constexpr (is_block)
            return across_block(value, join);
        else
            return across_lanes(value, 32, join);
    }
};

// One row of each of some operands. `held`: number of packs that a thread keeps; 0: they are read again.
template <class T, int operands, int pack, int held>
struct Row {
    const T* x[operands];
    int64_t packs;
    int thread, threads;
    float v[held ? held : 1][operands][pack];

    MGE_DEVICE bool holds(int k) const { return thread + k * threads < int(packs); }
    // All loads are issued before the first is waited for. Missing elements stay zero.
    MGE_DEVICE void load() {
        if constexpr (held > 0) {
            Pack<T, pack> loaded[held][operands] = {};
#pragma unroll
            for (int k = 0; k < held; ++k)
                if (holds(k))
#pragma unroll
                    for (int operand = 0; operand < operands; ++operand)
                        loaded[k][operand] =
                            reinterpret_cast<const Pack<T, pack>*>(x[operand])[thread + k * threads];
#pragma unroll
            for (int k = 0; k < held; ++k)
#pragma unroll
                for (int operand = 0; operand < operands; ++operand)
#pragma unroll
                    for (int i = 0; i < pack; ++i) v[k][operand][i] = to_float(loaded[k][operand].v[i]);
        }
    }
    // fn(number of the first element, values) for all packs of the thread. Held values that fn changes stay
    // so.
    template <class Fn>
    MGE_DEVICE void each(Fn fn) {
        if constexpr (held > 0) {
#pragma unroll
            for (int k = 0; k < held; ++k)
                if (holds(k)) fn(int64_t(thread + k * threads) * pack, v[k]);
        } else {
            for (int64_t i = thread; i < packs; i += threads) {
#pragma unroll
                for (int operand = 0; operand < operands; ++operand)
                    load_pack(x[operand] + i * pack, v[0][operand]);
                fn(i * pack, v[0]);
            }
        }
    }
};

template <class Team, int pack, int held, int operands, class T>
MGE_DEVICE Row<T, operands, pack, held> row_of(const T* const (&x)[operands], int64_t row, int64_t n) {
    Row<T, operands, pack, held> made;
#pragma unroll
    for (int operand = 0; operand < operands; ++operand) made.x[operand] = x[operand] + row * n;
    made.packs = n / pack;
    made.thread = Team::thread();
    made.threads = Team::size();
    made.load();
    return made;
}

// Packs of each operand that a thread keeps: enough loads in flight, with registers for several blocks.
template <int pack, int operands>
inline constexpr int held_packs = pack == 1 ? 8 : 32 / pack / operands;

// Calls fn(team, pack, held as Number<...>, blocks, threads) with parameters for rows of so many elements.
// With many rows, as few threads as can hold one share it, which minimises their waits.
template <int n>
struct Number {
    static constexpr int value = n;
};
template <int pack, int operands, class Fn>
void with_packs(int64_t rows, int64_t n, Fn fn) {
    constexpr int held = held_packs<pack, operands>, few = held < 4 ? 1 : held / 4,
                  warps = block_threads / 32;
    constexpr int64_t many_rows = 512, of_warp = 32 * held * pack;
    if (n <= 32 * few * pack)
        return fn(Team<false>(), Number<pack>(), Number<few>(), grid_for(rows * 32), block_threads);
    if (n <= of_warp && rows >= many_rows)
        return fn(Team<false>(), Number<pack>(), Number<held>(), grid_for(rows * 32), block_threads);
    unsigned blocks = bounded_blocks(rows);
    if constexpr (pack > 1)
        if (n <= warps * of_warp) {
            int threads = rows < many_rows ? block_threads : int((n + of_warp - 1) / of_warp) * 32;
            return fn(Team<true>(), Number<pack>(), Number<held>(), blocks, threads);
        }
    fn(Team<true>(), Number<pack>(), Number<0>(), blocks, block_threads);
}
// `can_pack`: rows may be read 16 bytes at a time.
template <class T, int operands, class Fn>
void for_rows(int64_t rows, int64_t n, bool can_pack, Fn fn) {
    if (rows == 0) return;
    if (can_pack && n % pack_size<T> == 0)
        with_packs<pack_size<T>, operands>(rows, n, fn);
    else
        with_packs<1, operands>(rows, n, fn);
}

}  // namespace mge::cuda
