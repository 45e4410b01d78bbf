// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random words for numbers that are made by trial: an element takes as many blocks as its trials need, each
// from a place of its own, so that no element's numbers depend on another's.

#include "libmge/kernel/cpu/philox_blocks.h"

namespace mge::ops {

class ElementDraws {
public:
    // Elements are fewer than 2^40 and need fewer than 2^24 blocks.
    ElementDraws(const PhiloxBlocks& blocks, int64_t element) : blocks_(blocks), next_(element) {}

    PhiloxWords operator()() {
        PhiloxWords words = blocks_[next_];
        next_ += int64_t(1) << 40;
        return words;
    }

private:
    const PhiloxBlocks& blocks_;
    int64_t next_;
};

// (0, 1), never one of the ends.
inline double open_uniform(unsigned bits) { return (double(bits) + 0.5) * 0x1p-32; }

}  // namespace mge::ops
