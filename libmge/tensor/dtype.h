// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>
#include <type_traits>

#include "libmge/base/api.h"
#include "libmge/base/reflect.h"

namespace mge {

// Element types; `none` marks an absent optional input. The meaning of an element beyond its number (scale
// and zero point of steps) is known to operators and files, not to tensors.
enum class DType : uint8_t {
    none,
    boolean,
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    u64,
    i64,
    f16,
    bf16,
    f32,
    f64,
    // Narrow types, one byte per element: they can be moved and converted, but no operator computes with
    // them.
    e4m3fn,
    e4m3fnuz,
    e5m2,
    e5m2fnuz,
    e8m0,
    e2m1,
    u4,
    i4,
    u2,
    i2
};
inline constexpr int dtype_count = 24;

// Storage types of the half precisions; arithmetic on them is done in f32.
struct Half {
    uint16_t bits = 0;
    Half() = default;
    MGE_API explicit Half(float value);
    MGE_API operator float() const;
};
struct BFloat16 {
    uint16_t bits = 0;
    BFloat16() = default;
    MGE_API explicit BFloat16(float value);
    MGE_API operator float() const;
};

// Returns the names of NumPy and its extension ml_dtypes: "bool", "uint8", …, "float64", "float8_e4m3fn", …,
// "int2".
MGE_API std::string_view name_of(DType dtype);
MGE_API std::optional<DType> dtype_from_name(std::string_view name);

constexpr size_t size_of(DType dtype) {
    constexpr uint8_t sizes[dtype_count] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2,
                                            4, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    return sizes[size_t(dtype)];
}
constexpr bool is_float(DType dtype) { return dtype >= DType::f16 && dtype <= DType::f64; }
constexpr bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
constexpr bool is_int(DType dtype) { return dtype >= DType::u8 && dtype <= DType::i64; }
constexpr bool is_unsigned(DType dtype) {
    return dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64;
}
constexpr bool is_narrow(DType dtype) { return dtype >= DType::e4m3fn; }

// Groups of dtypes, each with all of the one before.
enum class DTypes : uint8_t {
    common,   // the types of networks, which every device supports
    numbers,  // u32, u64 and f64 too
    all,      // narrow ones too
};
constexpr bool is_among(DType dtype, DTypes group) {
    if (is_narrow(dtype)) return group == DTypes::all;
    bool is_common = dtype != DType::u32 && dtype != DType::u64 && dtype != DType::f64;
    return is_common || group != DTypes::common;
}

// MegEngine's rule for tensors of two types: equal stays; f16 and bf16 otherwise count as f32; different
// categories (float, int, bool) give f32; the same category gives the wider. f64, which MegEngine does not
// have, is the wider of all. Signed with unsigned integers, and narrow dtypes, have no common type: nullopt.
MGE_API std::optional<DType> common_dtype(DType a, DType b);

inline std::ostream& operator<<(std::ostream& stream, DType dtype) { return stream << name_of(dtype); }

template <>
struct ParamCodec<DType> {
    MGE_API static ParamValue get(DType value);
    MGE_API static DType set(const ParamValue& value);
};

// DTypeOf<float> == DType::f32, CType<DType::f32> is float.
template <class T>
inline constexpr DType DTypeOf = DType::none;
template <>
inline constexpr DType DTypeOf<bool> = DType::boolean;
template <>
inline constexpr DType DTypeOf<uint8_t> = DType::u8;
template <>
inline constexpr DType DTypeOf<int8_t> = DType::i8;
template <>
inline constexpr DType DTypeOf<uint16_t> = DType::u16;
template <>
inline constexpr DType DTypeOf<int16_t> = DType::i16;
template <>
inline constexpr DType DTypeOf<uint32_t> = DType::u32;
template <>
inline constexpr DType DTypeOf<int32_t> = DType::i32;
template <>
inline constexpr DType DTypeOf<uint64_t> = DType::u64;
template <>
inline constexpr DType DTypeOf<int64_t> = DType::i64;
template <>
inline constexpr DType DTypeOf<Half> = DType::f16;
template <>
inline constexpr DType DTypeOf<BFloat16> = DType::bf16;
template <>
inline constexpr DType DTypeOf<float> = DType::f32;
template <>
inline constexpr DType DTypeOf<double> = DType::f64;

// The type in which elements of type T are computed.
template <class T>
using ComputedAs = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

}  // namespace mge
