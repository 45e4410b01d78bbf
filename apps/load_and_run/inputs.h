// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "apps/load_and_run/options.h"
#include "libmge/model/model.h"

namespace mge::load_and_run {

// The values of all inputs, in the order of the model: from --input, else from the model's first test case,
// else random numbers in [-1, 1) (zeros for integers); then --batch-size. UserError when they do not fit the
// model.
Tensors prepare_inputs(const Model& model, const Options& options);

}  // namespace mge::load_and_run
