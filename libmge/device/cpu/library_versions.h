// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/base/api.h"

namespace mge {

// "mge 0.1.0, oneDNN 2.6.3": what a measured time depends on besides the machine.
MGE_API std::string library_versions();

}  // namespace mge
