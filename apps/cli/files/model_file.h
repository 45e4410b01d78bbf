// SPDX-License-Identifier: Apache-2.0
#pragma once
// The model that a tool works on: its argument, and options needed to open it.

#include <string>
#include <vector>

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

    // Loads the libraries, then the model. `otherwise` is passed to open_options().
    Model read(const KeyOptions* otherwise = nullptr) const;
};

// Defines the required argument MODEL, the flags for its key, which start with `prefix`, and those for
// operator libraries.
void add_model_file(CLI::App& command, ModelFile& file, const std::string& name = "model",
                    const std::string& prefix = {});

// Defines the optional argument MODEL for any number of models.
void add_model_files(CLI::App& command, std::vector<std::string>& paths);
// Defines the flags of add_model_file() without the argument.
void add_model_options(CLI::App& command, ModelFile& file, const std::string& prefix = {});

}  // namespace mge::cli
