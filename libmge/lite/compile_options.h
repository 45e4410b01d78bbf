// SPDX-License-Identifier: Apache-2.0
#pragma once
// What users of Lite say about compilation, in the engine's words.

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

// Error for strategies that choose neither by rules nor by measured times, and for bits that are none.
void check(uint32_t strategy);
// Error for a backend or a type of device that is none.
void check(const Config& config);

// As an option, whose range says whether there may be so many.
int threads_option(size_t threads);

// Everything but where and with how many threads. Error for options that contradict each other, as two
// layouts do.
mge::CompileOptions compile_options(const Config& config, const AlgorithmPolicy& policy);

// The same program comes of both.
bool are_equal(const mge::CompileOptions& a, const mge::CompileOptions& b);

// Nothing is said that a model may say of itself, so that it may.
bool leaves_choice_to_model(const mge::CompileOptions& options);

}  // namespace lite
