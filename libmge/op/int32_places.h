// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// For operators that give places among so many elements as int32: UserError where it has no number for all.
MGE_API void require_int32_places(std::string_view op, int64_t elements);

}  // namespace mge
