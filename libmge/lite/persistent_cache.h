// SPDX-License-Identifier: Apache-2.0
#pragma once
// The measured times of algorithms that all networks of the process share. Without a file they are kept in
// memory.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "libmge/kernel/fastrun_cache.h"

namespace lite {

// What networks that are loaded now use, for as long as they hold it; never null.
std::shared_ptr<mge::FastrunCache> persistent_cache();

// From now on it is the file, to which what was known so far is added. A file of MegEngine's is read: with
// `always_sync` one of ours takes its place and it is kept beside that as "<path>.megengine", else nothing is
// written before write_persistent_cache(). A file that cannot be written is read, with a warning. Error for
// one that is no cache.
void set_persistent_cache_file(const std::string& path, bool always_sync);

// Adds a cache of ours or of MegEngine's, such as a packed model has. Error when it is neither; `label` names
// it there.
void add_to_persistent_cache(std::span<const std::byte> cache, const std::string& label);

// Writes all that is known as a file of ours; rows of such a file that is there already stay.
void write_persistent_cache(const std::string& path);

// The rows of a cache of ours or of MegEngine's.
std::vector<mge::CacheRow> parse_cache(std::span<const std::byte> cache, const std::string& label);

}  // namespace lite
