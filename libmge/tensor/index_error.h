// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

#include "libmge/base/error.h"

namespace mge {

// "[take] index 3 is out of range for axis 1 with size 3"
[[noreturn]] inline void throw_index(std::string_view op, int axis, int64_t index, int64_t extent) {
    throw_user(op, text("index ", index, " is out of range for axis ", axis, " with size ", extent),
               ErrorClass::index);
}

}  // namespace mge
