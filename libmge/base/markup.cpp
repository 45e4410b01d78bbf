// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/markup.h"

#include <cstdint>

#include "libmge/base/utf8.h"

namespace mge {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

bool is_control(char c) { return uint8_t(c) < 0x20 || c == 0x7F; }

// U+0080 to U+009F, U+FFFE and U+FFFF, in valid UTF-8.
size_t forbidden_bytes(std::string_view rest) {
    if (rest.size() >= 2 && rest[0] == '\xC2' && uint8_t(rest[1]) < 0xA0) return 2;
    return rest.starts_with("\xEF\xBF\xBE") || rest.starts_with("\xEF\xBF\xBF") ? 3 : 0;
}

}  // namespace

std::string as_markup(std::string_view raw) {
    std::string valid = valid_utf8(raw), result;
    result.reserve(valid.size());
    for (size_t i = 0; i < valid.size(); ++i) {
        char c = valid[i];
        if (c == '&' || c == '<' || c == '>' || c == '"') {
            result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&quot;";
        } else if (c == '\t' || c == '\n' || c == '\r') {
            result += ' ';
        } else if (size_t bytes = is_control(c) ? 1 : forbidden_bytes(std::string_view(valid).substr(i))) {
            result += replacement;
            i += bytes - 1;
        } else {
            result += c;
        }
    }
    return result;
}

}  // namespace mge
