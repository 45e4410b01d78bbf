// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/narrow.h"

#include <cmath>
#include <limits>

#include "libmge/base/error.h"

namespace mge {
namespace {

constexpr uint8_t no_code = 0xff;

// Sign, exponent and mantissa, from the highest bit down.
struct Format {
    int exponent_bits, mantissa_bits, bias;
    uint8_t largest;   // the code of the largest number
    uint8_t infinity;  // its code, or no_code
    uint8_t nan;       // the code of NaN; a type without NaN uses the code of its largest number
    bool has_negative_zero;

    int sign() const { return 1 << (exponent_bits + mantissa_bits); }
};

Format format_of(DType dtype) {
    switch (dtype) {
        case DType::e4m3fn:
            return {4, 3, 7, 0x7e, no_code, 0x7f, true};
        case DType::e4m3fnuz:
            return {4, 3, 8, 0x7f, no_code, 0x80, false};
        case DType::e5m2:
            return {5, 2, 15, 0x7b, 0x7c, 0x7e, true};
        case DType::e5m2fnuz:
            return {5, 2, 16, 0x7f, no_code, 0x80, false};
        default:
            MGE_CHECK(dtype == DType::e2m1, dtype, " has no such format");
            return {2, 1, 1, 0x7, no_code, 0x8, true};  // its NaN is the code of −0
    }
}

// The magnitude of a code without its sign.
double magnitude(const Format& f, int code) {
    int exponent = code >> f.mantissa_bits, mantissa = code & ((1 << f.mantissa_bits) - 1);
    if (exponent == 0) return std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
    return std::ldexp((1 << f.mantissa_bits) + mantissa, exponent - f.bias - f.mantissa_bits);
}

float value_of(const Format& f, uint8_t bits) {
    int code = bits & (f.sign() - 1);
    bool is_negative = bits & f.sign();
    if (!f.has_negative_zero && is_negative && code == 0) return std::numeric_limits<float>::quiet_NaN();
    auto value = code <= f.largest    ? float(magnitude(f, code))
                 : code == f.infinity ? std::numeric_limits<float>::infinity()
                                      : std::numeric_limits<float>::quiet_NaN();
    return is_negative ? -value : value;
}

// Codes count steps, whose length doubles with each exponent.
int nearest_code(const Format& f, double x) {
    int exponent = x > 0 ? std::max(std::ilogb(x), 1 - f.bias) : 1 - f.bias;
    double steps = std::nearbyint(std::ldexp(x, f.mantissa_bits - exponent));
    return int(steps) + ((exponent + f.bias - 1) << f.mantissa_bits);
}

uint8_t bits_of(const Format& f, double x, Overflow overflow) {
    if (std::isnan(x)) return f.nan;
    int sign = std::signbit(x) ? f.sign() : 0;
    double size = std::fabs(x);
    int code = size > 2 * magnitude(f, f.largest) ? f.largest + 1 : nearest_code(f, size);
    if (code > f.largest) {
        if (overflow == Overflow::saturates || f.exponent_bits == 2)
            code = f.largest;
        else if (f.infinity == no_code)
            return uint8_t(f.has_negative_zero ? sign | f.nan : f.nan);
        else
            code = f.infinity;
    }
    if (code == 0 && !f.has_negative_zero) return 0;
    return uint8_t(sign | code);
}

constexpr uint8_t power_nan = 0xff;
constexpr int power_bias = 127, largest_power = 254;

uint8_t power_bits(double x, Overflow overflow, PowerRounding rounding) {
    if (!std::isfinite(x)) return power_nan;
    x = std::fabs(x);
    if (x == 0) return 0;
    int power = std::ilogb(x);
    double part = std::ldexp(x, -power);  // from 1 to below 2
    bool rounds_up =
        rounding == PowerRounding::up ? part > 1 : rounding == PowerRounding::nearest && part >= 1.5;
    int code = std::max(0, power + rounds_up + power_bias);
    if (code <= largest_power) return uint8_t(code);
    return overflow == Overflow::saturates ? uint8_t(largest_power) : power_nan;
}

}  // namespace

float narrow_value(DType dtype, uint8_t bits) {
    if (dtype == DType::e8m0)
        return bits == power_nan ? std::numeric_limits<float>::quiet_NaN()
                                 : std::ldexp(1.0F, int(bits) - power_bias);
    if (!is_narrow_int(dtype)) return value_of(format_of(dtype), bits);
    int width = narrow_width(dtype), value = bits & ((1 << width) - 1);
    bool is_signed = dtype == DType::i4 || dtype == DType::i2;
    return float(is_signed && value >> (width - 1) ? value - (1 << width) : value);
}

uint8_t narrow_bits(DType dtype, int64_t value) {
    MGE_CHECK(is_narrow_int(dtype), dtype, " has no integers");
    return uint8_t(uint64_t(value) & ((1U << narrow_width(dtype)) - 1));
}

uint8_t narrow_bits(DType dtype, double value, Overflow overflow, PowerRounding rounding) {
    if (dtype == DType::e8m0) return power_bits(value, overflow, rounding);
    if (!is_narrow_int(dtype)) return bits_of(format_of(dtype), value, overflow);
    bool is_held = value >= -0x1p63 && value < 0x1p63;
    return narrow_bits(dtype, is_held ? int64_t(value) : int64_t(0));
}

}  // namespace mge
