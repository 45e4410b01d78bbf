// SPDX-License-Identifier: Apache-2.0
#pragma once
// The blocks of kernel/scalar/philox.h in vectors.

#include <cstdint>

namespace mge::cpu {

struct PhiloxStream {
    uint32_t key, counter, stream;
};

// `blocks` blocks from `first` on; the results have room for a multiple of philox_vector blocks.
inline constexpr int64_t philox_vector = 16;
struct PhiloxRows {
    void (*words)(const PhiloxStream&, int64_t first, int64_t blocks, uint32_t* words);
    void (*normal)(const PhiloxStream&, int64_t first, int64_t blocks, float mean, float deviation, float* y);
};
const PhiloxRows& philox_rows();

}  // namespace mge::cpu
