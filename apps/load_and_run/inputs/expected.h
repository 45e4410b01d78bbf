// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "apps/load_and_run/test.h"
#include "libmge/inspect/compare.h"

namespace mge::load_and_run {

// A difference between one output of one test case and its expected value in the model.
struct Mismatch {
    std::string output;
    int64_t index = -1;  // flat; -1: another dtype or shape
    std::string got, expected;
    int64_t count = 0;  // how many elements differ
};
struct TestCaseResult {
    std::string name;
    bool compared = false;
    double largest_error = 0;
    std::vector<Mismatch> mismatches;
};

// Compares the outputs of the test's last run with the expected ones. Without a tolerance, the test's own
// largest error applies, else that of test cases.
TestCaseResult compare_with_expected(const Test& test, const std::optional<Tolerance>& tolerance = {});

}  // namespace mge::load_and_run
