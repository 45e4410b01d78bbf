// SPDX-License-Identifier: Apache-2.0
#pragma once
// A family that offers an algorithm for channels-last images of 16 bits to plain images, as "nhwc:<name>": it
// transposes them in the workspace before a run, and the result after it.

#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Bits of the operands that are images.
struct ImageOperands {
    uint32_t inputs, outputs;
};

Support supports_channels_last(const Problem& problem, const ImageOperands& images, const Algorithm& inner);
Prepared prepare_channels_last(const PrepareContext& context, const ImageOperands& images,
                               const Algorithm& inner);
void run_channels_last(const Prepared& prepared, const Launch& launch);

inline constexpr size_t most_channels_last = 4;  // inputs or outputs

template <class Op, Algorithm (*inner)()>
Algorithm on_plain_images(const char* name) {
    static_assert(Op::inputs.size() <= most_channels_last);
    static constexpr ImageOperands images{Op::layouts.inputs, Op::layouts.outputs};
    return {name, +[](const Problem& p) { return supports_channels_last(p, images, inner()); },
            +[](const PrepareContext& c) { return prepare_channels_last(c, images, inner()); },
            run_channels_last};
}

}  // namespace mge::ops
