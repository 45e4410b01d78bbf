// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>
#include <string>
#include <vector>

namespace mge::cli {

// Rows of text in aligned columns, two spaces apart; the first row is the heading.
void print_table(std::ostream& stream, const std::vector<std::vector<std::string>>& rows);

std::string format_number(double value, int decimals);
std::string format_bytes(double bytes);  // 1.50 MiB
std::string format_count(double count);  // 4.134 G, 999

}  // namespace mge::cli
