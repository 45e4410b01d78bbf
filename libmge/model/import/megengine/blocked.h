// SPDX-License-Identifier: Apache-2.0
#pragma once
// Channels in blocks: a dump for a certain processor stores images as (N, C/b, H, W, b) and weights with the
// blocks of both channel axes last. We choose layouts ourselves when compiling, so the importer takes the
// blocks apart again; the pairs of transposes that remain between two operators cancel.

#include <cstdint>
#include <optional>

#include "libmge/tensor/tensor.h"

namespace mge::megengine {

// Channels per block for a value of MegEngine's format enumeration: 1 for NCHW; nullopt for formats that are
// not read.
std::optional<int64_t> block_of_format(uint32_t format);

// (N, C/b, H, W, b) <-> (N, C, H, W)
Tensor unblocked(const Tensor& x, int64_t block);
Tensor blocked(const Tensor& x, int64_t block);

// To (OC, IC, FH, FW), or (G, OC/G, IC/G, FH, FW) for groups, from
//   dense      (OC/b, IC/b, FH, FW, b, b)    input channels before output channels, or the other way round
//   grouped    (G, OC/G/b, IC/G/b, FH, FW, b, b)
//   per channel (G/b, 1, 1, FH, FW, b)
//   first layer (OC/b, FH, FW, IC, b)        its input is not blocked
Tensor unblocked_weight(const Tensor& weight, int64_t block, bool is_grouped, bool inputs_last);
// Whether the block of input channels is the last axis of a weight.
bool has_inputs_last(uint32_t format);

}  // namespace mge::megengine
