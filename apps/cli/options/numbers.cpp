// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/options/numbers.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "libmge/base/byte_count.h"
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
std::string refusal(const std::string& word, bool is_number, const char* kind, Low least, High most) {
    std::string wrong = is_number ? "out of range" : text("not ", kind);
    bool is_open = most >= High(std::numeric_limits<int64_t>::max());
    return text("'", word, "' is ", wrong, ": expected ", kind,
                is_open ? text(" of at least ", least) : text(" from ", least, " to ", most));
}

bool is_integer(const std::string& word) {
    size_t digits = word.starts_with('-');
    return word.size() > digits && word.find_first_not_of("0123456789", digits) == word.npos;
}

bool is_between(const std::string& word, int64_t least, uint64_t most) {
    if (auto value = parse_whole<int64_t>(word))
        return std::cmp_greater_equal(*value, least) && std::cmp_less_equal(*value, most);
    auto value = parse_whole<uint64_t>(word);  // beyond int64
    return value && *value <= most;
}

}  // namespace

ValueCheck whole_number(int64_t least, uint64_t most) {
    return [=](const std::string& word) {
        if (is_between(word, least, most)) return std::string();
        return refusal(word, is_integer(word), "an integer", least, most);
    };
}

ValueCheck real_number(double least, double most) {
    return [=](const std::string& word) {
        auto value = parse_whole<double>(word);
        if (value && *value >= least && *value <= most) return std::string();  // not for NaN
        return refusal(word, value && !std::isnan(*value), "a number", least, most);
    };
}

size_t parse_bytes(const char* option, const std::string& given, size_t least) {
    auto bytes = byte_count(given);
    if (!bytes || *bytes < least)
        throw_value_error(option, "'", given, "' is not a size: expected bytes such as 65536, 64K or 1.5GiB");
    return size_t(*bytes);
}

}  // namespace mge::cli
