// SPDX-License-Identifier: Apache-2.0
#pragma once
// Libraries with additional operators for models.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mge::cli {

struct OperatorLibraries {
    std::vector<std::string> paths;
    std::string entry;  // exported function that returns the operators; empty: the default name
};

// Defines --c-opr-lib and --c-opr-init-interface.
void add_operator_libraries(CLI::App& command, OperatorLibraries& libraries);
// Skips libraries that are loaded already. Throws OperatorLibraryError with the reason if one cannot be
// loaded.
void load(const OperatorLibraries& libraries);

}  // namespace mge::cli
