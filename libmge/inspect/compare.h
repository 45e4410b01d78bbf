// SPDX-License-Identifier: Apache-2.0
#pragma once
// Comparison of a tensor with its expected value.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/tensor/tensor.h"

namespace mge {

class Program;

// With d = |got − expected|, element by element:
//   max_abs   the largest d                                    size: the largest |expected|
//   max_rel   the largest d / |expected|                       size: 1
//   l1        the sum of d                                     size: the sum of |expected|
//   l2        the root of the sum of d²                        size: the same of expected
//   rms       the root of the mean of d²                       size: the same of expected
//   cosine    1 − the cosine of the angle between both         size: 1
//   megengine the largest d / max(|got|, |expected|, 1)        size: 1
//   assert_equal  the largest d / max(min(|got|, |expected|), 1)   size: 1; MegEngine's operator AssertEqual
// A comparison passes when the metric is at most atol + rtol · size. Equal infinities and two NaNs are
// equal; any other pair with one of them is infinitely far apart.
enum class Metric : uint8_t { max_abs, max_rel, l1, l2, rms, cosine, megengine, assert_equal };
inline constexpr int metric_count = 8;
MGE_API std::span<const std::string_view> metric_names();  // in that order: "max-abs", …
inline std::string_view name_of(Metric metric) { return metric_names()[size_t(metric)]; }
MGE_API std::optional<Metric> metric_from_name(std::string_view name);

struct Tolerance {
    // Absent: 1e-4, for 16-bit floats and values behind them 1e-2; integers and truth values have to be
    // equal.
    std::optional<double> rtol;
    double atol = 0;
    Metric metric = Metric::max_abs;
    bool is_rounded_to_half = false;  // the values were rounded to 16 bits on the way
};

struct ElementDifference {
    int64_t index = -1;                       // flat
    double got = 0, expected = 0, error = 0;  // error: this element's d, or its quotient
};

struct Comparison {
    std::string mismatch;  // dtypes or shapes that cannot be compared; empty: they can
    int64_t count = 0, unequal = 0;
    double errors[metric_count] = {};
    double error = 0, limit = 0;  // by the requested metric
    // Number of elements that exceed the limit themselves (metrics over all elements: those with the largest
    // d).
    int64_t beyond = 0;
    std::optional<ElementDifference> first_beyond, largest;

    bool passed() const { return mismatch.empty() && error <= limit; }
    double error_of(Metric metric) const { return errors[size_t(metric)]; }
};

// By value of a program: true if it, or a value that it depends on, was rounded to 16 bits, as factors of
// products may be.
MGE_API std::vector<bool> behind_halves(const Program& program);

// Compares plain tensors. Dtypes may differ between real types, or between integer types; a scalar may be
// compared with one element.
MGE_API Comparison compare_tensors(const Tensor& got, const Tensor& expected, const Tolerance& tolerance);

// "4 of 10 beyond the limit": the number of elements that differ too much, in the wording of all messages.
MGE_API std::string beyond_text(const Comparison& comparison);
// One line: "max-abs 0.25 is above 1e-04: element 3 [0, 3] is 1, expected 0.75 (4 of 10 beyond the limit)".
// The element is the one with the largest error.
MGE_API std::string explain(const Comparison& comparison, const Shape& shape, const Tolerance& tolerance);

}  // namespace mge
