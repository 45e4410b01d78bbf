// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/output/table.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "apps/cli/output/terminal.h"
#include "libmge/base/joined.h"

namespace mge::cli {
namespace {

using Row = std::vector<std::string>;

// Wrapping cells makes no column narrower than this.
constexpr size_t narrowest = 20;
constexpr size_t gap = 2;

bool continues_character(char c) { return (uint8_t(c) & 0xc0) == 0x80; }

// Returns the UTF-8 characters: all bytes except continuation bytes.
size_t width(const std::string& cell) {
    return cell.size() - size_t(std::ranges::count_if(cell, continues_character));
}

std::vector<size_t> widths_of(const std::vector<Row>& rows) {
    std::vector<size_t> widths;
    for (auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
    }
    return widths;
}

size_t line_width(const std::vector<size_t>& widths, size_t widest_column) {
    size_t total = widths.empty() ? 0 : gap * (widths.size() - 1);
    for (size_t w : widths) total += std::min(w, widest_column);
    return total;
}

// Removes columns while the rest does not fit, and returns their headings.
Row leave_out(std::vector<Row>& rows, const Row& left_out_first, size_t limit) {
    Row left_out;
    for (auto& heading : left_out_first) {
        if (line_width(widths_of(rows), narrowest) <= limit) break;
        auto at = std::ranges::find(rows[0], heading) - rows[0].begin();
        if (size_t(at) == rows[0].size()) continue;
        left_out.push_back(heading.empty() ? "bars" : heading);
        for (auto& row : rows)
            if (size_t(at) < row.size()) row.erase(row.begin() + at);
    }
    return left_out;
}

// Narrows the widest columns first.
void narrow(std::vector<size_t>& widths, size_t limit) {
    while (line_width(widths, SIZE_MAX) > limit) {
        auto widest = std::ranges::max_element(widths);
        if (*widest <= narrowest) return;
        --*widest;
    }
}

void print_row(std::ostream& stream, const Row& row, const std::vector<size_t>& widths, bool is_heading) {
    std::vector<Row> cells;
    size_t height = 1;
    for (size_t i = 0; i < row.size(); ++i) {
        cells.push_back(wrapped(row[i], widths[i]));
        height = std::max(height, cells.back().size());
    }
    for (size_t k = 0; k < height; ++k) {
        std::string line;
        for (size_t i = 0; i < cells.size(); ++i) {
            std::string part = k < cells[i].size() ? cells[i][k] : "";
            line += (i ? std::string(gap, ' ') : "") + part;
            if (i + 1 < cells.size()) line.append(widths[i] - width(part), ' ');
        }
        line.resize(line.find_last_not_of(' ') + 1);
        stream << (is_heading && !line.empty() ? painted(Paint::bold, line) : line) << '\n';
    }
}

}  // namespace

std::vector<std::string> wrapped(const std::string& text, size_t limit) {
    Row lines;
    std::string rest = text;
    while (limit > 0 && width(rest) > limit) {
        size_t end = 0, blank = 0, mark = 0;  // end of the text that fits; last break after a blank or mark
        for (size_t count = 0; end < rest.size(); ++end) {
            if (!continues_character(rest[end]) && count++ == limit) break;
            if (rest[end] == ' ') blank = end + 1;
            if (std::string_view(",;|/+-:)").find(rest[end]) != std::string_view::npos) mark = end + 1;
        }
        size_t cut = blank > end / 3 ? blank : mark > end / 3 ? mark : end;
        lines.push_back(rest.substr(0, cut));
        rest.erase(0, cut);
    }
    lines.push_back(rest);
    return lines;
}

void print_table(std::ostream& stream, const std::vector<Row>& rows, const Row& left_out_first) {
    if (rows.empty()) return;
    std::vector<Row> shown = rows;
    for (auto& row : shown)
        for (auto& cell : row) cell = printable(cell);
    Row left_out = leave_out(shown, left_out_first, text_width());
    auto widths = widths_of(shown);
    narrow(widths, text_width());
    for (auto& row : shown) print_row(stream, row, widths, &row == shown.data());
    if (!left_out.empty()) stream << "(hidden columns: " << joined(left_out, ", ") << "; --wide shows all)\n";
}

std::string format_number(double value, int decimals) {
    char buffer[longest_number];
    std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
    return buffer;
}

std::string format_milliseconds(double milliseconds, int decimals, const char* space) {
    constexpr double ten_microseconds = 0.01;
    bool is_short = milliseconds > 0 && milliseconds < ten_microseconds;
    return format_number(is_short ? milliseconds * 1000 : milliseconds, decimals) + space +
           (is_short ? "µs" : "ms");
}

std::string format_bytes(double bytes) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
    return format_number(bytes, unit ? 2 : 0) + ' ' + units[unit];
}

std::string format_count(double count) {
    constexpr const char* units[] = {"", " k", " M", " G", " T", " P"};
    int unit = 0;
    while (count >= 1000 && unit < 5) count /= 1000, ++unit;
    return format_number(count, unit ? 3 : 0) + units[unit];
}

}  // namespace mge::cli
