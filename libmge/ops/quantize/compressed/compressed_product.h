// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the kernels of compressed_matmul.

#include "libmge/ops/quantize/compressed/compressed_matmul.h"
#include "libmge/ops/quantize/compressed/compressed_weight.h"

namespace mge::ops {

// UserError when the inputs do not fit together.
MGE_API CompressedWeight compressed_weight(const CompressedMatmul::Params& params, Specs inputs);
MGE_API int64_t rows_of_x(const Problem& problem);

}  // namespace mge::ops
