// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/hex.h"

namespace mge {
namespace {

int value_of(std::byte digit) {
    char c = char(digit);
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

bool is_hex_digit(std::byte digit) { return value_of(digit) >= 0; }

void from_hex(std::span<const std::byte> digits, std::span<std::byte> bytes) {
    for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = std::byte(value_of(digits[2 * i]) << 4 | value_of(digits[2 * i + 1]));
}

void to_hex(std::span<const std::byte> bytes, std::span<std::byte> digits) {
    for (size_t i = 0; i < bytes.size(); ++i) {
        digits[2 * i] = std::byte("0123456789abcdef"[size_t(bytes[i] >> 4)]);
        digits[2 * i + 1] = std::byte("0123456789abcdef"[size_t(bytes[i] & std::byte(15))]);
    }
}

std::string hex_of(std::span<const std::byte> bytes) {
    std::string digits(2 * bytes.size(), ' ');
    to_hex(bytes, std::as_writable_bytes(std::span(digits)));
    return digits;
}

}  // namespace mge
