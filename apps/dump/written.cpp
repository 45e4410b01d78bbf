// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/written.h"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/output/table.h"
#include "libmge/base/unique_names.h"
#include "libmge/inspect/value_names.h"

namespace mge::dump {
namespace {

size_t constants_of(const Graph& graph) {
    size_t count = 0;
    for (auto& value : graph.values()) count += value.is_constant();
    return count;
}

}  // namespace

std::vector<std::string> value_names(const Graph& graph) {
    std::vector<std::string> names;
    UniqueNames taken;
    Graph named = name_values(graph);  // the names in runs, profiles and dumps
    for (size_t i = 0; i < named.values().size(); ++i) {
        auto& value = named.value(ValueId(i));
        std::string name = value.name.empty() ? text(value.is_constant() ? "c" : "v", i) : value.name;
        names.push_back(taken.unique(name));
    }
    return names;
}

cli::Json write_and_describe(const std::string& path, const Model& model) {
    write_model(path, model);
    return describe_written(path, model);
}

cli::Json describe_written(const std::string& path, const Model& model) {
    std::error_code is_special;  // a device has no size
    auto bytes = std::filesystem::file_size(path, is_special);
    if (is_special) bytes = 0;
    cli::Json result{{"path", path},
                     {"bytes", bytes},
                     {"operators", model.graph.nodes().size()},
                     {"constants", constants_of(model.graph)},
                     {"test_cases", model.test_cases.size()}};
    std::cout << "wrote '" << path << "': " << cli::counted(model.graph.nodes().size(), "operator") << ", "
              << cli::counted(constants_of(model.graph), "constant") << ", "
              << cli::counted(model.test_cases.size(), "test case") << ", "
              << cli::format_bytes(double(bytes)) << '\n';
    return result;
}

}  // namespace mge::dump
