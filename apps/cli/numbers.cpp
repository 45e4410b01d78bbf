// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/numbers.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "libmge/base/error.h"

namespace mge::cli {
namespace {

template <class T>
std::optional<T> parse_whole(const std::string& word) {
    T value{};
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size() ? std::optional(value) : std::nullopt;
}

template <class Low, class High>
std::string refusal(const std::string& word, const char* kind, Low least, High most) {
    bool is_open = most >= High(std::numeric_limits<int64_t>::max());
    return is_open ? text("'", word, "' is no ", kind, " of at least ", least)
                   : text("'", word, "' is no ", kind, " from ", least, " to ", most);
}

bool is_between(const std::string& word, int64_t least, uint64_t most) {
    if (auto value = parse_whole<int64_t>(word))
        return std::cmp_greater_equal(*value, least) && std::cmp_less_equal(*value, most);
    auto value = parse_whole<uint64_t>(word);  // beyond int64
    return value && *value <= most;
}

// 1024 to the power that a unit stands for; 0 for what is none.
double factor_of(std::string unit) {
    std::erase(unit, ' ');
    std::ranges::transform(unit, unit.begin(), [](char c) { return char(std::toupper(uint8_t(c))); });
    if (unit.empty() || unit == "B") return 1;
    constexpr std::string_view prefixes = "KMGT";
    size_t power = prefixes.find(unit[0]);
    std::string rest = unit.substr(1);
    bool is_unit = power != prefixes.npos && (rest.empty() || rest == "B" || rest == "IB");
    return is_unit ? std::exp2(10 * double(power + 1)) : 0;
}

}  // namespace

ValueCheck whole_number(int64_t least, uint64_t most) {
    return [=](const std::string& word) {
        return is_between(word, least, most) ? "" : refusal(word, "whole number", least, most);
    };
}

ValueCheck real_number(double least, double most) {
    return [=](const std::string& word) {
        auto value = parse_whole<double>(word);
        bool is_good = value && *value >= least && *value <= most;  // not for NaN
        return is_good ? "" : refusal(word, "number", least, most);
    };
}

size_t parse_bytes(const char* option, const std::string& given, size_t least) {
    double number = 0;
    const char* end = given.data() + given.size();
    auto [unit, error] = std::from_chars(given.data(), end, number);
    double bytes = number * factor_of({unit, end});
    bool is_good = error == std::errc() && factor_of({unit, end}) > 0 && bytes >= double(least);
    if (!is_good || bytes > 0x1p62)
        throw_user(option, text("'", given, "' is no number of bytes such as 65536, 64K or 1.5GiB"),
                   ErrorClass::value);
    return size_t(bytes);
}

}  // namespace mge::cli
