// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "apps/cli/tool.h"

namespace mge::load_and_run {

struct Options {
    std::string model;
    std::string input;  // name:value[;name:value…]
    int64_t batch_size = 0;
    uint64_t seed = 0;

    int iterations = 10, warmup_iterations = 1;
    double duration = 0;  // seconds
    int threads = 0;      // 0: what the machine allows
    bool cpu = false;

    bool fast_run = false;
    std::string algorithm_cache;  // path; empty: the default one

    bool model_info = false, verbose = false;
    std::string dump_outputs;
};

// Fills in invocation.json too. Throws cli::Exit after --help, --version or a usage error.
Options parse_options(cli::Invocation& invocation);

}  // namespace mge::load_and_run
