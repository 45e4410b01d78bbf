// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/output/safe_text.h"

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
        size_t color = color_mark_length(text), count = std::max<size_t>(color, 1);
        if (color)
            result += color_code(text.substr(0, color));
        else
            result += text[0] == '\033' ? printable(text.substr(0, 1)) : std::string(text.substr(0, 1));
        text.remove_prefix(count);
    }
    return result;
}

}  // namespace mge::cli
