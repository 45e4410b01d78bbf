// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>

#include "libmge/base/api.h"
#include "libmge/base/reflect.h"

namespace mge {

// Element types. `none` marks an absent optional input. Quantised types will follow the float ones; they
// carry a scale and a zero point, which then become part of TensorSpec.
enum class DType : uint8_t { none, boolean, u8, i8, u16, i16, i32, i64, f16, bf16, f32 };
inline constexpr int dtype_count = 11;

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

// numpy's names: "bool", "uint8", …, "float32".
MGE_API std::string_view name_of(DType dtype);
MGE_API std::optional<DType> dtype_from_name(std::string_view name);

constexpr size_t size_of(DType dtype) {
    constexpr uint8_t sizes[dtype_count] = {0, 1, 1, 1, 2, 2, 4, 8, 2, 2, 4};
    return sizes[size_t(dtype)];
}
constexpr bool is_float(DType dtype) { return dtype >= DType::f16; }
constexpr bool is_int(DType dtype) { return dtype >= DType::u8 && dtype <= DType::i64; }
constexpr bool is_unsigned(DType dtype) { return dtype == DType::u8 || dtype == DType::u16; }

// MegEngine's rule for tensors of two types: equal stays; f16 and bf16 otherwise count as f32; different
// categories (float, int, bool) give f32; the same category gives the wider. Signed with unsigned integers
// have no common type: nullopt.
MGE_API std::optional<DType> common_dtype(DType a, DType b);

inline std::ostream& operator<<(std::ostream& stream, DType dtype) { return stream << name_of(dtype); }

template <>
struct ParamCodec<DType> {
    static ParamValue get(DType value) { return std::string(name_of(value)); }
    static DType set(const ParamValue& value) {
        auto* s = std::get_if<std::string>(&value);
        auto dtype = s ? dtype_from_name(*s) : std::nullopt;
        if (!dtype) throw_wrong_param("the name of a dtype such as 'float32'", value);
        return *dtype;
    }
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
inline constexpr DType DTypeOf<int32_t> = DType::i32;
template <>
inline constexpr DType DTypeOf<int64_t> = DType::i64;
template <>
inline constexpr DType DTypeOf<Half> = DType::f16;
template <>
inline constexpr DType DTypeOf<BFloat16> = DType::bf16;
template <>
inline constexpr DType DTypeOf<float> = DType::f32;

}  // namespace mge
