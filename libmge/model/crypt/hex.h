// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "libmge/base/api.h"

namespace mge {

bool is_hex_digit(std::byte digit);
// The caller provides both spans, so that a key is never copied to memory that is not wiped. `digits` has
// twice as many bytes as the other.
void from_hex(std::span<const std::byte> digits, std::span<std::byte> bytes);
void to_hex(std::span<const std::byte> bytes, std::span<std::byte> digits);
// For data that is not secret.
MGE_API std::string hex_of(std::span<const std::byte> bytes);

}  // namespace mge
