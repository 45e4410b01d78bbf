// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cpu/large_block.h"

#include <sys/mman.h>

#include <cstdint>

#include "libmge/base/files/pages.h"

namespace mge {

void* map_large_block(size_t bytes) {
    size_t wanted = round_up_to_pages(bytes), mapped = wanted + huge_page;
    void* address = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) return nullptr;
    auto* begin = static_cast<char*>(address);
    size_t before = (huge_page - reinterpret_cast<uintptr_t>(begin) % huge_page) % huge_page;
    char* data = begin + before;
    if (before) ::munmap(begin, before);
    if (size_t behind = mapped - before - wanted) ::munmap(data + wanted, behind);
    // A huge page at the end would be fully resident, however few of its bytes are used.
    size_t huge = wanted / huge_page * huge_page;
    ::madvise(data, huge, MADV_HUGEPAGE);
    populate(data + huge, wanted - huge);
    return data;
}

void populate([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    auto begin = reinterpret_cast<uintptr_t>(data), end = (begin + bytes) / page_size() * page_size();
    begin = (begin + page_size() - 1) / page_size() * page_size();
    // Fails on old kernels, which then populate page by page.
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
#endif
}

void unmap_large_block(void* data, size_t bytes) { ::munmap(data, round_up_to_pages(bytes)); }

}  // namespace mge
