// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/cli/options/key_options.h"
#include "apps/cli/options/one_of.h"
#include "apps/cli/output/table.h"
#include "apps/crypt/commands.h"
#include "libmge/model/crypt/examine_file.h"
#include "libmge/model/crypt/hex.h"

namespace mge::crypt {
namespace {

struct InfoJob {
    std::string file, cipher;
    cli::KeyOptions key;
};

cli::Json to_json(const std::string& file, const EncryptedFileInfo& info) {
    cli::Json result{{"file", file}, {"format", info.format}, {"file_bytes", info.file_bytes}};
    if (!info.cipher.empty()) result["cipher"] = info.cipher;
    if (info.is_guess) {
        result["is_guess"] = true;
        result["has_default_key"] = info.has_default_key;
    }
    if (info.content_bytes) result["content_bytes"] = *info.content_bytes;
    if (info.header) {
        result["format_version"] = info.header->version;
        result["chunk_bytes"] = info.header->chunk_bytes;
        result["key_id"] = hex_of(info.header->key_id);
    }
    result["authenticated"] = info.authenticity == Authenticity::authentic;
    result["authenticity"] = name_of(info.authenticity);
    return result;
}

std::string cell(const cli::Json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
    return value.dump();
}

int info(const cli::Invocation& invocation, const InfoJob& job) {
    std::optional<FileCipher> cipher;
    std::string name = job.cipher.empty() ? container_cipher : job.cipher;
    // Decrypts only if a key is given, or a format with a default key.
    if (job.key.are_given() || (!job.cipher.empty() && find_cipher(name)->default_key))
        cipher = FileCipher{name, cli::key_provider(job.key)};
    cli::Json result = to_json(job.file, examine_file(job.file, cipher));
    for (auto& [field, value] : result.items()) std::cout << field << ": " << cell(value) << '\n';
    return cli::finish(invocation, result);
}

}  // namespace

void add_info(cli::App& app) {
    auto job = std::make_shared<InfoJob>();
    auto& invocation = app.invocation();
    auto& command =
        app.command("info", "Report how a file is encrypted and, with its key, whether it is authentic",
                    [=, &invocation] { return info(invocation, *job); });
    command.add_option("file", job->file, "File to examine")->required()->type_name("FILE");
    command.add_option("--cipher", job->cipher, "Cipher of the file, for MegEngine's formats")
        ->type_name("NAME")
        ->check(cli::one_of(cipher_names()));
    cli::add_key_options(command, job->key, "the key");
}

}  // namespace mge::crypt
