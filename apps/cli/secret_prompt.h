// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "libmge/model/crypt/secret_bytes.h"

namespace mge::cli {

// Prompts at the controlling terminal and reads a line without echo. Returns nullopt if there is no terminal.
std::optional<SecretBytes> prompt_for_secret(const std::string& prompt);

// Reads all data of a file descriptor, at most `limit` bytes. Throws UserError that names `where`, also if no
// process opens a pipe for writing within a second. The descriptor of a named pipe must be non-blocking.
SecretBytes read_secret(int descriptor, const std::string& where, size_t limit = 4096);

}  // namespace mge::cli
