// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/base/env.h"

namespace mge::test {

// MGE_NIGHTLY=1 asks for the full counts of what otherwise takes a sample.
inline bool is_nightly() { return env_string("MGE_NIGHTLY").value_or("0") == "1"; }

}  // namespace mge::test
