// SPDX-License-Identifier: Apache-2.0
#pragma once
// The file in which MegEngine keeps its measured algorithms.
//
//     u32 categories, each: u32 length, name; u32 entries, each: u32 length, key; u32 length, value
//     value: u32 algorithms, each: u32 length, blob; u32 length, ":attribute;seconds;workspace:\0"
//     blob:  u32 handle type, u32 algorithm type, u32 size of parameters, u32 size of name, both

#include <span>
#include <string>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/kernel/fastrun_cache.h"

namespace mge::megengine {

// One row per algorithm. The machine is "MegEngine | " and the platform; the problem is the operator with the
// bytes of its parameters in hexadecimal, and the layouts. ModelError that names the position of the fault.
MGE_API std::vector<CacheRow> parse_fastrun_cache(std::span<const std::byte> bytes, const std::string& label);

}  // namespace mge::megengine
