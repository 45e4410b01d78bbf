// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/base/api.h"

namespace mge {

// When errors of operators that run at once come out, on devices that do their work later than they are asked
// for it: 0 at the call, because each operator is waited for; 1 and 2 where somebody waits, with the name of
// the operator that failed. Shapes and dtypes are checked at the call at every level, and on a CPU the work
// is done there, too: all levels are alike. Of the process; 2 at the start.
MGE_API int async_level();
// UserError for other numbers.
MGE_API void set_async_level(int level);

}  // namespace mge
