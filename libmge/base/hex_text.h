// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/base/hash.h"

namespace mge {

// Return all 16 or 32 hexadecimal digits, the highest first.
MGE_API std::string hex_text(uint64_t value);
MGE_API std::string hex_text(const Fingerprint& print);

}  // namespace mge
