// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/hash.h"

#include <xxh_x86dispatch.h>

namespace mge {

uint64_t checksum(const void* data, size_t bytes) { return XXH3_64bits_dispatch(data, bytes); }

Fingerprint fingerprint(const void* data, size_t bytes) {
    XXH128_hash_t hash = XXH3_128bits_dispatch(data, bytes);
    return {hash.low64, hash.high64};
}

}  // namespace mge
