// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "libmge/device/default_device.h"
#include "libmge/inspect/elements.h"
#include "libmge/inspect/reference.h"
#include "libmge/op/apply.h"
#include "libmge/ops/all.h"

namespace mge {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

Tensor f32(const Shape& shape, const std::vector<float>& values) {
    return tensor_from_host({DType::f32, shape, {}}, values.data());
}
Tensor row(const std::vector<float>& values) { return f32({int64_t(values.size())}, values); }

TEST(Compare, KnowsEveryMetric) {
    // d = 1, 0, 2; expected 2, 0, 4
    Comparison c = compare_tensors(row({3, 0, 2}), row({2, 0, 4}), {});
    EXPECT_EQ(c.error_of(Metric::max_abs), 2);
    EXPECT_EQ(c.error_of(Metric::max_rel), 0.5);
    EXPECT_EQ(c.error_of(Metric::l1), 3);
    EXPECT_DOUBLE_EQ(c.error_of(Metric::l2), std::sqrt(5.0));
    EXPECT_DOUBLE_EQ(c.error_of(Metric::rms), std::sqrt(5.0 / 3));
    EXPECT_NEAR(c.error_of(Metric::cosine), 1 - 14 / (std::sqrt(13.0) * std::sqrt(20.0)), 1e-12);
    EXPECT_EQ(c.error_of(Metric::megengine), 0.5);
    EXPECT_EQ(c.error_of(Metric::assert_equal), 1);
    EXPECT_EQ(c.count, 3);
    EXPECT_EQ(c.unequal, 2);
    EXPECT_FALSE(c.passed());
    EXPECT_EQ(c.first_beyond->index, 0);
    EXPECT_EQ(c.largest->index, 2);
    EXPECT_EQ(c.largest->got, 2);
    EXPECT_EQ(c.largest->expected, 4);
}

TEST(Compare, LimitGrowsWithTheReference) {
    Tensor got = row({100.5f, 0.5f}), expected = row({100, 0});
    EXPECT_TRUE(compare_tensors(got, expected, {.rtol = 0.005}).passed());
    EXPECT_FALSE(compare_tensors(got, expected, {.rtol = 0.004}).passed());
    EXPECT_TRUE(compare_tensors(got, expected, {.rtol = 0.0, .atol = 0.5}).passed());
    EXPECT_FALSE(compare_tensors(got, expected, {.rtol = 0.1, .metric = Metric::max_rel}).passed())
        << "nothing may stand where zero is expected";
    EXPECT_TRUE(compare_tensors(got, expected, {.rtol = 0.5, .metric = Metric::megengine}).passed());
    EXPECT_FALSE(compare_tensors(got, expected, {.rtol = 0.4, .metric = Metric::megengine}).passed());
    EXPECT_TRUE(compare_tensors(got, expected, {.rtol = 0.0072, .metric = Metric::l2}).passed());
    EXPECT_FALSE(compare_tensors(got, expected, {.rtol = 0.0070, .metric = Metric::l2}).passed());
}

TEST(Compare, ToleranceDependsOnDType) {
    Tensor expected = row({1, 2}), got = row({1.01f, 2});
    EXPECT_FALSE(compare_tensors(got, expected, {}).passed());
    EXPECT_TRUE(compare_tensors(convert_dtype(got, DType::f16), expected, {}).passed());
    Tensor a = convert_dtype(row({1, 2}), DType::i32), b = convert_dtype(row({1, 3}), DType::i32);
    EXPECT_FALSE(compare_tensors(a, b, {}).passed());
    EXPECT_TRUE(compare_tensors(a, b, {.atol = 1}).passed());
}

TEST(Compare, DistinguishesLargeIntegers) {
    auto of = [](int64_t number) {
        Tensor result = empty_tensor({DType::i64, {1}});
        *result.data<int64_t>() = number;
        return result;
    };
    constexpr int64_t large = (int64_t(1) << 60) + 1;
    EXPECT_TRUE(compare_tensors(of(large), of(large), {}).passed());
    for (int64_t other : {large - 1, large + 1}) {
        Comparison c = compare_tensors(of(other), of(large), {});
        EXPECT_FALSE(c.passed());
        EXPECT_EQ(c.error_of(Metric::max_abs), 1);
        EXPECT_EQ(c.largest->error, 1);
    }
    constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
    EXPECT_EQ(compare_tensors(of(large), of(lowest), {}).error_of(Metric::max_abs), 0x1.2p63);
}

TEST(Compare, HandlesNonFiniteValues) {
    Tensor expected = row({inf, nan, -inf, 1});
    EXPECT_TRUE(compare_tensors(row({inf, nan, -inf, 1}), expected, {}).passed());
    for (auto& wrong : {row({-inf, nan, -inf, 1}), row({inf, 1, -inf, 1}), row({inf, nan, -inf, nan})}) {
        for (int metric = 0; metric < metric_count; ++metric) {
            Comparison c = compare_tensors(wrong, expected, {.rtol = 1e6, .metric = Metric(metric)});
            EXPECT_FALSE(c.passed()) << metric_names()[size_t(metric)];
        }
    }
}

TEST(Compare, RefusesOtherShapesAndKinds) {
    EXPECT_EQ(compare_tensors(row({1}), row({1, 2}), {}).mismatch, "it is float32(1,), expected float32(2,)");
    EXPECT_TRUE(compare_tensors(f32({}, {1}), row({1}), {}).passed()) << "a scalar is one element";
    EXPECT_FALSE(compare_tensors(convert_dtype(row({1}), DType::i32), row({1}), {}).passed());
    EXPECT_TRUE(compare_tensors(f32({0}, {}), f32({0}, {}), {}).passed());
}

TEST(Compare, RefusesATextOfMoreElements) {
    DumpRecord record;
    record.shape = {2};
    record.head.assign(1000, 1.0);
    EXPECT_EQ(compare_with_text(row({1, 2}), record, {}).mismatch, "it has 2 elements, the dump shows 1000");
}

TEST(Compare, ExplainsTheFirstElement) {
    Tolerance tolerance{.rtol = 0.01};
    Comparison c = compare_tensors(f32({2, 2}, {1, 2, 3, 5}), f32({2, 2}, {1, 2, 3, 4}), tolerance);
    EXPECT_EQ(explain(c, {2, 2}, tolerance),
              "max-abs 1 is above 0.04: element 3 [1, 1] is 5, expected 4 (1 of 4 beyond the limit)");
    EXPECT_EQ(metric_from_name("l2"), Metric::l2);
    EXPECT_FALSE(metric_from_name("L2"));
}

TEST(Elements, HaveProperties) {
    TensorFigures f = figures_of(row({1, -3, nan, inf, 5}));
    EXPECT_EQ(f.count, 5);
    EXPECT_EQ(f.not_a_number, 1);
    EXPECT_EQ(f.infinite, 1);
    EXPECT_EQ(f.min, -3);
    EXPECT_EQ(f.max, 5);
    EXPECT_EQ(f.mean, 1);
    EXPECT_DOUBLE_EQ(f.rms, std::sqrt(35.0 / 3));
    EXPECT_DOUBLE_EQ(f.deviation, 4);
    EXPECT_TRUE(std::isnan(figures_of(row({2})).deviation));
    // A variance far below the mean is not lost.
    EXPECT_NEAR(figures_of(row({1e6f, 1e6f + 1, 1e6f - 1})).deviation, 1, 1e-9);
    EXPECT_EQ(index_text({2, 3, 4}, 23), "[1, 2, 3]");
}

TEST(Elements, ConvertToPlain) {
    std::vector<float> values(2 * 5 * 3 * 3);
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i);
    Tensor plain = f32({2, 5, 3, 3}, values);
    for (auto* layout : {"nhwc", "nChw8c", "nChw16c"}) {
        Tensor other = ops::reorder(plain, {.layout = layout});
        ASSERT_FALSE(other.spec().layout.is_plain());
        Tensor back = to_plain(other);
        EXPECT_TRUE(compare_tensors(back, plain, {.rtol = 0.0}).passed()) << layout;
    }
    EXPECT_EQ(to_plain(plain).data(), plain.data());
    EXPECT_NE(copy_plain(plain).data(), plain.data());
}

}  // namespace
}  // namespace mge
