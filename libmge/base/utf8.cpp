// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/utf8.h"

#include <cstdint>

namespace mge {
namespace {

constexpr char hex[] = "0123456789abcdef";

// Length in bytes of the valid UTF-8 character at the start of the text; 0 if it is invalid.
size_t utf8_length(std::string_view raw) {
    auto byte = [&](size_t i) { return i < raw.size() ? uint8_t(raw[i]) : uint8_t(0); };
    uint8_t first = byte(0), second = byte(1);
    if (first < 0x80) return 1;
    size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    // Overlong forms, surrogates, and code points beyond Unicode.
    bool refused = (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
                   (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
    return refused ? 0 : length;
}

// Calls `take` for each character, and `take_byte` for each byte that belongs to no character.
template <class Take, class TakeByte>
void for_each_character(std::string_view raw, const Take& take, const TakeByte& take_byte) {
    while (!raw.empty()) {
        size_t length = utf8_length(raw);
        if (length)
            take(raw.substr(0, length));
        else
            take_byte(uint8_t(raw[0]));
        raw.remove_prefix(length ? length : 1);
    }
}

void append_byte(std::string& result, uint8_t byte) { result += {'\\', 'x', hex[byte >> 4], hex[byte & 15]}; }

// The code point of a character of two or three bytes; 0 for others.
uint32_t code_point(std::string_view c) {
    auto bits = [&](size_t i) { return uint32_t(uint8_t(c[i]) & 0x3F); };
    if (c.size() == 2) return uint32_t(uint8_t(c[0]) & 0x1F) << 6 | bits(1);
    if (c.size() == 3) return uint32_t(uint8_t(c[0]) & 0x0F) << 12 | bits(1) << 6 | bits(2);
    return 0;
}

// Controls of ISO 6429 (U+009B begins a sequence as ESC [ does), separators of lines, and the marks that show
// text in another order than it has.
bool is_unicode_control(uint32_t code) {
    return (code >= 0x80 && code < 0xA0) || code == 0x61C || code == 0x200E || code == 0x200F ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

void append_printable(std::string& result, std::string_view c) {
    if (c.size() > 1) {
        uint32_t code = code_point(c);
        if (!is_unicode_control(code)) {
            result += c;
            return;
        }
        result += "\\u";
        for (int shift = 12; shift >= 0; shift -= 4) result += hex[code >> shift & 15];
    } else if (c[0] == '\n') {
        result += "\\n";
    } else if (uint8_t(c[0]) < 0x20 || c[0] == 0x7F) {
        append_byte(result, uint8_t(c[0]));
    } else {
        result += c;
    }
}

}  // namespace

bool is_utf8(std::string_view raw) {
    bool is_valid = true;
    for_each_character(
        raw, [](std::string_view) {}, [&](uint8_t) { is_valid = false; });
    return is_valid;
}

std::string valid_utf8(std::string_view raw) {
    std::string result;
    result.reserve(raw.size());
    for_each_character(
        raw, [&](std::string_view c) { result += c; }, [&](uint8_t) { result += "\xEF\xBF\xBD"; });
    return result;
}

std::string with_escaped_bytes(std::string_view raw) {
    std::string result;
    result.reserve(raw.size());
    for_each_character(
        raw, [&](std::string_view c) { result += c; }, [&](uint8_t byte) { append_byte(result, byte); });
    return result;
}

std::string printable(std::string_view raw) {
    std::string result;
    result.reserve(raw.size());
    for_each_character(
        raw, [&](std::string_view c) { append_printable(result, c); },
        [&](uint8_t byte) { append_byte(result, byte); });
    return result;
}

}  // namespace mge
