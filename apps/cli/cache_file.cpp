// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cache_file.h"

#include <filesystem>

#include "libmge/model/crypt/encrypted_file.h"

namespace mge::cli {

std::unique_ptr<FastrunCache> open_cache(const std::string& path, const KeyOptions& key) {
    bool is_there = std::filesystem::is_regular_file(path);
    if (!key.are_given() && !(is_there && is_encrypted_file(path))) return FastrunCache::open(path);
    return FastrunCache::from_bytes(decrypt_to_memory(path, {container_cipher, key_provider(key)}), path);
}

}  // namespace mge::cli
