// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/expected.h"

#include <algorithm>

#include "libmge/inspect/compare.h"
#include "libmge/inspect/elements.h"

namespace mge::load_and_run {
namespace {

// Where all that is expected is nearly zero.
constexpr double absolute_tolerance = 1e-7;

constexpr double half_tolerance = 1e-2;

// Then results are as far off as those stored in 16 bits, whatever their own dtype.
bool rounds_to_halves(const Program& program) {
    bool stores = std::ranges::any_of(program.values(), [](const ValueReport& value) {
        return value.place == ValueReport::Place::arena &&
               (value.spec.dtype == DType::f16 || value.spec.dtype == DType::bf16);
    });
    auto rounds_factors = [](const StepReport& step) { return step.algorithm.starts_with("bf16:"); };
    return stores || std::ranges::any_of(program.steps(), rounds_factors);
}

Tolerance tolerance_of(const Test& test, DType dtype) {
    if (test.max_error) return {.rtol = 0, .atol = *test.max_error, .metric = Metric::assert_equal};
    // Test cases were computed by eager operators; other algorithms may round in another way.
    if (!is_float(dtype)) return {};
    Tolerance tolerance{.atol = absolute_tolerance};
    if (rounds_to_halves(*test.program)) tolerance.rtol = half_tolerance;
    return tolerance;
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
    for (size_t i = 0; i < test.expected.size(); ++i) {
        auto& expected = test.expected[i];
        compare(test.context->output(i), expected, test.program->outputs()[i].name,
                tolerance ? *tolerance : tolerance_of(test, expected.dtype()), result);
    }
    return result;
}

}  // namespace mge::load_and_run
