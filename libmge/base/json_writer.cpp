// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/json_writer.h"

#include <charconv>
#include <cmath>

#include "libmge/base/utf8.h"

namespace mge {
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
