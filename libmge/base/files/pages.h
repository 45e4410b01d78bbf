// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <cstddef>

#include "libmge/base/numbers/ceil_div.h"

namespace mge {

inline size_t page_size() {
    static const auto size = size_t(::sysconf(_SC_PAGESIZE));
    return size;
}

// The memory that the system uses for so many bytes.
inline size_t round_up_to_pages(size_t bytes) { return round_up(bytes, page_size()); }

}  // namespace mge
