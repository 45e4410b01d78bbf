// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work on the parts of a tensor in one channel, which share a scale and a zero point.

#include <algorithm>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/quantise_rows.h"
#include "libmge/ops/quantize/quantisation.h"

namespace mge::ops {

// Calls fn(begin, end, steps) for such parts; `zeros` may be null.
template <class Zero, class Fn>
void for_channels(const Channels& channels, int threads, const float* scales, const Zero* zeros,
                  StepRange range, Fn&& fn) {
    auto steps = [&](int64_t c) {
        return cpu::Steps{scales[c], zeros ? float(zeros[c]) : 0.f, float(range.lower), float(range.upper)};
    };
    int64_t inner = channels.inner();
    if (channels.rows() == 1)
        return par_for(threads, inner, parallel_grain,
                       [&](int64_t begin, int64_t end) { fn(begin, end, steps(0)); });
    int64_t grain = std::max<int64_t>(1, parallel_grain / std::max<int64_t>(1, inner));
    par_for(threads, channels.rows(), grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
            fn(row * inner, (row + 1) * inner, steps(channels.scale_of(row)));
    });
}

}  // namespace mge::ops
