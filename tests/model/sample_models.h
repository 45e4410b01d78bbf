// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "libmge/model/model.h"

namespace mge {

// Small models of different kinds, for tests of files and tools.
std::vector<Model> sample_models();

}  // namespace mge
