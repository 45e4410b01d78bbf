// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/base/api.h"

namespace mge {

// When errors of eager operators are thrown on asynchronous devices. Level 0 waits for each operator and
// throws at the call; levels 1 and 2 throw at the next wait, with the name of the failed operator. Shapes and
// dtypes are checked at the call at every level. On a CPU all levels behave alike. The level applies to the
// process and starts at 2.
MGE_API int async_level();
// Throws UserError unless 0 <= level <= 2.
MGE_API void set_async_level(int level);

}  // namespace mge
