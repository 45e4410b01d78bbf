// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/inputs/expected.h"

#include <algorithm>

#include "libmge/inspect/compare.h"
#include "libmge/inspect/elements.h"

namespace mge::load_and_run {
namespace {

// For outputs whose expected values are all nearly zero.
constexpr double absolute_tolerance = 1e-7;

Tolerance tolerance_of(const Test& test, DType dtype, bool is_rounded_to_half) {
    if (test.max_error) return {.rtol = 0, .atol = *test.max_error, .metric = Metric::assert_equal};
    // Test cases were computed by eager operators; other algorithms may round in another way.
    if (!is_float(dtype)) return {};
    return {.atol = absolute_tolerance, .is_rounded_to_half = is_rounded_to_half};
}

void compare(const Tensor& got, const Tensor& expected, const std::string& output, const Tolerance& tolerance,
             TestCaseResult& result) {
    if (got.dtype() != expected.dtype() || !(got.shape() == expected.shape())) {
        result.mismatches.push_back({output, -1, text(got.spec()), text(expected.spec()), 1});
        return;
    }
    Comparison c = compare_tensors(got, expected, tolerance);
    result.largest_error = std::max(result.largest_error, c.error);
    if (c.passed()) return;
    auto& element = c.first_beyond ? *c.first_beyond : *c.largest;
    result.mismatches.push_back(
        {output, element.index, element_text(element.got), element_text(element.expected), c.beyond});
}

}  // namespace

TestCaseResult compare_with_expected(const Test& test, const std::optional<Tolerance>& tolerance) {
    TestCaseResult result{test.name, !test.expected.empty(), 0, {}};
    auto halves = behind_halves(*test.program);
    for (size_t i = 0; i < test.expected.size(); ++i) {
        auto& expected = test.expected[i];
        auto& port = test.program->outputs()[i];
        compare(test.context->output(i), expected, port.name,
                tolerance ? *tolerance : tolerance_of(test, expected.dtype(), halves[size_t(port.value)]),
                result);
    }
    return result;
}

}  // namespace mge::load_and_run
