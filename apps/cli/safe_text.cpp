// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/safe_text.h"

#include <algorithm>

#include "libmge/base/utf8.h"

namespace mge::cli {

std::string SafeText::changed(std::string_view text) const {
    std::string result;
    while (!text.empty()) {
        size_t plain = std::min(text.find_first_of("\n\t\033"), text.size());
        result += printable(text.substr(0, plain));
        text.remove_prefix(plain);
        if (text.empty()) break;
        size_t count = text[0] == '\033' ? color_length(text) : 1;
        result += count ? std::string(text.substr(0, count)) : printable(text.substr(0, 1));
        text.remove_prefix(std::max<size_t>(count, 1));
    }
    return result;
}

}  // namespace mge::cli
