// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/files/model_file.h"

#include <CLI/CLI.hpp>

namespace mge::cli {

Model ModelFile::read(const KeyOptions* otherwise) const {
    load(operators);
    return open_model(path, open_options(keys, otherwise));
}

void add_model_file(CLI::App& command, ModelFile& file, const std::string& name, const std::string& prefix) {
    auto from_stdin = [](std::string path) { return path == "-" ? std::string("/dev/stdin") : path; };
    command.add_option(name, file.path, "Model file, of any kind that can be read; - for stdin")
        ->required()
        ->transform(from_stdin)
        ->type_name("FILE");
    add_model_keys(command, file.keys, prefix);
    add_operator_libraries(command, file.operators);
}

}  // namespace mge::cli
