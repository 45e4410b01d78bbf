// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "apps/cli/options/key_options.h"
#include "libmge/kernel/fastrun_cache.h"

namespace mge::cli {

// `read` requires an existing cache; `write` creates a missing one. For work that can do without: `tolerant`
// writes as far as possible (FastrunCache::open_tolerant), `look_up` never writes (open_to_look_up).
enum class CacheUse { read, write, tolerant, look_up };

// Opens a fast-run cache. An encrypted cache is decrypted in memory. Each change is merged with changes of
// other processes, encrypted and written atomically, so plaintext never reaches a disk. If
// `has_to_be_encrypted`, a new cache is encrypted and a plain one refused. Throws CryptoError and UserError
// like decrypt_to_memory().
std::unique_ptr<FastrunCache> open_cache(const std::string& path, const KeyOptions& key, CacheUse use,
                                         bool has_to_be_encrypted, CacheName name = CacheName::by_user);

}  // namespace mge::cli
