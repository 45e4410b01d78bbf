// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "libmge/base/api.h"

namespace mge {

// The value of an environment variable; an empty one counts as not set.
MGE_API std::optional<std::string> env_string(const char* name);

// An integer from the environment; UserError that names the variable for any other value.
MGE_API std::optional<long> env_int(const char* name);

}  // namespace mge
