// SPDX-License-Identifier: Apache-2.0
#pragma once
// Nesting depth of a JSON text. Functions that copy, compare or print JSON objects recurse for each level,
// and a file of brackets would overflow the stack.

#include <string_view>

namespace mge {

inline constexpr int deepest_json = 64;

// The text need not be valid JSON.
inline bool is_too_deep(std::string_view json) {
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < json.size(); ++i) {
        char c = json[i];
        if (in_string && c == '\\')
            ++i;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '['))
            depth += 1;
        else if (!in_string && (c == '}' || c == ']'))
            depth -= 1;
        if (depth > deepest_json) return true;
    }
    return false;
}

}  // namespace mge
