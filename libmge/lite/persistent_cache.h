// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "libmge/kernel/fastrun_cache.h"

namespace lite {

// The measured times of algorithms that all networks of the process share; never null.
std::shared_ptr<mge::FastrunCache> persistent_cache();

}  // namespace lite
