// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// For operators that return positions as int32: throws UserError if there are more than int32 can number.
MGE_API void require_int32_places(std::string_view op, int64_t elements);

}  // namespace mge
