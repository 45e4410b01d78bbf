// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <charconv>

namespace mge {

// std::from_chars of a double, which libc++ has only from version 20 on. Hexadecimal numbers have no sign.
std::from_chars_result read_double(const char* first, const char* last, double& value,
                                   std::chars_format format = std::chars_format::general);

}  // namespace mge
