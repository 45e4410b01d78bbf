// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/options/named_values.h"

#include <algorithm>

namespace mge::cli {
namespace {

std::string_view without_blanks(std::string_view word) {
    size_t begin = std::min(word.find_first_not_of(' '), word.size());
    return word.substr(begin, word.find_last_not_of(' ') + 1 - begin);
}

// Returns the length of the longest name at the start of the text, including blanks and ':' after it, or
// npos.
size_t known_name(std::string_view text, std::span<const std::string> names) {
    size_t longest = text.npos;
    for (auto& name : names) {
        if (!text.starts_with(name)) continue;
        size_t behind = text.find_first_not_of(' ', name.size());
        bool is_name = behind != text.npos && text[behind] == ':';
        if (is_name && (longest == text.npos || name.size() > longest)) longest = name.size();
    }
    return longest;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> split_named_values(std::string_view list,
                                                                    std::span<const std::string> names) {
    std::vector<std::pair<std::string, std::string>> result;
    while (!list.empty()) {
        list.remove_prefix(std::min(list.find_first_not_of(' '), list.size()));
        size_t name = known_name(list, names);
        size_t end = std::min(list.find(';', name == list.npos ? 0 : name), list.size());
        std::string_view part = list.substr(0, end);
        size_t colon = part.find(':', name == list.npos ? 0 : name);
        if (colon == part.npos)
            result.emplace_back("", without_blanks(part));
        else
            result.emplace_back(
                name == list.npos ? without_blanks(part.substr(0, colon)) : part.substr(0, name),
                without_blanks(part.substr(colon + 1)));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return result;
}

}  // namespace mge::cli
