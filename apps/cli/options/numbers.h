// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers on the command line. The whole value must be a number in range; otherwise the message states what
// is accepted.

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace mge::cli {

// For CLI::Option::check: returns an error message, or an empty string if the value is valid.
using ValueCheck = std::function<std::string(const std::string&)>;

ValueCheck whole_number(int64_t least = 0, uint64_t most = std::numeric_limits<int64_t>::max());
// Accepts finite numbers.
ValueCheck real_number(double least = 0, double most = std::numeric_limits<double>::max());

// Parses "65536", "64K", "1.5 GiB", "2gb" to bytes (units of 1024). Throws UserError in the name of `option`
// for anything else, and for fewer bytes than `least`.
size_t parse_bytes(const char* option, const std::string& text, size_t least = 1);

}  // namespace mge::cli
