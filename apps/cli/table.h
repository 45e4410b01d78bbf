// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace mge::cli {

// Rows of text in aligned columns, two spaces apart; the first row is the heading.
void print_table(std::ostream& stream, const std::vector<std::vector<std::string>>& rows);

std::string format_number(double value, int decimals);
std::string format_bytes(double bytes);  // 1.50 MiB
std::string format_count(double count);  // 4.134 G, 999

// "a, b, c" with ", " between them.
std::string joined(const std::vector<std::string>& words, std::string_view separator);

}  // namespace mge::cli
