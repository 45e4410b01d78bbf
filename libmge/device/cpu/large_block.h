// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maps large blocks outside of the malloc heap. Inside it, their address ranges would stay advised as huge
// pages after free(): a small allocation there would take 2 MB, and freed memory would stay resident.

#include <cstddef>

namespace mge {

constexpr size_t huge_page = size_t(2) << 20;

// Returns a block aligned to a huge page, whose whole huge pages are advised as such; nullptr if the system
// is out of memory.
void* map_large_block(size_t bytes);
// Populates the small pages of a new block in one call. Otherwise each costs a page fault at its first write,
// several times the cost of clearing it.
void populate(void* data, size_t bytes);
void unmap_large_block(void* data, size_t bytes);

}  // namespace mge
