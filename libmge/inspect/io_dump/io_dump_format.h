// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of the writer and reader of io dumps: MegEngine's names and numbers of dtypes.

#include <cstdint>
#include <optional>
#include <string_view>

#include "libmge/tensor/dtype.h"

namespace mge {

struct DumpDType {
    uint32_t number;
    std::string_view name;
    DType stored;  // the dtype of its elements here
};

// The dtype of the number in a file; nullopt for an unknown one, or one with elements smaller than a byte.
std::optional<DumpDType> dump_dtype(uint32_t number);
// MegEngine's name of a dtype; for those that it does not have the like ("Int64").
std::string_view dump_name(DType dtype);

// The dtype in which a value is written. MegEngine's own reader of dumps does not support bool, bfloat16 or
// 64-bit integers, so they are converted to supported types.
DType written_dtype(DType dtype);
uint32_t dump_number(DType written);

inline constexpr uint32_t dump_rank = 7;
inline constexpr size_t dump_header_bytes = 40;

}  // namespace mge
