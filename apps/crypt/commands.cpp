// SPDX-License-Identifier: Apache-2.0
// encrypt, decrypt and rekey: commands that convert a file.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/cli/options/one_of.h"
#include "apps/cli/output/progress.h"
#include "apps/crypt/commands.h"
#include "apps/crypt/file_job.h"

namespace mge::crypt {
namespace {

constexpr int mebibyte_bits = 20;

// Progress in MiB.
class FileProgress {
public:
    explicit FileProgress(const std::string& what) : progress_(what, 0) {}
    void show(uint64_t done, uint64_t total) {
        progress_.set_total(size_t(total >> mebibyte_bits));
        progress_.advance(size_t((done >> mebibyte_bits) - (done_ >> mebibyte_bits)), "MiB");
        done_ = done;
    }
    CryptProgress callback() {
        return [this](uint64_t done, uint64_t total) { show(done, total); };
    }

private:
    cli::Progress progress_;
    uint64_t done_ = 0;
};

// Describes the encrypted one of the two files. Call before the file may be overwritten.
EncryptedFileInfo describe(const std::string& path, const std::string& cipher) {
    if (cipher == container_cipher) return examine_file(path);
    EncryptedFileInfo info;
    info.cipher = cipher;
    return info;
}

int encrypt(const cli::Invocation& invocation, FileJob& job) {
    job.begin();
    std::vector<std::string> warnings;
    FileCipher cipher = file_cipher(job.cipher, job.key, warnings);
    encrypt_file(job.in, job.out, cipher, FileProgress("encrypting").callback());
    return cli::finish(invocation, report_job(job, "encrypted", describe(job.out, job.cipher), warnings));
}

int decrypt(const cli::Invocation& invocation, FileJob& job) {
    job.begin();
    std::vector<std::string> warnings;
    FileCipher cipher = file_cipher(job.cipher, job.key, warnings);
    auto sealed = describe(job.in, job.cipher);
    decrypt_file(job.in, job.out, cipher, FileProgress("decrypting").callback());
    return cli::finish(invocation, report_job(job, "decrypted", sealed, warnings));
}

struct RekeyJob : FileJob {
    std::string new_cipher = container_cipher;
    cli::KeyOptions new_key;
};

int rekey(const cli::Invocation& invocation, RekeyJob& job) {
    job.begin();
    std::vector<std::string> old_warnings, warnings;  // weaknesses of the old format no longer matter
    FileCipher from = file_cipher(job.cipher, job.key, old_warnings);
    FileCipher to = file_cipher(job.new_cipher, job.new_key, warnings);
    rekey_file(job.in, job.out, from, to, FileProgress("changing the key").callback());
    return cli::finish(invocation, report_job(job, "rekeyed", describe(job.out, job.new_cipher), warnings));
}

template <class Job>
std::shared_ptr<Job> add(cli::App& app, const char* name, const char* description, const char* key_owner,
                         int (*body)(const cli::Invocation&, Job&)) {
    auto job = std::make_shared<Job>();
    auto& invocation = app.invocation();
    auto& command = app.command(name, description, [=, &invocation] { return body(invocation, *job); });
    add_file_job(command, *job, key_owner);
    return job;
}

}  // namespace

void add_encrypt(cli::App& app) { add<FileJob>(app, "encrypt", "Encrypt a file", "the key", encrypt); }

void add_decrypt(cli::App& app) {
    add<FileJob>(app, "decrypt", "Decrypt a file; only its owner may read the output", "the key", decrypt);
}

void add_rekey(cli::App& app) {
    auto job =
        add<RekeyJob>(app, "rekey", "Encrypt a file with another key or cipher, without plain text on disk",
                      "the current key", rekey);
    auto& command = *app.root().get_subcommand("rekey");
    command.add_option("--new-cipher", job->new_cipher, "Cipher or format of the output")
        ->type_name("NAME")
        ->capture_default_str()
        ->check(cli::one_of(cipher_names()));
    cli::add_key_options(command, job->new_key, "the new key", "new-");
}

}  // namespace mge::crypt
