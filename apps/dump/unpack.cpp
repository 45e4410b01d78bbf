// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/options/key_options.h"
#include "apps/cli/options/output_option.h"
#include "apps/dump/commands.h"
#include "libmge/model/pack.h"

namespace mge::dump {
namespace {

struct UnpackOptions {
    std::string packed;
    UnpackPaths paths;
    cli::KeyOptions key;
};

int run(const UnpackOptions& options, const cli::Invocation& invocation) {
    auto& wanted = options.paths;
    if (wanted.model.empty() && wanted.info.empty() && wanted.cache.empty())
        throw cli::UsageError("no output file is given", "give a file for the model, --info or --cache");
    UnpackPaths written = unpack_model(options.packed, wanted, cli::key_provider(options.key));
    cli::Json parts = cli::Json::object();
    auto report = [&](const char* part, const std::string& requested, const std::string& path) {
        if (requested.empty()) return;
        parts[part] = path.empty() ? cli::Json() : cli::Json(path);
        if (path.empty())
            std::cout << "there is no " << part << " in '" << options.packed << "'\n";
        else
            std::cout << "wrote the " << part << " to '" << path << "'\n";
    };
    report("model", wanted.model, written.model);
    report("info", wanted.info, written.info);
    report("cache", wanted.cache, written.cache);
    return cli::finish(invocation, {{"input", options.packed}, {"parts", parts}});
}

}  // namespace

void add_unpack(cli::App& app) {
    auto options = std::make_shared<UnpackOptions>();
    auto& command = app.command("unpack", "Extracts the parts of a packed Lite model",
                                [options, &app] { return run(*options, app.invocation()); });
    command.add_option("packed", options->packed, "The packed file")->required()->type_name("FILE");
    cli::written(command.add_option("output", options->paths.model, "Output file for the decrypted model"))
        ->type_name("FILE");
    cli::written(
        command.add_option("--info", options->paths.info, "Output file for the JSON about the model"))
        ->type_name("FILE");
    cli::written(command.add_option("--cache", options->paths.cache, "Output file for the fast-run cache"))
        ->type_name("FILE");
    cli::add_key_options(command, options->key, "the key of encrypted parts");
}

}  // namespace mge::dump
