// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <random>
#include <span>

namespace mge::fuzz {

// The same numbers from the same seed everywhere, which the distributions of <random> do not promise.
class Random {
public:
    explicit Random(unsigned seed) : engine_(seed) {}

    unsigned bits() { return unsigned(engine_()); }
    size_t below(size_t n) {
        size_t high = engine_();
        return n ? (high << 32 | engine_()) % n : 0;
    }
    bool one_in(size_t n) { return below(n) == 0; }
    template <class Range>
    auto& pick(Range&& range) {
        return std::data(range)[below(std::size(range))];
    }

private:
    std::mt19937 engine_;
};

}  // namespace mge::fuzz
