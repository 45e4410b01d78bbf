// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "apps/cli/key_options.h"
#include "libmge/kernel/fastrun_cache.h"

namespace mge::cli {

// Opens a fast-run cache. An encrypted one is decrypted into memory and never written: what is stored in it
// is gone at the end. Any other is used in place as FastrunCache::open_tolerant does, unless it
// `has_to_be_encrypted`. CryptoError and UserError as decrypt_to_memory throws them.
std::unique_ptr<FastrunCache> open_cache(const std::string& path, const KeyOptions& key,
                                         bool has_to_be_encrypted = false);

}  // namespace mge::cli
