// SPDX-License-Identifier: Apache-2.0
#pragma once
// Channels in blocks: a dump for a certain processor stores images as (N, C/b, H, W, b) and weights with the
// blocks of both channel axes last. We choose layouts ourselves when compiling, so the importer takes the
// blocks apart again; the pairs of transposes that remain between two operators cancel.

#include <cstdint>
#include <optional>

#include "libmge/tensor/tensor.h"

namespace mge::megengine {

// Which axes of a weight are in blocks, and the order of these.
enum class WeightBlocks { none, inputs_outputs, outputs_inputs, inputs };

// Channels per block of an operator's input and output, 1 for plain images.
struct Blocks {
    int64_t images = 1, results = 1;
    WeightBlocks weight = WeightBlocks::none;
};
// For a value of MegEngine's format enumeration; nullopt for unsupported formats.
std::optional<Blocks> blocks_of_format(uint32_t format);
// Channels per block where an operator leaves the layout as it is.
std::optional<int64_t> block_of_format(uint32_t format);

// (N, C/b, H, W, b) <-> (N, C, H, W)
Tensor unblocked(const Tensor& x, int64_t block);
Tensor blocked(const Tensor& x, int64_t block);

// To (OC, IC, FH, FW), or (G, OC/G, IC/G, FH, FW) for groups, from
//   dense      (OC/b, IC/b, FH, FW, b, b)    input channels before output channels, or the other way round
//   grouped    (G, OC/G/b, IC/G/b, FH, FW, b, b)
//   per channel (G/b, 1, 1, FH, FW, b)
//   first layer (OC/b, FH, FW, IC, b)        its input is not blocked
// and where only inputs are in blocks
//   dense      (OC, IC/b, FH, FW, b)
//   grouped    (G, OC/G, IC/G/b, FH, FW, b)
Tensor unblocked_weight(const Tensor& weight, const Blocks& blocks, bool is_grouped);

}  // namespace mge::megengine
