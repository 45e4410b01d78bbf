// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "apps/cli/tool.h"

namespace mge::cli {

// Reads an integer from a file. Throws Json::exception for other numbers and values out of range, which get()
// would truncate.
template <std::integral T>
T whole_number(const Json& value) {
    bool fits = value.is_number_unsigned()  ? std::in_range<T>(value.get<uint64_t>())
                : value.is_number_integer() ? std::in_range<T>(value.get<int64_t>())
                                            : false;
    if (!fits) throw Json::out_of_range::create(406, "a number of another kind or size", &value);
    return value.get<T>();
}

}  // namespace mge::cli
