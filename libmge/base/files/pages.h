// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <cstddef>

namespace mge {

inline size_t page_size() {
    static const auto size = size_t(::sysconf(_SC_PAGESIZE));
    return size;
}

// The memory that the system uses for so many bytes.
inline size_t round_up_to_pages(size_t bytes) {
    return (bytes + page_size() - 1) / page_size() * page_size();
}

}  // namespace mge
