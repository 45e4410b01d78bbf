// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/output/fitting_lines.h"

#include <algorithm>
#include <cstdint>

#include "apps/cli/output/terminal.h"

namespace mge::cli {
namespace {

bool begins_character(char c) { return (uint8_t(c) & 0xc0) != 0x80; }

// Returns the length of the first part of a line in bytes: the whole line if it fits, else up to the last
// blank after `indent` bytes that fits, else the first word.
size_t first_part(std::string_view line, size_t indent, size_t characters) {
    size_t shown = 0, part = line.size();
    bool is_found = false;
    for (size_t at = 0; at < line.size();) {
        if (size_t color = color_length(line.substr(at))) {
            at += color;
            continue;
        }
        bool is_blank = line[at] == ' ';
        if (!is_blank && at > indent && line[at - 1] == ' ' && (shown <= characters || !is_found)) {
            part = at;
            is_found = true;
        }
        shown += begins_character(line[at]);
        if (!is_blank && shown > characters && is_found) return part;
        ++at;
    }
    return line.size();
}

}  // namespace

std::string wrapped_at_blanks(std::string_view lines, size_t characters) {
    std::string result;
    while (!lines.empty()) {
        size_t end = std::min(lines.find('\n'), lines.size());
        std::string_view line = lines.substr(0, end);
        size_t indent = std::min(line.find_first_not_of(' '), line.size());
        size_t further = std::min(indent + 2, characters / 2);
        std::string_view part = line.substr(0, first_part(line, indent, characters));
        while (part.size() < line.size()) {
            result.append(part.substr(0, part.find_last_not_of(' ') + 1)).append("\n").append(further, ' ');
            line.remove_prefix(part.size());
            part = line.substr(0, first_part(line, 0, characters - further));
        }
        result += line;
        if (end < lines.size()) result += '\n';
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    return result;
}

std::string FittingLines::changed(std::string_view lines) const {
    return wrapped_at_blanks(lines, text_width());
}

}  // namespace mge::cli
