// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace mge::load_and_run {

// Files to write besides the report.
struct OutputOptions {
    bool model_info = false;
    bool disable_assert_throw = false;
    std::string dump_outputs;
    std::string model_dump;

    std::string packed_model_dump, pack_info_json, pack_cache;
    std::string pack_info_cryption = "NONE", pack_model_cryption = "NONE";

    bool operator_library_with_param = false;
};

void add(CLI::App& app, OutputOptions& options);
void check(const OutputOptions& options);

}  // namespace mge::load_and_run
