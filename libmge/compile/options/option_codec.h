// SPDX-License-Identifier: Apache-2.0
#pragma once
// For option_list.cpp: how the members of CompileOptions travel as values.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "libmge/compile/options/option_list.h"

namespace mge {

// How a member travels as an OptionValue.
template <class T>
struct OptionCodec;

template <>
struct OptionCodec<bool> {
    static constexpr auto type = OptionType::truth;
    static OptionValue get(bool value) { return value; }
    static bool set(bool& member, const OptionValue& value) {
        auto* given = std::get_if<bool>(&value);
        if (given) member = *given;
        return given;
    }
};

template <class T>
requires(std::is_integral_v<T>) struct OptionCodec<T> {
    static constexpr auto type = OptionType::whole;
    static OptionValue get(T value) { return int64_t(value); }
    static bool set(T& member, const OptionValue& value) {
        auto* real = std::get_if<double>(&value);
        bool is_whole = real && std::abs(*real) < 0x1p53 && std::trunc(*real) == *real;
        if (is_whole) return set(member, OptionValue(int64_t(*real)));
        auto* given = std::get_if<int64_t>(&value);
        if (!given) return false;
        member = T(*given);
        return std::in_range<T>(*given);
    }
};

template <>
struct OptionCodec<double> {
    static constexpr auto type = OptionType::real;
    static OptionValue get(double value) { return value; }
    static bool set(double& member, const OptionValue& value) {
        if (auto* given = std::get_if<int64_t>(&value)) return set(member, OptionValue(double(*given)));
        auto* given = std::get_if<double>(&value);
        if (given) member = *given;
        return given;
    }
};

template <>
struct OptionCodec<std::string> {
    static constexpr auto type = OptionType::text;
    static OptionValue get(const std::string& value) { return value; }
    static bool set(std::string& member, const OptionValue& value) {
        auto* given = std::get_if<std::string>(&value);
        if (given) member = *given;
        return given;
    }
};

template <>
struct OptionCodec<std::vector<std::string>> {
    static constexpr auto type = OptionType::texts;
    static OptionValue get(const std::vector<std::string>& value) { return value; }
    static bool set(std::vector<std::string>& member, const OptionValue& value) {
        auto* given = std::get_if<std::vector<std::string>>(&value);
        if (given) member = *given;
        return given;
    }
};

template <class T>
struct OptionCodec<std::optional<T>> : OptionCodec<T> {
    static OptionValue get(const std::optional<T>& value) {
        return value ? OptionCodec<T>::get(*value) : OptionValue();
    }
    static bool set(std::optional<T>& member, const OptionValue& value) {
        member.reset();
        return std::holds_alternative<std::monostate>(value) || OptionCodec<T>::set(member.emplace(), value);
    }
};

inline constexpr std::array<std::string_view, 3> precision_names{"strict", "relaxed", "fast"};
constexpr std::span<const std::string_view> names_of(Precision) { return precision_names; }

template <class T>
requires(std::is_enum_v<T>) struct OptionCodec<T> {
    static constexpr auto type = OptionType::text;
    static OptionValue get(T value) { return std::string(names_of(value)[size_t(value)]); }
    static bool set(T& member, const OptionValue& value) {
        auto* given = std::get_if<std::string>(&value);
        auto names = names_of(member);
        auto found = given ? std::ranges::find(names, *given) : names.end();
        if (found != names.end()) member = T(found - names.begin());
        return found != names.end();
    }
};

// The largest number stands for "no limit".
struct LimitCodec {
    static constexpr auto type = OptionType::whole;
    static OptionValue get(size_t value) { return value == SIZE_MAX ? OptionValue() : int64_t(value); }
    static bool set(size_t& member, const OptionValue& value) {
        if (!std::holds_alternative<std::monostate>(value)) return OptionCodec<size_t>::set(member, value);
        member = SIZE_MAX;
        return true;
    }
};

}  // namespace mge
