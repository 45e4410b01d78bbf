// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// The gradient of batch normalisation where neighbouring elements are channels (channels last, whole blocks
// of channels), in f32 and bf16.
Algorithm batch_norm_backward_by_channels();

// oneDNN's batch normalisations, with the statistics of the batch or with given ones. f32, and bf16 with f32
// statistics. Those for channels-last and blocked images are the best there are; those for plain ones take 5
// to 18 times as long as our own rows.
Algorithm onednn_batch_norm();
Algorithm onednn_batch_norm_plain();

}  // namespace mge::ops
