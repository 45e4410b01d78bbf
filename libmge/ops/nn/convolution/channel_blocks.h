// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of our own convolutions: blocks of channels, and weights packed by them; requirements.

#include <memory>

#include "libmge/kernel/algorithm.h"
#include "libmge/ops/nn/convolution/geometry.h"

namespace mge::onednn {
class PackedWeight;
}
namespace mge::cpu {
struct GatheredWindows;
}

namespace mge::ops {

// Number of contiguous channels in the layout of the fastest f32 kernels.
int64_t channel_block();
Layout channel_blocks();

// True where oneDNN has generated kernels for the processor's vectors: on x86-64. On Arm it has them for SVE
// of 512 bits only, and our own kernels do what they can.
bool has_fast_library();

// Refuses all but f32, and empty tensors.
Support is_of_f32(const Problem& problem);
// The same, and weights that are no constants or not plain.
Support has_constant_weights_of_f32(const Problem& problem);
// Refuses an x in another layout, other images that are not in nhwc, empty images, factors of other dtypes
// than bf16, a bias and a residual of another dtype than y, and weights that are not plain.
Support has_channels_last_of_bf16(const Problem& problem, const Layout& layout_of_x = Layout::named("nhwc"));
// Refuses a convolution whose images and residual are not in channel_blocks(), or whose activation changes
// the padding zeros in the last block of y.
Support uses_channel_blocks(const Problem& problem);

// All windows, to be gathered.
cpu::GatheredWindows windows_of(const ConvGeometry& geometry);

// (oc / block, ic, kernel height, kernel width, block); zeros fill the last block. Blocks of 4, 8 or 16.
struct BlockedWeight {
    std::shared_ptr<const onednn::PackedWeight> weight;
    PackedInputs inputs;
};
BlockedWeight pack_blocks(const PrepareContext& context, const ConvGeometry& geometry, int64_t block);

}  // namespace mge::ops
