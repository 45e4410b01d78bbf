// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/pack.h"
#include "apps/cli/options/one_of.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/options/key_options.h"
#include "apps/cli/options/output_option.h"
#include "apps/cli/output/table.h"
#include "apps/dump/commands.h"
#include "libmge/base/files/file.h"
#include "libmge/base/log.h"
#include "libmge/model/crypt/cipher.h"

namespace mge::dump {
namespace {

struct PackingOptions {
    std::string model, output, info_file;
    PackOptions pack;
    cli::KeyOptions key;
};

std::vector<std::string> ciphers() {
    std::vector<std::string> names = cipher_names();
    if (std::ranges::find(names, no_cipher) == names.end()) names.insert(names.begin(), no_cipher);
    return names;
}

void warn_of_weakness(const std::string& cipher) {
    if (cipher == no_cipher) return;
    if (auto& weakness = find_cipher(cipher)->weakness; !weakness.empty()) log_warning(weakness);
}

int run(PackingOptions options, const cli::Invocation& invocation) {
    if (!options.info_file.empty()) options.pack.info = read_text(options.info_file);
    auto& pack = options.pack;
    if (pack.model_cipher != no_cipher || pack.info_cipher != no_cipher)
        pack.key = cli::key_provider(options.key);
    else if (options.key.are_given())
        throw cli::UsageError("a key was given, but no part is encrypted", "add --cipher or --info-cipher");
    warn_of_weakness(pack.model_cipher);
    if (pack.info_cipher != pack.model_cipher) warn_of_weakness(pack.info_cipher);
    pack_model(options.model, options.output, pack);
    std::error_code is_special;  // a device has no size
    auto bytes = std::filesystem::file_size(options.output, is_special);
    if (is_special) bytes = 0;
    std::cout << "packed '" << options.model << "' into '" << options.output << "', "
              << cli::format_bytes(double(bytes)) << '\n';
    return cli::finish(invocation, {{"input", options.model},
                                    {"packed",
                                     {{"path", options.output},
                                      {"bytes", bytes},
                                      {"model_cipher", pack.model_cipher},
                                      {"info_cipher", pack.info_cipher},
                                      {"has_info", !pack.info.empty()},
                                      {"has_cache", !pack.cache.empty()}}}});
}

}  // namespace

void add_pack(cli::App& app) {
    auto options = std::make_shared<PackingOptions>();
    auto& command = app.command("pack", "Packs a model, its info and a fast-run cache into one file for Lite",
                                [options, &app] { return run(*options, app.invocation()); });
    command.add_option("model", options->model, "Model file, packed unchanged")
        ->required()
        ->type_name("FILE");
    cli::add_written_file(command, "output", options->output, "The packed file to write");
    command
        .add_option("--info", options->info_file, "JSON about the model: inputs, outputs, device, options")
        ->type_name("FILE");
    command.add_option("--cache", options->pack.cache, "Fast-run cache of MGE or MegEngine")
        ->type_name("FILE");
    command
        .add_option("--name", options->pack.name, "Name of the model (default: the info's, else the file's)")
        ->type_name("NAME");
    auto known = cli::one_of(ciphers());
    command.add_option("--cipher", options->pack.model_cipher, "Encrypts the model with this cipher")
        ->check(known)
        ->type_name("NAME")
        ->capture_default_str();
    command.add_option("--info-cipher", options->pack.info_cipher, "Encrypts the info with this cipher")
        ->check(known)
        ->type_name("NAME")
        ->capture_default_str();
    cli::add_key_options(command, options->key, "the key to encrypt with");
}

}  // namespace mge::dump
