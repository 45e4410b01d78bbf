// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values to try a model with, which differ between rows.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/triton_backend/network.h"

namespace mge::triton {

// An output of a run.
struct OutputValues {
    std::vector<int64_t> shape;
    std::vector<std::byte> bytes;
};

// The outputs of a run on random values, with `factor` times the rows of the file. The first rows are the
// same for every factor. Throws std::runtime_error.
std::vector<OutputValues> run_on_samples(Network& network, int64_t factor);

// True if `twice` has twice the rows, and begins with those of `once` up to rounding.
bool is_same_with_more_rows(LiteDataType type, int64_t rows, const OutputValues& once,
                            const OutputValues& twice);

}  // namespace mge::triton
