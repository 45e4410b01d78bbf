// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/byte_count.h"

#include <algorithm>
#include <cmath>

#include "libmge/base/error.h"
#include "libmge/base/letters.h"
#include "libmge/base/read_double.h"

namespace mge {
namespace {

constexpr std::string_view prefixes = "KMGT";

// The power of 1024 for a unit; 0 for an unknown one.
double factor_of(std::string unit) {
    std::erase(unit, ' ');
    std::ranges::transform(unit, unit.begin(), capital);
    if (unit.empty() || unit == "B") return 1;
    size_t power = prefixes.find(unit[0]);
    std::string rest = unit.substr(1);
    bool is_unit = power != prefixes.npos && (rest.empty() || rest == "B" || rest == "IB");
    return is_unit ? std::exp2(10 * double(power + 1)) : 0;
}

}  // namespace

std::optional<uint64_t> byte_count(std::string_view text) {
    double number = 0;
    const char* end = text.data() + text.size();
    auto [unit, error] = read_double(text.data(), end, number);
    if (error != std::errc()) return std::nullopt;
    double factor = factor_of({unit, end}), bytes = number * factor;
    bool is_good = factor > 0 && bytes >= 0 && bytes <= 0x1p62;  // not for NaN
    return is_good ? std::optional(uint64_t(bytes)) : std::nullopt;
}

std::string byte_count_text(uint64_t bytes) {
    auto amount = double(bytes);
    size_t power = 0;
    for (; amount >= 1024 && power < prefixes.size(); ++power) amount /= 1024;
    if (power == 0) return text(bytes, " B");
    return text(std::round(amount * 100) / 100, ' ', prefixes[power - 1], "iB");
}

}  // namespace mge
