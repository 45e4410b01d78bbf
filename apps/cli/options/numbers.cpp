// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/options/numbers.h"

#include <charconv>
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

}  // namespace

ValueCheck whole_number(int64_t least, uint64_t most) {
    return [=](const std::string& word) {
        return is_between(word, least, most) ? "" : refusal(word, "whole number", least, most);
    };
}

ValueCheck real_number(double least, double most) {
    return [=](const std::string& word) {
        auto value = parse_whole<double>(word);
        bool is_good = value && *value >= least && *value <= most;  // false for NaN
        return is_good ? "" : refusal(word, "number", least, most);
    };
}

size_t parse_bytes(const char* option, const std::string& given, size_t least) {
    auto bytes = byte_count(given);
    if (!bytes || *bytes < least)
        throw_user(option, text("'", given, "' is no number of bytes such as 65536, 64K or 1.5GiB"),
                   ErrorClass::value);
    return size_t(*bytes);
}

}  // namespace mge::cli
