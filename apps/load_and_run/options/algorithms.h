// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "apps/cli/options/key_options.h"

namespace CLI {
class App;
}

namespace mge::load_and_run {

// How the algorithm of each step is chosen.
struct AlgorithmOptions {
    bool fast_run = false, full_run = false;
    bool binary_equal_between_batch = false;
    int64_t shared_batch_size = 0;
    std::string cache;          // path; empty: the default one
    cli::KeyOptions cache_key;  // key of an encrypted cache; default: the model's
    uint64_t workspace_limit = UINT64_MAX;
    bool no_model_cache = false;

    bool measures() const { return fast_run || full_run; }
};

void add(CLI::App& app, AlgorithmOptions& options);
void check(const AlgorithmOptions& options);

}  // namespace mge::load_and_run
