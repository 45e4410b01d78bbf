// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/grid.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "apps/cli/output/table.h"
#include "apps/cli/output/terminal.h"
#include "apps/profile/text.h"
#include "libmge/base/error.h"

namespace mge::profile {
namespace {

using Lines = std::vector<std::string>;
using Cells = std::vector<Lines>;  // one row

std::string format(const char* how, double value) {
    char buffer[cli::longest_number];
    return {buffer, size_t(std::snprintf(buffer, sizeof buffer, how, value))};
}

// Formats "2.30" above "KFLO". `units` are the unit without and with a prefix.
Lines quantity(std::optional<double> value, double base, const char* plain_unit, const char* prefixed_unit) {
    if (!value) return {"N/A", plain_unit};
    constexpr const char* prefixes[] = {"", "K", "M", "G", "T", "P"};
    size_t prefix = 0;
    double scaled = *value;
    while (std::isfinite(scaled) && scaled >= base && prefix + 1 < std::size(prefixes))
        scaled /= base, ++prefix;
    return {format("%.2f", scaled), prefix ? text(prefixes[prefix], prefixed_unit) : std::string(plain_unit)};
}

// Returns the number of code points, which are one column each, except wide characters.
size_t columns_of(const std::string& text) {
    return size_t(std::ranges::count_if(text, [](char c) { return (uint8_t(c) & 0xC0) != 0x80; }));
}

// Breaks text to at most 30 characters per line, at spaces and after hyphens if possible. Continuation lines
// are marked.
Lines wrapped(const std::string& raw) {
    constexpr size_t width = 30;
    Lines lines;
    std::string rest = raw;
    while (columns_of(rest) > width) {
        size_t fitting = cli::first_characters(rest, width).size(), cut = rest.rfind(' ', fitting);
        if (cut == std::string::npos || cut == 0) cut = fitting;
        lines.push_back((lines.empty() ? "" : "-  ") + rest.substr(0, cut));
        rest.erase(0, cut + (rest[cut] == ' '));
    }
    lines.push_back((lines.empty() ? "" : "-  ") + rest);
    return lines;
}

void append(Lines& to, const Lines& more) { to.insert(to.end(), more.begin(), more.end()); }

Lines shape_lines(const std::vector<Extents>& shapes, const std::optional<std::vector<Extents>>& strides) {
    Lines lines;
    for (size_t i = 0; i < shapes.size(); ++i) {
        lines.push_back(shape_text(shapes[i]));
        if (!strides || i >= strides->size() || (*strides)[i].empty()) continue;
        std::string s = shape_text((*strides)[i]);
        lines.push_back("-[" + s.substr(1, s.size() - 2) + "]");
    }
    return lines.empty() ? Lines{""} : lines;
}

Cells cells_of(const Profile& profile, const ProfileRow& row, size_t index, double total, double cumulative) {
    Cells cells{{text('#', index), three_digits(row.time), format("%.1f%%", row.time / total * 100)},
                {three_digits(cumulative), format("%.1f%%", cumulative / total * 100)}};
    Lines info;
    if (row.step >= 0) {
        append(info, wrapped(printable(row.name)));
        append(info, wrapped(printable(row.type)));
        info.push_back(printable(row.id));
    } else {
        append(info, wrapped(printable(row.type)));
        append(info, {std::to_string(row.count), row.id});
    }
    cells.push_back(info);
    cells.push_back(quantity(row.operations, 1000, "FLO", "FLO"));
    cells.push_back(quantity(row.operations_per_s(), 1000, "FLOPS", "FLOPS"));
    cells.push_back(quantity(row.bytes, 1024, "byte", "iB"));
    cells.push_back(quantity(row.bytes_per_s(), 1024, "byte/s", "iB/s"));
    if (row.step >= 0) {
        auto& step = profile.steps[size_t(row.step)];
        bool is_known = profile.format == Profile::Format::mge || step.in_shapes;
        cells.push_back(is_known ? shape_lines(profile.input_shapes(step), step.in_strides) : Lines{"N/A"});
        cells.push_back(is_known ? shape_lines(profile.output_shapes(step), std::nullopt) : Lines{"N/A"});
    } else {
        append(cells.emplace_back(), {"None"});
        append(cells.emplace_back(), {"None"});
    }
    return cells;
}

void print_rule(std::ostream& stream, const std::vector<size_t>& widths, const char* left, const char* fill,
                const char* cross, const char* right) {
    for (size_t i = 0; i < widths.size(); ++i) {
        stream << (i ? cross : left);
        for (size_t k = 0; k < widths[i] + 2; ++k) stream << fill;
    }
    stream << right << '\n';
}

void print_cells(std::ostream& stream, const Cells& cells, const std::vector<size_t>& widths) {
    size_t height = 0;
    for (auto& cell : cells) height = std::max(height, cell.size());
    for (size_t line = 0; line < height; ++line) {
        for (size_t i = 0; i < cells.size(); ++i) {
            const std::string& part = line < cells[i].size() ? cells[i][line] : std::string();
            stream << "│ " << part << std::string(widths[i] - columns_of(part) + 1, ' ');
        }
        stream << "│\n";
    }
}

}  // namespace

std::string three_digits(double value) {
    if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    std::string scientific = format("%.2e", value);
    int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
    if (value != 0 && (exponent < -4 || exponent >= 2)) {
        // 6.10e-05 → 6.1e-05
        size_t e = scientific.find('e'), end = e;
        while (scientific[end - 1] == '0') --end;
        if (scientific[end - 1] == '.') --end;
        return scientific.erase(end, e - end);
    }
    char buffer[64];
    int decimals = value == 0 ? 1 : std::max(1, 2 - exponent);
    std::string fixed(buffer, size_t(std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value)));
    while (fixed.ends_with('0') && !fixed.ends_with(".0")) fixed.pop_back();
    return fixed;
}

void print_grid_summary(std::ostream& stream, const std::vector<NamedNumber>& rows) {
    // Align decimal points.
    size_t name_width = 0, before = 0, behind = 0;
    auto point = [](const std::string& s) { return std::min(s.find('.'), s.size()); };
    for (auto& row : rows) {
        name_width = std::max(name_width, row.name.size());
        before = std::max(before, point(row.value));
        behind = std::max(behind, row.value.size() - point(row.value));
    }
    std::string rule = std::string(name_width, '-') + "  " + std::string(before + behind, '-');
    stream << rule << '\n';
    for (auto& row : rows) {
        stream << row.name << std::string(name_width - row.name.size() + 2 + before - point(row.value), ' ')
               << row.value << '\n';
    }
    stream << rule << '\n';
}

void print_grid(std::ostream& stream, const Profile& profile, ProfileSide side,
                const std::vector<ProfileRow>& rows, double total) {
    std::string own = side == ProfileSide::device ? "device self time" : "host self time";
    std::vector<Cells> table{{{own},
                              {"cumulative"},
                              {"operator info"},
                              {"computation"},
                              {"FLOPS"},
                              {"memory"},
                              {"bandwidth"},
                              {"in_shapes"},
                              {"out_shapes"}}};
    double cumulative = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        cumulative += rows[i].time;
        table.push_back(cells_of(profile, rows[i], i, total, cumulative));
    }
    // Headings are padded, as in the original.
    std::vector<size_t> widths(table[0].size());
    for (size_t row = 0; row < table.size(); ++row)
        for (size_t i = 0; i < widths.size(); ++i)
            for (auto& line : table[row][i])
                widths[i] = std::max(widths[i], columns_of(line) + (row ? 0 : 2));
    print_rule(stream, widths, "╒", "═", "╤", "╕");
    for (size_t row = 0; row < table.size(); ++row) {
        print_cells(stream, table[row], widths);
        if (row == 0)
            print_rule(stream, widths, "╞", "═", "╪", "╡");
        else if (row + 1 < table.size())
            print_rule(stream, widths, "├", "─", "┼", "┤");
    }
    print_rule(stream, widths, "╘", "═", "╧", "╛");
}

}  // namespace mge::profile
