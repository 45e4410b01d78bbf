// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/options/operator_options.h"

#include <CLI/CLI.hpp>

#include "libmge/op/operator_library.h"

namespace mge::cli {

void add_operator_libraries(CLI::App& command, OperatorLibraries& libraries) {
    command
        .add_option("--c-opr-lib", libraries.paths,
                    "Library with additional operators or devices for the model; may be repeated")
        ->type_name("FILE.so")
        ->allow_extra_args(false);
    command
        .add_option("--c-opr-init-interface", libraries.entry,
                    text("Name of the library's entry function (", operators_symbol, ")"))
        ->type_name("SYMBOL");
}

void load(const OperatorLibraries& libraries) {
    if (libraries.paths.empty() && !libraries.entry.empty())
        throw_value_error("--c-opr-init-interface", "needs --c-opr-lib FILE.so");
    const char* entry = libraries.entry.empty() ? operators_symbol : libraries.entry.c_str();
    try {
        for (auto& path : libraries.paths) load_operators(path, entry);
    } catch (const OperatorLibraryError& e) {
        throw OperatorLibraryError(text("[--c-opr-lib] ", e.what()));
    }
}

}  // namespace mge::cli
