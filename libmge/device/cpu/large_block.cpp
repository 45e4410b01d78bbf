// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cpu/large_block.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

#include "libmge/base/files/pages.h"
#include "libmge/base/numbers/ceil_div.h"

namespace mge {

namespace {

void* map(size_t bytes) {
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return data == MAP_FAILED ? nullptr : data;
}

// Maps whole pages at the begin of a huge page.
void* map_aligned(size_t bytes) {
    size_t mapped = bytes + huge_page;
    auto* begin = static_cast<char*>(map(mapped));
    if (!begin) return nullptr;
    size_t before = (huge_page - reinterpret_cast<uintptr_t>(begin) % huge_page) % huge_page;
    char* data = begin + before;
    if (before) ::munmap(begin, before);
    if (size_t behind = mapped - before - bytes) ::munmap(data + bytes, behind);
    return data;
}

// A huge page at the end would be fully resident, however few of its bytes are used.
void advise(char* data, size_t bytes) {
    size_t huge = bytes / huge_page * huge_page;
    ::madvise(data, huge, MADV_HUGEPAGE);
    populate(data + huge, bytes - huge);
}

// Moves pages and maps the missing ones.
void* move_pages(void* data, size_t bytes, size_t wanted) {
    if (wanted < huge_page) {
        void* moved = ::mremap(data, bytes, wanted, MREMAP_MAYMOVE);
        return moved == MAP_FAILED ? nullptr : moved;
    }
    void* place = map_aligned(wanted);
    if (!place) return nullptr;
    if (::mremap(data, bytes, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED) return place;
    ::munmap(place, wanted);
    return nullptr;
}

}  // namespace

void* map_large_block(size_t bytes) {
    const bool is_huge = bytes >= huge_page;
    bytes = round_up_to_pages(bytes);
    void* data = is_huge ? map_aligned(bytes) : map(bytes);
    if (data && is_huge) advise(static_cast<char*>(data), bytes);
    if (data && !is_huge) populate(data, bytes);
    return data;
}

void* resize_large_block(void* data, size_t bytes, size_t wanted) {
    if (std::min(bytes, wanted) < mapped_bytes || (bytes >= huge_page) != (wanted >= huge_page))
        return nullptr;
    const bool is_huge = wanted >= huge_page;
    bytes = round_up_to_pages(bytes);
    wanted = round_up_to_pages(wanted);
    if (wanted <= bytes) {
        if (wanted < bytes) ::munmap(static_cast<char*>(data) + wanted, bytes - wanted);
        return data;
    }
    auto* moved = static_cast<char*>(move_pages(data, bytes, wanted));
    if (moved && is_huge) advise(moved, wanted);
    if (moved && !is_huge) populate(moved + bytes, wanted - bytes);
    return moved;
}

void populate([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    auto begin = reinterpret_cast<uintptr_t>(data), end = (begin + bytes) / page_size() * page_size();
    begin = round_up(begin, page_size());
    // Fails on old kernels, which then populate page by page.
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
#endif
}

void unmap_large_block(void* data, size_t bytes) { ::munmap(data, round_up_to_pages(bytes)); }

}  // namespace mge
