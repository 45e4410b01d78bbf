// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model of the server, and its instances.
#include <mutex>
#include <string>

#include "apps/triton_backend/model_config.h"
#include "apps/triton_backend/network.h"

namespace mge::triton {

class Model {
public:
    // Loads the model of a version's folder and tries it, which finds the outputs' shapes and whether there
    // are batches. Throws std::runtime_error.
    Model(const std::string& config, const std::string& folder);

    // The completed configuration.
    std::string config() const;
    int max_batch() const { return max_batch_; }

    // A network for one more instance, which is ready for batches; thread-safe.
    std::unique_ptr<Network> make_network();

private:
    void describe_outputs();

    std::string config_;
    ModelSettings settings_;
    LoadOptions options_;
    std::unique_ptr<Network> source_;
    std::vector<TensorInfo> inputs_, outputs_;
    int max_batch_ = 0;
    std::mutex mutex_;
};

}  // namespace mge::triton
