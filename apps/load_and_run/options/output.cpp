// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/options/output.h"

#include <CLI/CLI.hpp>

#include "apps/cli/options/output_option.h"
#include "libmge/base/error.h"

namespace mge::load_and_run {
namespace {

void add_packing(CLI::App& app, OutputOptions& o) {
    auto* passed = app.add_option("--model-dump", o.model_dump,
                                  "Write the model as it is after the passes that ran on it");
    cli::replaces(cli::written(passed), "model")->type_name("FILE.mge");
    auto* packed =
        app.add_option("--packed-model-dump", o.packed_model_dump, "Write a packed Lite model of the file");
    cli::replaces(cli::written(packed), "model")->type_name("FILE.lite");
    app.add_option("--pack-info-json", o.pack_info_json, "Information to pack with it")->type_name("FILE");
    app.add_option("--pack-cache", o.pack_cache, "Algorithm cache to pack with it (default: this run's)")
        ->type_name("FILE");
    app.add_option("--pack-info-cryption", o.pack_info_cryption, "Cipher recorded for the information")
        ->capture_default_str();
    app.add_option("--pack-model-cryption", o.pack_model_cryption, "Cipher recorded for the model")
        ->capture_default_str();
}

}  // namespace

void add(CLI::App& app, OutputOptions& o) {
    app.add_flag("--model-info", o.model_info, "Print the table of inputs and outputs");
    app.add_flag("--disable-assert-throw", o.disable_assert_throw,
                 "Print a test case that differs, but do not fail");
    cli::written(
        app.add_option("--dump-outputs", o.dump_outputs, "Write the outputs of the first test, by name"))
        ->type_name("FILE.npz");
    add_packing(app, o);
    app.add_flag("--c-opr-lib-with-param", o.operator_library_with_param,
                 "The library's operators take parameters from the test case (here the model has them)");
}

void check(const OutputOptions& o) {
    auto needs_packing = [&](bool is_given, const char* option) {
        if (is_given && o.packed_model_dump.empty())
            throw_value_error(option, "needs --packed-model-dump FILE");
    };
    needs_packing(!o.pack_info_json.empty(), "--pack-info-json");
    needs_packing(!o.pack_cache.empty(), "--pack-cache");
    needs_packing(o.pack_info_cryption != "NONE", "--pack-info-cryption");
    needs_packing(o.pack_model_cryption != "NONE", "--pack-model-cryption");
}

}  // namespace mge::load_and_run
