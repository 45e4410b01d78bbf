// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "apps/cli/options/dimension_option.h"

namespace CLI {
class App;
}

namespace mge::load_and_run {

// The inputs of the model.
struct InputOptions {
    std::vector<std::string> values;  // per test: name:value[;name:value…]
    std::vector<int64_t> batch_sizes;
    cli::DimensionOption dimensions;
    std::string shapes;  // per input: name:(1,3,224,224),(1,3,256,256)
    bool round_robin = false;
    uint64_t seed = 0;
    bool copy_to_host = false;
    // Whether the tests are the model's test cases, if it has any.
    bool are_of_model() const {
        return values.empty() && batch_sizes.empty() && shapes.empty() && !dimensions.is_given();
    }
};

void add(CLI::App& app, InputOptions& options);
void check(const InputOptions& options);

}  // namespace mge::load_and_run
