// SPDX-License-Identifier: Apache-2.0
#pragma once
// The measured times of algorithms, shared by all networks of the process. Without a file they are kept in
// memory.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "libmge/kernel/fastrun_cache.h"

namespace lite {

// The cache for networks that are loaded now, which share ownership; never null.
std::shared_ptr<mge::FastrunCache> persistent_cache();

// Switches to the file, and adds the times known so far. A MegEngine file is read: with `always_sync` our
// file replaces it, and it is kept as "<path>.megengine"; otherwise nothing is written before
// write_persistent_cache(). A file that is not writable is read, with a warning. Error for a file that is not
// a cache.
void set_persistent_cache_file(const std::string& path, bool always_sync);

// Adds one of our caches or of MegEngine's, for example from a packed model. Error if it is neither; `label`
// is its name in the message.
void add_to_persistent_cache(std::span<const std::byte> cache, const std::string& label);

// Writes all known times to a file in our format; existing rows of such a file are kept.
void write_persistent_cache(const std::string& path);

// The rows of a cache of ours or of MegEngine's.
std::vector<mge::CacheRow> parse_cache(std::span<const std::byte> cache, const std::string& label);

}  // namespace lite
