// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of the system's own for large blocks. In the heap they would leave stretches behind that are advised
// to be huge pages: a small allocation there would take 2 MB, and what is freed stays with the process.

#include <cstddef>

namespace mge {

constexpr size_t huge_page = size_t(2) << 20;

// Begins at a multiple of a huge page; the whole ones in it are advised to be such. Null when the system has
// no memory left.
void* map_large_block(size_t bytes);
// Has the system give the small pages of a new block now, all at once: one by one, as they are first written
// to, each costs a fault, several times what clearing it does.
void populate(void* data, size_t bytes);
void unmap_large_block(void* data, size_t bytes);

}  // namespace mge
