// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mge::load_and_run {

// The inputs of the model.
struct InputOptions {
    std::vector<std::string> values;  // per test: name:value[;name:value…]
    std::vector<int64_t> batch_sizes;
    uint64_t seed = 0;
    bool copy_to_host = false;
};

void add(CLI::App& app, InputOptions& options);
void check(const InputOptions& options);

}  // namespace mge::load_and_run
