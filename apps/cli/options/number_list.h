// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options that take several whole numbers: "1,2,8", and ranges such as "1-4", "1-16*2" and "8-32+8".

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mge::cli {

// Defines an option whose numbers are at least `least` and at most `most`. The last of several counts.
CLI::Option* add_number_list(CLI::App& app, const std::string& names, std::vector<int64_t>& numbers,
                             const std::string& description, int64_t least, uint64_t most);

// Returns the numbers of "8" or of a range: FIRST-LAST with step 1, FIRST-LAST+STEP, FIRST-LAST*FACTOR.
// Throws UserError for other text, for numbers out of bounds, and for more than 1,024 numbers.
std::vector<int64_t> parse_numbers(const std::string& word, int64_t least, uint64_t most);

}  // namespace mge::cli
