// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "libmge/model/crypt/secret_bytes.h"

namespace mge::cli {

// Asks at the terminal that controls the process and reads a line that is not shown; nullopt when there is no
// terminal.
std::optional<SecretBytes> ask_secret(const std::string& prompt);

// Everything that comes from a file descriptor, at most `limit` bytes; UserError names `where`, also for a
// pipe that nobody opens to write within a second. The descriptor of a named pipe does not block.
SecretBytes read_secret(int descriptor, const std::string& where, size_t limit = 4096);

}  // namespace mge::cli
