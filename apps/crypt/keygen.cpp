// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/cli/options/one_of.h"
#include "apps/cli/options/output_option.h"
#include "apps/crypt/commands.h"
#include "libmge/base/files/file.h"
#include "libmge/model/crypt/cipher.h"
#include "libmge/model/crypt/container.h"
#include "libmge/model/crypt/key.h"

namespace mge::crypt {
namespace {

struct KeygenJob {
    std::string out, cipher = container_cipher;
    bool force = false;
};

// True for a regular file and for a dangling link, which would be followed to a place that the user did not
// name.
bool is_taken(const std::string& path) {
    std::error_code unknown;  // writing reports it better
    auto there = std::filesystem::status(path, unknown);
    return std::filesystem::is_regular_file(there) ||
           (!std::filesystem::exists(there) && std::filesystem::is_symlink(path, unknown));
}

int keygen(const cli::Invocation& invocation, const KeygenJob& job) {
    if (!job.force && is_taken(job.out))
        throw cli::UsageError(
            text("'", job.out, "' exists; files encrypted with it could never be opened again"),
            "choose another name, or give --force");
    // The user did not name the file behind a link, so the link itself is replaced, and one that appears
    // meanwhile is not followed. Following other links is safe: no file can be lost.
    std::error_code unknown;
    bool is_link =
        std::filesystem::is_symlink(job.out, unknown) && std::filesystem::is_regular_file(job.out, unknown);
    if (is_link) std::filesystem::remove(job.out, unknown);
    SecretBytes key(find_cipher(job.cipher)->key_bytes.front());
    fill_random(key.span());
    SecretBytes digits = format_key(key);
    write_file_atomically(
        job.out, [&](std::ostream& stream) { stream << text_of(digits); }, FileReaders::owner,
        job.force && !is_link ? Replace::yes : Replace::no);
    cli::Json result{{"output", job.out}, {"cipher", job.cipher}, {"key_bytes", key.size()}};
    if (job.cipher == container_cipher) result["key_id"] = key_id(key);
    std::cout << "wrote a key for " << job.cipher << " to '" << job.out << "'";
    if (result.contains("key_id")) std::cout << ", key id " << key_id(key);
    std::cout << '\n';
    return cli::finish(invocation, result);
}

}  // namespace

void add_keygen(cli::App& app) {
    auto job = std::make_shared<KeygenJob>();
    auto& invocation = app.invocation();
    auto& command = app.command("keygen", "Make a random key; only its owner may read the file",
                                [=, &invocation] { return keygen(invocation, *job); });
    cli::add_written_file(command, "out", job->out, "File to write the key to, as hexadecimal digits");
    command.add_option("--cipher", job->cipher, "Cipher that the key is for")
        ->type_name("NAME")
        ->capture_default_str()
        ->check(cli::one_of(cipher_names()));
    command.add_flag("--force", job->force,
                     "Replace an existing file (of a symbolic link, the link and not its target)");
}

}  // namespace mge::crypt
