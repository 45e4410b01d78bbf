// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers on the command line: what is given is a number as a whole, and in its range, or the message says
// what would be.

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace mge::cli {

// For CLI::Option::check: what is wrong with a value; empty when nothing is.
using ValueCheck = std::function<std::string(const std::string&)>;

ValueCheck whole_number(int64_t least = 0, uint64_t most = std::numeric_limits<int64_t>::max());
// Finite.
ValueCheck real_number(double least = 0, double most = std::numeric_limits<double>::max());

// "65536", "64K", "1.5 GiB", "2gb" → bytes (units of 1024). UserError, as `option`, for anything else and for
// fewer bytes than `least`.
size_t parse_bytes(const char* option, const std::string& text, size_t least = 1);

}  // namespace mge::cli
