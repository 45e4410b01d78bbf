// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "apps/load_and_run/options/input.h"
#include "apps/load_and_run/test.h"

namespace mge::load_and_run {

// One test per --input; without any, one per test case of the model; without those, one of random numbers in
// [-1, 1) (zeros for integers), which also stand for inputs that were not given. Then each with every
// --batch-size. UserError when values do not fit the model.
std::vector<Test> make_tests(const Model& model, const InputOptions& options);

}  // namespace mge::load_and_run
