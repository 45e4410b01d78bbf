// SPDX-License-Identifier: Apache-2.0
#pragma once
// The model that a tool works on: its argument, and the options that opening it may need.

#include <string>

#include "apps/cli/options/key_options.h"
#include "apps/cli/options/operator_options.h"
#include "libmge/model/model.h"

namespace CLI {
class App;
}

namespace mge::cli {

struct ModelFile {
    std::string path;
    ModelKeys keys;
    OperatorLibraries operators{};

    // Loads the libraries first. `otherwise`: as of open_options().
    Model read(const KeyOptions* otherwise = nullptr) const;
};

// Defines the argument MODEL, required, the flags for its key, which begin with `prefix`, and those for
// operators.
void add_model_file(CLI::App& command, ModelFile& file, const std::string& name = "model",
                    const std::string& prefix = {});

}  // namespace mge::cli
