// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/number_text.h"

namespace mge::cli {

// Prints rows in aligned columns, two spaces apart; the first row is the heading. If text_width() limits
// lines, columns are dropped in the order of `left_out_first` (headings) until the rest fits with long cells
// wrapped. A last line names the dropped columns. Without a limit, and with --wide, each row is one line.
void print_table(std::ostream& stream, const std::vector<std::vector<std::string>>& rows,
                 const std::vector<std::string>& left_out_first = {});

// Wraps text to lines of at most `width` characters, after blanks and punctuation if possible.
std::vector<std::string> wrapped(const std::string& text, size_t width);

using mge::counted;

// Enough characters for any double: the largest has 309 digits before its point.
inline constexpr size_t longest_number = 352;
std::string format_number(double value, int decimals);
// Formats "0.372ms", or "2.130µs" below 10 µs. `space` precedes the unit.
std::string format_milliseconds(double milliseconds, int decimals, const char* space = "");
std::string format_bytes(double bytes);  // 1.50 MiB
std::string format_count(double count);  // 4.134 G, 999

}  // namespace mge::cli
