// SPDX-License-Identifier: Apache-2.0
#include "apps/crypt/file_job.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/options/one_of.h"
#include "apps/cli/options/output_option.h"
#include "apps/cli/output/table.h"
#include "libmge/base/log.h"
#include "libmge/model/crypt/hex.h"

namespace mge::crypt {

void add_file_job(CLI::App& command, FileJob& job, const std::string& key_owner) {
    command.add_option("in", job.in, "File to read")->required()->type_name("FILE");
    cli::add_written_file(command, "out", job.out, "File to write atomically; may be the input file");
    command.add_option("--cipher", job.cipher, "Cipher or format: aes-256-gcm, or one of MegEngine's")
        ->type_name("NAME")
        ->capture_default_str()
        ->check(cli::one_of(cipher_names()));
    cli::add_key_options(command, job.key, key_owner);
}

void FileJob::begin() {
    start = std::chrono::steady_clock::now();
    std::error_code missing;  // opening the file reports it better
    input_bytes = std::filesystem::file_size(in, missing);
}

FileCipher file_cipher(const std::string& name, const cli::KeyOptions& key,
                       std::vector<std::string>& warnings) {
    auto cipher = find_cipher(name);
    if (!cipher->weakness.empty()) warnings.push_back(cipher->weakness);
    if (key.are_given() || !cipher->default_key) return {name, cli::key_provider(key)};
    warnings.push_back(text("no key was given: ", name, " uses MegEngine's default key, which is public"));
    return {name, {}};
}

cli::Json report_job(const FileJob& job, const char* done, const EncryptedFileInfo& sealed,
                     const std::vector<std::string>& warnings) {
    for (auto& warning : warnings) log_warning(warning);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - job.start).count();
    std::error_code is_special;  // OUT may be a device, e.g. /dev/stdout
    uint64_t out_bytes = std::filesystem::file_size(job.out, is_special);
    if (is_special) out_bytes = sealed.header ? sealed.header->plain_bytes : 0;
    cli::Json result{{"input", job.in},
                     {"output", job.out},
                     {"cipher", sealed.cipher},
                     {"input_bytes", job.input_bytes},
                     {"output_bytes", out_bytes},
                     {"seconds", seconds},
                     {"authenticated", sealed.header.has_value()},
                     {"warnings", warnings}};
    if (sealed.header) result["key_id"] = hex_of(sealed.header->key_id);
    std::cout << done << " '" << job.in << "' to '" << job.out << "' (" << sealed.cipher << ", "
              << cli::counted(out_bytes, "byte") << ")\n";
    return result;
}

}  // namespace mge::crypt
