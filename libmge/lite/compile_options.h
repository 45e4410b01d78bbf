// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compile options of Lite users, converted to the engine's.

#include <cstdint>
#include <optional>

#include "libmge/compile/options/options.h"
#include "lite/network.h"

namespace lite {

// How algorithms are chosen.
struct AlgorithmPolicy {
    uint32_t strategy = 0;  // bits of LiteAlgoSelectStrategy; 0: as the engine does by itself
    uint32_t shared_batch_size = 0;
    bool binary_equal_between_batch = false;
    size_t workspace_limit = SIZE_MAX;
    mge::CostSource measure;  // instead of a clock, for tests
};

// Error for strategies that select neither rules nor measured times, and for invalid bits.
void check(uint32_t strategy);
// Error for an unknown backend or device type.
void check(const Config& config);

// The number as an option, whose range is checked.
int threads_option(size_t threads);

// Everything but where and with how many threads. Error for options that contradict each other, as two
// layouts do.
mge::CompileOptions compile_options(const Config& config, const AlgorithmPolicy& policy);

// The same program comes of both.
bool are_equal(const mge::CompileOptions& a, const mge::CompileOptions& b);

// No setting overrides the model's stored options, so they apply.
bool leaves_choice_to_model(const mge::CompileOptions& options);

}  // namespace lite
