// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cache_file.h"

#include <filesystem>

#include "libmge/model/crypt/encrypted_file.h"

namespace mge::cli {

std::unique_ptr<FastrunCache> open_cache(const std::string& path, const KeyOptions& key,
                                         bool has_to_be_encrypted) {
    bool is_encrypted = std::filesystem::is_regular_file(path) && is_encrypted_file(path);
    if (!is_encrypted && !has_to_be_encrypted) return FastrunCache::open_tolerant(path);
    return FastrunCache::from_bytes(decrypt_to_memory(path, {container_cipher, key_provider(key)}), path);
}

}  // namespace mge::cli
