// SPDX-License-Identifier: Apache-2.0
#pragma once
// Regular expressions of users on text that may come out of files.

#include <algorithm>
#include <regex>
#include <string>

namespace mge {

// Whether an expression is found in a text. The standard library's matcher calls itself for each character,
// and a long text would overflow the stack: of one only the beginning is looked at.
inline bool is_found(const std::regex& expression, const std::string& where,
                     std::regex_constants::match_flag_type flags = std::regex_constants::match_default) {
    constexpr size_t longest = 4096;
    auto end = where.begin() + std::ptrdiff_t(std::min(where.size(), longest));
    // The text continues, so its end must not match.
    if (end != where.end()) flags |= std::regex_constants::match_not_eol;
    return std::regex_search(where.begin(), end, expression, flags);
}

}  // namespace mge
