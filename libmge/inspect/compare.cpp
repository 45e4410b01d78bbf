// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "libmge/base/numbers/distance.h"
#include "libmge/compile/program.h"
#include "libmge/device/device.h"
#include "libmge/graph/halves.h"
#include "libmge/inspect/elements.h"
#include "libmge/kernel/cpu/in_other_dtype.h"

namespace mge {
namespace {

constexpr std::array<std::string_view, metric_count> names_of_metrics{
    "max-abs", "max-rel", "l1", "l2", "rms", "cosine", "megengine", "assert-equal"};
constexpr double default_rtol = 1e-4, default_half_rtol = 1e-2;
constexpr double infinity = std::numeric_limits<double>::infinity();

bool same_kind(DType a, DType b) {
    return a == b || (is_float(a) && is_float(b)) || (is_int(a) && is_int(b));
}

bool same_shape(const Shape& a, const Shape& b) {
    return a == b || (a.numel() == 1 && b.numel() == 1 && std::min(a.rank(), b.rank()) == 0);
}

double quotient(double d, double size) {
    if (d == 0) return 0;
    return size == 0 || std::isinf(d) ? infinity : d / size;
}

// The divisor of an element's error.
double divisor(Metric metric, double got, double expected) {
    double a = std::abs(got), b = std::abs(expected);
    switch (metric) {
        case Metric::max_rel:
            return b;
        case Metric::megengine:
            return std::max({a, b, 1.0});
        case Metric::assert_equal:
            return std::max(std::min(a, b), 1.0);
        default:
            return 1;
    }
}

// Sizes and sums over all elements; `got` and `expected` go in step.
struct Sums {
    double largest_d = 0, d = 0, squared_d = 0;
    double largest_relative = 0, largest_megengine = 0, largest_asserted = 0;
    double largest_expected = 0, expected = 0, squared_expected = 0, squared_got = 0, product = 0;
    int64_t unequal = 0;

    void add(double a, double b, double error) {
        double size = std::abs(b);
        unequal += error != 0;
        largest_d = std::max(largest_d, error);
        auto add_quotient = [&](double& largest, Metric metric) {
            largest = std::max(largest, quotient(error, divisor(metric, a, b)));
        };
        add_quotient(largest_relative, Metric::max_rel);
        add_quotient(largest_megengine, Metric::megengine);
        add_quotient(largest_asserted, Metric::assert_equal);
        d += error;
        squared_d += error * error;
        if (std::isfinite(b)) {
            largest_expected = std::max(largest_expected, size);
            expected += size;
            squared_expected += b * b;
        }
        if (!std::isfinite(a) || !std::isfinite(b)) return;
        squared_got += a * a;
        product += a * b;
    }
    double cosine_distance() const {
        if (unequal == 0) return 0;
        if (std::isinf(largest_d)) return infinity;
        double sizes = std::sqrt(squared_got) * std::sqrt(squared_expected);
        return sizes == 0 ? 1 : std::max(0.0, 1 - product / sizes);
    }
};

// The scale of the limit, by metric.
double size_for(Metric metric, const Sums& sums, int64_t count) {
    switch (metric) {
        case Metric::max_abs:
            return sums.largest_expected;
        case Metric::l1:
            return sums.expected;
        case Metric::l2:
            return std::sqrt(sums.squared_expected);
        case Metric::rms:
            return count ? std::sqrt(sums.squared_expected / double(count)) : 0;
        case Metric::max_rel:
        case Metric::cosine:
        case Metric::megengine:
        case Metric::assert_equal:
            break;
    }
    return 1;
}

// The error of one element in the terms of the metric.
double element_error(Metric metric, double a, double b, double d) {
    return quotient(d, divisor(metric, a, b));
}
bool is_per_element(Metric metric) {
    return metric == Metric::max_abs || metric == Metric::max_rel || metric == Metric::megengine ||
           metric == Metric::assert_equal;
}

// Integers of 64 bits that differ can be the same double, so their difference is taken before.
template <class T, class Fn>
void for_each_pair_of(const Tensor& got, const Tensor& expected, Fn&& fn) {
    auto *x = got.data<T>(), *y = expected.data<T>();
    for (int64_t i = 0; i < got.spec().numel(); ++i) {
        auto [low, high] = std::minmax(x[i], y[i]);
        fn(i, double(x[i]), double(y[i]), double(uint64_t(high) - uint64_t(low)));
    }
}

template <class Fn>
void for_each_pair(const Tensor& got, const Tensor& expected, Fn&& visit) {
    if (got.dtype() == DType::i64 && expected.dtype() == DType::i64)
        return for_each_pair_of<int64_t>(got, expected, visit);
    if (got.dtype() == DType::u64 && expected.dtype() == DType::u64)
        return for_each_pair_of<uint64_t>(got, expected, visit);
    auto fn = [&](int64_t i, double a, double b) { visit(i, a, b, distance(a, b)); };
    // The second one is read at an index: both may have any dtype.
    if (is_narrow(expected.dtype()))
        return for_each_element(got, [&](int64_t i, double a) { fn(i, a, element_at(expected, i)); });
    dispatch_dtype(expected.dtype(), AllTypes{}, [&]<class T>(std::type_identity<T>) {
        auto* data = static_cast<const T*>(expected.data());
        for_each_element(got, [&](int64_t i, double a) { fn(i, a, double(ComputedAs<T>(data[i]))); });
    });
}

double rtol_for(const Tolerance& tolerance, const Tensor& got, const Tensor& expected) {
    if (tolerance.rtol) return *tolerance.rtol;
    if (!is_float(expected.dtype())) return 0;
    bool is_short = tolerance.is_rounded_to_half || is_half(got.dtype()) || is_half(expected.dtype());
    return is_short ? default_half_rtol : default_rtol;
}

void find_elements(const Tensor& got, const Tensor& expected, Metric metric, Comparison& result) {
    // For metrics over all elements no single element exceeds the limit: the largest differences represent
    // them.
    double bound = is_per_element(metric) ? result.limit : result.error_of(Metric::max_abs);
    for_each_pair(got, expected, [&](int64_t i, double a, double b, double d) {
        double error = element_error(metric, a, b, d);
        if (error == 0) return;
        if (is_per_element(metric) ? error > bound : error >= bound) {
            ++result.beyond;
            if (!result.first_beyond) result.first_beyond = {i, a, b, error};
        }
        if (!result.largest || error > result.largest->error) result.largest = {i, a, b, error};
    });
}

}  // namespace

std::span<const std::string_view> metric_names() { return names_of_metrics; }

std::optional<Metric> metric_from_name(std::string_view name) {
    for (size_t i = 0; i < names_of_metrics.size(); ++i)
        if (names_of_metrics[i] == name) return Metric(i);
    return std::nullopt;
}

std::vector<bool> behind_halves(const Program& program) {
    auto& values = program.values();
    std::vector<bool> result = behind_halves(program.graph());
    auto is_behind = [&](ValueId id) {
        for (; id != no_value; id = values[size_t(id)].view_of)
            if (result[size_t(id)]) return true;
        return false;
    };
    for (auto& step : program.steps())
        if (step.algorithm.starts_with(cpu::in_rounded.prefix) || std::ranges::any_of(step.inputs, is_behind))
            for (ValueId id : step.outputs) result[size_t(id)] = true;
    for (size_t i = 0; i < result.size(); ++i) result[i] = is_behind(ValueId(i));
    return result;
}

Comparison compare_tensors(const Tensor& got_anywhere, const Tensor& expected_anywhere,
                           const Tolerance& tolerance) {
    Tensor got = to_host(got_anywhere), expected = to_host(expected_anywhere);
    Comparison result;
    if (!same_kind(got.dtype(), expected.dtype()) || !same_shape(got.shape(), expected.shape())) {
        result.mismatch = text("it is ", got.spec(), ", expected ", expected.spec());
        return result;
    }
    Sums sums;
    for_each_pair(got, expected, [&](int64_t, double a, double b, double d) { sums.add(a, b, d); });
    result.count = expected.spec().numel();
    result.unequal = sums.unequal;
    auto set = [&](Metric metric, double value) { result.errors[size_t(metric)] = value; };
    set(Metric::max_abs, sums.largest_d);
    set(Metric::max_rel, sums.largest_relative);
    set(Metric::l1, sums.d);
    set(Metric::l2, std::sqrt(sums.squared_d));
    set(Metric::rms, result.count ? std::sqrt(sums.squared_d / double(result.count)) : 0);
    set(Metric::cosine, sums.cosine_distance());
    set(Metric::megengine, sums.largest_megengine);
    set(Metric::assert_equal, sums.largest_asserted);
    result.error = result.error_of(tolerance.metric);
    double size = size_for(tolerance.metric, sums, result.count);
    result.limit = tolerance.atol + rtol_for(tolerance, got, expected) * size;
    if (result.unequal) find_elements(got, expected, tolerance.metric, result);
    return result;
}

std::string beyond_text(const Comparison& c) {
    if (!c.mismatch.empty()) return "-";
    return text(c.beyond, " of ", c.count, " beyond the limit");
}

std::string explain(const Comparison& c, const Shape& shape, const Tolerance& tolerance) {
    if (!c.mismatch.empty()) return c.mismatch;
    std::string result =
        text(name_of(tolerance.metric), ' ', c.error, c.passed() ? " is within " : " is above ", c.limit);
    // The error is the largest, so its element is shown.
    if (!c.passed() && c.largest)
        result += text(": element ", c.largest->index, ' ', index_text(shape, c.largest->index), " is ",
                       element_text(c.largest->got), ", expected ", element_text(c.largest->expected), " (",
                       beyond_text(c), ")");
    return result;
}

}  // namespace mge
