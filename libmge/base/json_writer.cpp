// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/json_writer.h"

#include <charconv>
#include <cmath>

namespace mge {
namespace {

// How many bytes of valid UTF-8 begin at the text's start; 0: none.
size_t utf8_length(std::string_view raw) {
    auto byte = [&](size_t i) { return i < raw.size() ? uint8_t(raw[i]) : uint8_t(0); };
    uint8_t first = byte(0), second = byte(1);
    if (first < 0x80) return 1;
    size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    // Overlong forms, surrogates, and what lies beyond Unicode.
    bool refused = (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
                   (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
    return refused ? 0 : length;
}

}  // namespace

std::string valid_utf8(std::string_view raw) {
    constexpr std::string_view replacement = "\xEF\xBF\xBD";
    std::string result;
    result.reserve(raw.size());
    while (!raw.empty()) {
        size_t length = utf8_length(raw);
        result += length ? raw.substr(0, length) : replacement;
        raw.remove_prefix(length ? length : 1);
    }
    return result;
}

void JsonWriter::element_begins() {
    if (!is_first_) stream_ << ',';
    is_first_ = false;
}

void JsonWriter::key(std::string_view name) {
    element_begins();
    value(name);
    stream_ << ':';
}

void JsonWriter::value(std::string_view text) {
    static constexpr char hex[] = "0123456789abcdef";
    std::string result = "\"";
    for (unsigned char c : valid_utf8(text)) {
        if (c == '"' || c == '\\') {
            result += '\\';
            result += char(c);
        } else if (c < 0x20 || c == 0x7F || (inside_html_ && (c == '<' || c == '>' || c == '&'))) {
            result += "\\u00";
            result += hex[c >> 4];
            result += hex[c & 15];
        } else {
            result += char(c);
        }
    }
    stream_ << (result += '"');
}

void JsonWriter::value(double number) {
    if (!std::isfinite(number)) return value(std::nullopt);
    char buffer[40];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    stream_.write(buffer, end - buffer);
}

void JsonWriter::whole(int64_t number) {
    char buffer[24];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    stream_.write(buffer, end - buffer);
}

}  // namespace mge
