// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/number_text.h"

namespace mge::cli {

// Rows of text in aligned columns, two spaces apart; the first row is the heading. Where lines are limited
// (text_width) columns are left out in the order of `left_out_first`, headings, until the rest fits with its
// long cells broken into several lines, and a last line says which. Elsewhere, and with --wide, each row is
// one line, however long.
void print_table(std::ostream& stream, const std::vector<std::vector<std::string>>& rows,
                 const std::vector<std::string>& left_out_first = {});

// Words broken into lines of so many characters, behind blanks and punctuation where there are any.
std::vector<std::string> wrapped(const std::string& text, size_t width);

using mge::counted;

std::string format_number(double value, int decimals);
// "0.372ms", and "2.130µs" below 10 µs; `space` stands before the unit.
std::string format_milliseconds(double milliseconds, int decimals, const char* space = "");
std::string format_bytes(double bytes);  // 1.50 MiB
std::string format_count(double count);  // 4.134 G, 999

// "a, b, c" with ", " between them.
std::string joined(const std::vector<std::string>& words, std::string_view separator);

}  // namespace mge::cli
