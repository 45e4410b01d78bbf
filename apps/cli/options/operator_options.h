// SPDX-License-Identifier: Apache-2.0
#pragma once
// Libraries with operators that a model may use besides those of mge.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mge::cli {

struct OperatorLibraries {
    std::vector<std::string> paths;
    std::string entry;  // the function that names the operators; empty: the usual one
};

// Defines --c-opr-lib and --c-opr-init-interface.
void add_operator_libraries(CLI::App& command, OperatorLibraries& libraries);
// Does nothing for one that was loaded already. OperatorLibraryError says why one cannot be.
void load(const OperatorLibraries& libraries);

}  // namespace mge::cli
