// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/persistent_cache.h"

namespace lite {

std::shared_ptr<mge::FastrunCache> persistent_cache() {
    static const std::shared_ptr<mge::FastrunCache> cache = mge::FastrunCache::in_memory();
    return cache;
}

}  // namespace lite
