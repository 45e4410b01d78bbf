// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/io_dump/io_dump_format.h"

#include "libmge/base/error.h"

namespace mge {
namespace {

constexpr DumpDType types[] = {
    {0, "Float32", DType::f32},
    {1, "Uint8", DType::u8},
    {2, "Int8", DType::i8},
    {3, "Int16", DType::i16},
    {4, "Int32", DType::i32},
    {8, "Byte", DType::u8},
    {9, "Float16", DType::f16},
    {11, "BFloat16", DType::bf16},
    {12, "Bool", DType::boolean},
    {13, "Uint16", DType::u16},
    {100000, "Quantized8Asymm", DType::u8},
    {100001, "QuantizedS32", DType::i32},
    {100002, "QuantizedS8", DType::i8},
    {100005, "QuantizedS16", DType::i16},
};

struct RareName {
    DType dtype;
    std::string_view name;
};
constexpr RareName names_of_rare[] = {
    {DType::u32, "Uint32"}, {DType::i64, "Int64"}, {DType::u64, "Uint64"}, {DType::f64, "Float64"}};

}  // namespace

std::optional<DumpDType> dump_dtype(uint32_t number) {
    for (auto& type : types)
        if (type.number == number) return type;
    return std::nullopt;
}

std::string_view dump_name(DType dtype) {
    if (is_narrow(dtype)) return name_of(dtype);
    for (auto& [rare, name] : names_of_rare)
        if (rare == dtype) return name;
    for (auto& type : types)
        if (type.stored == dtype && type.name != "Byte") return type.name;
    return "none";
}

DType written_dtype(DType dtype) {
    switch (dtype) {
        case DType::boolean:
            return DType::u8;
        case DType::bf16:
            return DType::f32;
        case DType::f64:
            return DType::f32;
        case DType::u32:
        case DType::u64:
        case DType::i64:
        case DType::u16:
            return DType::i32;
        default:
            return is_narrow(dtype) ? DType::f32 : dtype;
    }
}

uint32_t dump_number(DType written) {
    for (auto& type : types)
        if (type.stored == written) return type.number;
    MGE_CHECK(false, "dtype ", written);
    return 0;
}

}  // namespace mge
