// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "apps/load_and_run/options/input.h"
#include "apps/load_and_run/test.h"

namespace mge::load_and_run {

// One test per --input; without any, one per test case of the model; without those, one test of random
// numbers in [-1, 1) (zeros for integers), which also fill missing inputs. Each test is repeated with every
// --batch-size. --dim changes the model's shapes and omits test cases of other sizes. UserError if values do
// not fit the model.
std::vector<Test> make_tests(const Model& model, const InputOptions& options);

}  // namespace mge::load_and_run
