// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/table.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "apps/cli/terminal.h"

namespace mge::cli {

namespace {

// Characters of UTF-8: all bytes but those that continue one.
size_t width(const std::string& cell) {
    return size_t(std::ranges::count_if(cell, [](char c) { return (uint8_t(c) & 0xc0) != 0x80; }));
}

}  // namespace

void print_table(std::ostream& stream, const std::vector<std::vector<std::string>>& rows) {
    std::vector<size_t> widths;
    for (auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(printable(row[i])));
    }
    for (auto& row : rows) {
        std::string line;
        for (size_t i = 0; i < row.size(); ++i) {
            std::string cell = printable(row[i]);
            line += (i ? "  " : "") + cell;
            if (i + 1 < row.size()) line.append(widths[i] - width(cell), ' ');
        }
        stream << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
    }
}

std::string format_number(double value, int decimals) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
    return buffer;
}

std::string format_bytes(double bytes) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
    return format_number(bytes, unit ? 2 : 0) + ' ' + units[unit];
}

std::string format_count(double count) {
    constexpr const char* units[] = {"", " K", " M", " G", " T", " P"};
    int unit = 0;
    while (count >= 1000 && unit < 5) count /= 1000, ++unit;
    return format_number(count, unit ? 3 : 0) + units[unit];
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
    std::string result;
    for (size_t i = 0; i < words.size(); ++i) {
        if (i) result += separator;
        result += words[i];
    }
    return result;
}

}  // namespace mge::cli
