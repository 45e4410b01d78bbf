// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libmge/model/model.h"

namespace mge {

// Escapes bytes of invalid UTF-8 in names and metadata: in files they may have any encoding.
void escape_names(Model& model);

}  // namespace mge
