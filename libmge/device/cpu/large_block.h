// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maps large blocks outside of the malloc heap, so that their pages can move into blocks of other sizes, and
// freed ones leave no gaps. Inside the heap, address ranges would also stay advised as huge pages after
// free(): a small allocation there would take 2 MB.

#include <cstddef>

namespace mge {

constexpr size_t huge_page = size_t(2) << 20;

// Blocks of at least so many bytes are mapped.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t mapped_bytes = huge_page;  // finds accesses beyond the end of a block in the heap alone
#else
constexpr size_t mapped_bytes = size_t(128) << 10;  // malloc() maps such blocks, too, before it has freed one
#endif

// Returns a populated block, or from 2 MB on one that is aligned to a huge page and whose whole huge pages
// are advised as such; nullptr if the system is out of memory.
void* map_large_block(size_t bytes);
// Moves the pages of a block to one of another size; its contents are undefined. Returns nullptr, and leaves
// the block as it is, if the system cannot, or if one of the two has huge pages and the other has not.
void* resize_large_block(void* data, size_t bytes, size_t wanted);
// Populates the small pages of a new block in one call. Otherwise each costs a page fault at its first write,
// several times the cost of clearing it.
void populate(void* data, size_t bytes);
void unmap_large_block(void* data, size_t bytes);

}  // namespace mge
