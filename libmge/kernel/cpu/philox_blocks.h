// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/philox_rows.h"
#include "libmge/kernel/scalar/philox.h"

namespace mge {

// The random bits of one operator call: block b serves the elements 4b … 4b + 3, on any thread.
class PhiloxBlocks {
public:
    // state: seed and counter.
    PhiloxBlocks(const int32_t* state, uint32_t stream)
        : source_{uint32_t(state[0]), uint32_t(state[1]), stream} {}

    PhiloxWords operator[](int64_t block) const {
        return philox(uint64_t(block), source_.counter, source_.stream, source_.key);
    }

    // Calls fn(first, n, bits) for pieces of [0, count), on any thread: bits[i] serves element first + i.
    template <class Fn>
    void for_pieces(int threads, int64_t count, Fn&& fn) const {
        in_pieces(threads, count, [&](int64_t block, int64_t n) {
            uint32_t bits[4 * piece];
            cpu::philox_rows().words(source_, block, (n + 3) / 4, bits);
            fn(4 * block, n, bits);
        });
    }
    // y = mean + deviation * independent normal numbers.
    void normal(int threads, int64_t count, float mean, float deviation, float* y) const {
        in_pieces(threads, count, [&](int64_t block, int64_t n) {
            float numbers[4 * piece];
            cpu::philox_rows().normal(source_, block, (n + 3) / 4, mean, deviation, numbers);
            std::copy_n(numbers, n, y + 4 * block);
        });
    }

    static constexpr int64_t nanoseconds_per_piece = 256;

private:
    static constexpr int64_t piece = 64;  // blocks whose words stay in the L1 cache
    static_assert(piece % cpu::philox_vector == 0);

    // Calls fn(block, n) for pieces of n elements from that block on.
    template <class Fn>
    static void in_pieces(int threads, int64_t count, Fn&& fn) {
        par_for(threads, ceil_div(count, 4 * piece), parallel_grain / nanoseconds_per_piece,
                [&](int64_t i, int64_t end) {
                    for (; i < end; ++i) fn(i * piece, std::min(4 * piece, count - i * 4 * piece));
                });
    }

    cpu::PhiloxStream source_;
};

}  // namespace mge
