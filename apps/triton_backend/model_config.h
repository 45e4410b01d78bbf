// SPDX-License-Identifier: Apache-2.0
#pragma once
// The configuration of a model in Triton's JSON.
#include <string>
#include <vector>

#include "apps/triton_backend/network.h"

namespace mge::triton {

// The settings of a configuration that this backend reads.
struct ModelSettings {
    std::string file_name;  // "": the only file of the version's folder
    std::string key_file, fast_run_cache;
    int threads = 0;  // 0: the CPUs divided by the instances
    int instances = 1;
    int max_batch = 0;          // 0: requests have no batch dimension of Triton's
    bool has_batching = false;  // max_batch is given, or batches are switched off
};

// Throws std::runtime_error for text that is not a configuration.
ModelSettings settings_of(const std::string& config);

// The configuration with inputs, outputs, batch size and batching where they are missing. Shapes of `inputs`
// and `outputs` are whole; `max_batch` 0: no batches.
std::string completed(const std::string& config, const std::vector<TensorInfo>& inputs,
                      const std::vector<TensorInfo>& outputs, int max_batch);

}  // namespace mge::triton
