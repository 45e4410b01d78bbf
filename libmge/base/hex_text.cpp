// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/hex_text.h"

namespace mge {

std::string hex_text(uint64_t value) {
    std::string digits(16, '0');
    for (size_t i = digits.size(); i-- > 0; value >>= 4) digits[i] = "0123456789abcdef"[value & 15];
    return digits;
}

std::string hex_text(const Fingerprint& print) { return hex_text(print.high) + hex_text(print.low); }

}  // namespace mge
