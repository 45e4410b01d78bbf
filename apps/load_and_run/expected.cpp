// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/expected.h"

#include <cmath>

#include "libmge/op/apply.h"

namespace mge::load_and_run {
namespace {

// Test cases were computed by eager operators; other algorithms may differ by this much. Relative to the
// largest value.
constexpr double relative_tolerance = 1e-4, half_tolerance = 1e-2;

double largest_magnitude(const Tensor& t) {
    double largest = 0;
    for (int64_t i = 0; i < t.spec().numel(); ++i)
        if (double v = std::abs(double(t.data<float>()[i])); std::isfinite(v)) largest = std::max(largest, v);
    return largest;
}

void compare_values(const Tensor& got, const Tensor& expected, TestCaseResult& result, Mismatch mismatch) {
    bool is_half = size_of(expected.dtype()) == 2 && is_float(expected.dtype());
    Tensor a = convert_dtype(got, DType::f32), b = convert_dtype(expected, DType::f32);
    double allowed = is_float(expected.dtype()) ? (is_half ? half_tolerance : relative_tolerance) *
                                                      std::max(1e-3, largest_magnitude(b))
                                                : 0;
    for (int64_t i = 0; i < b.spec().numel(); ++i) {
        float x = a.data<float>()[i], y = b.data<float>()[i];
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        double error = std::abs(double(x) - double(y));
        if (error <= allowed) {
            result.largest_error = std::max(result.largest_error, error);
            continue;
        }
        if (mismatch.count++ == 0) {
            mismatch.index = i;
            mismatch.got = text(x);
            mismatch.expected = text(y);
        }
        result.largest_error = std::max(result.largest_error, std::isnan(error) ? INFINITY : error);
    }
    if (mismatch.count) result.mismatches.push_back(std::move(mismatch));
}

void compare(const Tensor& got, const Tensor& expected, const std::string& output, TestCaseResult& result) {
    if (got.dtype() != expected.dtype() || !(got.shape() == expected.shape())) {
        result.mismatches.push_back({output, -1, text(got.spec()), text(expected.spec()), 1});
        return;
    }
    compare_values(got, expected, result, {output, -1, {}, {}, 0});
}

}  // namespace

TestCaseResult compare_with_expected(const Test& test) {
    TestCaseResult result{test.name, !test.expected.empty(), 0, {}};
    for (size_t i = 0; i < test.expected.size(); ++i)
        compare(test.context->output(i), test.expected[i], test.program->outputs()[i].name, result);
    return result;
}

}  // namespace mge::load_and_run
