// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "libmge/base/read_double.h"

namespace mge {

std::string decimal_text(double value, int digits) {
    char buffer[64];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general,
                             std::min(digits, 40));
    return std::string(buffer, end.ptr);
}

std::string hexadecimal_text(double value) {
    char buffer[64];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, std::fabs(value), std::chars_format::hex);
    std::string sign = std::signbit(value) ? "-" : "", prefix = std::isfinite(value) ? "0x" : "";
    return sign + prefix + std::string(buffer, end.ptr);
}

std::string counted(int64_t count, std::string_view one, std::string_view many) {
    std::string result = std::to_string(count) + ' ';
    if (count == 1) return result.append(one);
    return many.empty() ? result.append(one) + 's' : result.append(many);
}

std::optional<double> parse_number(std::string_view word) {
    bool is_negative = word.starts_with('-');
    if (is_negative) word.remove_prefix(1);
    bool is_hexadecimal = word.starts_with("0x") || word.starts_with("0X");
    if (is_hexadecimal) word.remove_prefix(2);
    if (word.starts_with('-')) return std::nullopt;
    double value = 0;
    auto [end, error] = read_double(word.data(), word.data() + word.size(), value,
                                    is_hexadecimal ? std::chars_format::hex : std::chars_format::general);
    if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    return is_negative ? -value : value;
}

}  // namespace mge
