// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "apps/cli/options/key_options.h"
#include "libmge/kernel/fastrun_cache.h"

namespace mge::cli {

// Only read: the cache has to exist. Written: it is made when it does not. For work that goes on without:
// written as far as that is possible (FastrunCache::open_tolerant), or never (open_to_look_up).
enum class CacheUse { read, write, tolerant, look_up };

// Opens a fast-run cache. An encrypted one is decrypted into memory; each change is encrypted and put in the
// file's place at once, whole or not at all, with what other processes have stored meanwhile. Plain content
// never reaches a disk. A cache that `has_to_be_encrypted` is so when it is made; a plain one is refused.
// CryptoError and UserError as decrypt_to_memory throws them.
std::unique_ptr<FastrunCache> open_cache(const std::string& path, const KeyOptions& key, CacheUse use,
                                         bool has_to_be_encrypted, CacheName name = CacheName::by_user);

}  // namespace mge::cli
