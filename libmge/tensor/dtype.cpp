// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/dtype.h"

#include <algorithm>
#include <array>
#include <bit>

namespace mge {
namespace {

constexpr std::array<std::string_view, dtype_count> dtype_names{"none",           "bool",
                                                                "uint8",          "int8",
                                                                "uint16",         "int16",
                                                                "uint32",         "int32",
                                                                "uint64",         "int64",
                                                                "float16",        "bfloat16",
                                                                "float32",        "float64",
                                                                "float8_e4m3fn",  "float8_e4m3fnuz",
                                                                "float8_e5m2",    "float8_e5m2fnuz",
                                                                "float8_e8m0fnu", "float4_e2m1fn",
                                                                "uint4",          "int4",
                                                                "uint2",          "int2"};

int category(DType dtype) { return is_float(dtype) ? 2 : is_int(dtype) ? 1 : 0; }

}  // namespace

// Round to nearest even; overflow becomes infinity, NaN stays NaN.
Half::Half(float value) {
    uint32_t x = std::bit_cast<uint32_t>(value), sign = (x >> 16) & 0x8000, magnitude = x & 0x7fffffff;
    if (magnitude > 0x7f800000) {
        bits = uint16_t(sign | 0x7e00);
    } else if (magnitude >= 0x477ff000) {  // rounds to 65520 or more
        bits = uint16_t(sign | 0x7c00);
    } else if (magnitude < 0x38800000) {  // subnormal: the sum aligns the mantissa and rounds it
        float sum = std::bit_cast<float>(magnitude) + 0.5f;
        bits = uint16_t(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000));
    } else {
        uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1) - 0x38000000;
        bits = uint16_t(sign | (rounded >> 13));
    }
}

Half::operator float() const {
    uint32_t sign = uint32_t(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
    if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude < 0x400) {
        float value = float(magnitude) * 0x1p-24f;
        return sign ? -value : value;
    }
    return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
}

BFloat16::BFloat16(float value) {
    uint32_t x = std::bit_cast<uint32_t>(value);
    if ((x & 0x7fffffff) > 0x7f800000) {
        bits = uint16_t((x >> 16) | 0x40);
        return;
    }
    bits = uint16_t((x + 0x7fff + ((x >> 16) & 1)) >> 16);
}

BFloat16::operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }

std::string_view name_of(DType dtype) { return dtype_names[size_t(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
    auto it = std::find(dtype_names.begin() + 1, dtype_names.end(), name);
    if (it == dtype_names.end()) return std::nullopt;
    return DType(it - dtype_names.begin());
}

ParamValue ParamCodec<DType>::get(DType value) { return std::string(name_of(value)); }
DType ParamCodec<DType>::set(const ParamValue& value) {
    auto* name = std::get_if<std::string>(&value);
    auto dtype = name ? dtype_from_name(*name) : std::nullopt;
    if (!dtype) throw_wrong_param("the name of a dtype such as 'float32'", value);
    return *dtype;
}

std::optional<DType> common_dtype(DType a, DType b) {
    if (a == b) return a;
    if (is_narrow(a) || is_narrow(b)) return std::nullopt;
    if (a == DType::f64 || b == DType::f64) return DType::f64;
    if (category(a) != category(b) || is_float(a)) return DType::f32;
    if (is_unsigned(a) != is_unsigned(b)) return std::nullopt;
    return size_of(a) > size_of(b) ? a : b;
}

}  // namespace mge
