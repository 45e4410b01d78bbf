// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "apps/cli/options/key_options.h"
#include "apps/cli/tool.h"
#include "libmge/model/crypt/encrypted_file.h"
#include "libmge/model/crypt/examine_file.h"

namespace CLI {
class App;
}

namespace mge::crypt {

// Common state of encrypt, decrypt and rekey.
struct FileJob {
    std::string in, out, cipher = container_cipher;
    cli::KeyOptions key;
    uint64_t input_bytes = 0;
    std::chrono::steady_clock::time_point start;

    void begin();
};

// Defines IN, OUT, --cipher and the key flags.
void add_file_job(CLI::App& command, FileJob& job, const std::string& key_owner);

// Returns the cipher with its key. MegEngine's formats fall back to MegEngine's default key, with a warning.
// `warnings` also receives weaknesses of the cipher.
FileCipher file_cipher(const std::string& name, const cli::KeyOptions& key,
                       std::vector<std::string>& warnings);

// Returns the JSON result, and prints it as a line with the warnings.
cli::Json report_job(const FileJob& job, const char* done, const EncryptedFileInfo& sealed,
                     const std::vector<std::string>& warnings);

}  // namespace mge::crypt
