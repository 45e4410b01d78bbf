// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/address_space.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "libmge/base/error.h"

namespace mge {
namespace {

bool is_limited(decltype(RLIMIT_AS) resource) {
    rlimit limit{};
    return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

void require_address_space(size_t bytes, std::string_view purpose) {
    if (bytes == 0 || (!is_limited(RLIMIT_AS) && !is_limited(RLIMIT_DATA))) return;
    // Reserves addresses without touching memory.
    void* mapping =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        throw MemoryError(text("the limit of the address space leaves no ", bytes, " bytes for ", purpose));
    ::munmap(mapping, bytes);
}

}  // namespace mge
