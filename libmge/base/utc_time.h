// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/base/api.h"

namespace mge {

// Returns the time in UTC, to the second: "2026-11-29T12:38:31Z".
MGE_API std::string utc_now();

}  // namespace mge
