// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/env.h"

#include <charconv>
#include <cstdlib>

#include "libmge/base/error.h"

namespace mge {

std::optional<std::string> env_string(const char* name) {
    const char* value = std::getenv(name);
    if (!value || !*value) return std::nullopt;
    return value;
}

std::optional<long> env_int(const char* name) {
    auto value = env_string(name);
    if (!value) return std::nullopt;
    long number = 0;
    auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (error != std::errc() || end != value->data() + value->size())
        throw_value_error(name, "'", *value, "' is not an integer");
    return number;
}

}  // namespace mge
