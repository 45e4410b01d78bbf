// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/base/api.h"

namespace mge {

// Returns "mge 1.0.0, oneDNN 2.6.3": the software that measured times depend on.
MGE_API std::string library_versions();

}  // namespace mge
