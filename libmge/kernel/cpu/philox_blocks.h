// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/scalar/philox.h"

namespace mge {

// The random bits of one operator call: block b serves the elements 4b … 4b + 3, on any thread.
class PhiloxBlocks {
public:
    // state: seed and counter.
    PhiloxBlocks(const int32_t* state, uint32_t stream)
        : key_(uint32_t(state[0])), counter_(uint32_t(state[1])), stream_(stream) {}

    PhiloxWords operator[](int64_t block) const { return philox(uint64_t(block), counter_, stream_, key_); }

    // y[4b … 4b + 3] = make(block b) for `count` elements; make(words, float (&)[4]).
    template <class Make>
    void fill(int threads, int64_t count, float* y, Make&& make) const {
        par_for(threads, (count + 3) / 4, parallel_grain / nanoseconds_per_block,
                [&](int64_t begin, int64_t end) {
                    for (int64_t b = begin; b < end; ++b) {
                        float four[4];
                        make((*this)[b], four);
                        std::copy_n(four, std::min<int64_t>(4, count - 4 * b), y + 4 * b);
                    }
                });
    }

    static constexpr int64_t nanoseconds_per_block = 16;

private:
    uint32_t key_, counter_, stream_;
};

}  // namespace mge
