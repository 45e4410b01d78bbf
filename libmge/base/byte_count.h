// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// "65536", "64K", "1.5 GiB", "2gb" → bytes, in units of 1024; nullopt for other texts.
MGE_API std::optional<uint64_t> byte_count(std::string_view text);

// "1 GiB", "1.5 KiB", "700 B": in the largest unit that leaves at least one of it.
MGE_API std::string byte_count_text(uint64_t bytes);

}  // namespace mge
