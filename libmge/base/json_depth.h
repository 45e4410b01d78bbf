// SPDX-License-Identifier: Apache-2.0
#pragma once
// How deep the values of a JSON text lie in each other. Who reads JSON into objects calls himself for each
// level to copy, compare or print them, and a file of brackets alone would overflow the stack.

#include <string_view>

namespace mge {

inline constexpr int deepest_json = 64;

// Of a text that need not be JSON at all.
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
