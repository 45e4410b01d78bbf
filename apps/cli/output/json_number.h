// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "apps/cli/tool.h"

namespace mge::cli {

// A whole number out of a file. What is none, or does not fit, is a Json::exception as anything else of
// another kind: get() would take a part of it.
template <std::integral T>
T whole_number(const Json& value) {
    bool fits = value.is_number_unsigned()  ? std::in_range<T>(value.get<uint64_t>())
                : value.is_number_integer() ? std::in_range<T>(value.get<int64_t>())
                                            : false;
    if (!fits) throw Json::out_of_range::create(406, "a number of another kind or size", &value);
    return value.get<T>();
}

}  // namespace mge::cli
