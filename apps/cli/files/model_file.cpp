// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/files/model_file.h"

#include <CLI/CLI.hpp>

namespace mge::cli {
namespace {

constexpr auto description = "Model file, of any kind that can be read; - for stdin";

CLI::Option* as_model(CLI::Option* argument) {
    auto from_stdin = [](std::string path) { return path == "-" ? std::string("/dev/stdin") : path; };
    return argument->transform(from_stdin)->type_name("FILE");
}

}  // namespace

Model ModelFile::read(const KeyOptions* otherwise) const {
    load(operators);
    return open_model(path, open_options(keys, otherwise));
}

void add_model_file(CLI::App& command, ModelFile& file, const std::string& name, const std::string& prefix) {
    as_model(command.add_option(name, file.path, description))->required();
    add_model_options(command, file, prefix);
}

void add_model_files(CLI::App& command, std::vector<std::string>& paths) {
    as_model(command.add_option("model", paths, description));
}

void add_model_options(CLI::App& command, ModelFile& file, const std::string& prefix) {
    add_model_keys(command, file.keys, prefix);
    add_operator_libraries(command, file.operators);
}

}  // namespace mge::cli
