// SPDX-License-Identifier: Apache-2.0
// Narrow dtypes on a GPU: the CPU's bits.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "libmge/mge.h"
#include "libmge/ops/elementwise/convert/convert_narrow.h"
#include "tests/harness/check_op.h"
#include "tests/harness/other_device.h"

namespace mge::test {
namespace {

// Numbers of all sizes, and around each number of the dtype and each midpoint of two.
std::vector<double> interesting(DType dtype) {
    std::vector<double> values{0.0, -0.0, INFINITY, -INFINITY, NAN, 1e30, -1e30, 1e-40, 0x1p63, -0x1p63};
    for (unsigned code = 0; code < 1u << narrow_width(dtype); ++code) {
        double value = narrow_value(dtype, uint8_t(code));
        if (!std::isfinite(value)) continue;
        for (double factor : {1.0, 1.0 + 0x1p-20, 1.0 - 0x1p-20, 1.0625, 1.03125, 1.25, 1.5, -1.0})
            values.push_back(value * factor);
    }
    std::mt19937 random(5);
    for (int i = 0; i < 2000; ++i) values.push_back(double(std::bit_cast<float>(uint32_t(random()))));
    return values;
}

void expect_same_bits(const Tensor& x, const ops::ConvertNarrow::Params& params) {
    Tensor here = ops::convert_narrow(x, params);
    Tensor there = to_host(ops::convert_narrow(to_device(x, other_device().id), params));
    ASSERT_EQ(there.spec(), here.spec());
    EXPECT_EQ(std::memcmp(there.data(), here.data(), here.spec().bytes()), 0)
        << params.dtype << " from " << x.dtype() << ' ' << int(params.overflow) << int(params.rounding);
}

TEST(CudaNarrow, GivesTheBitsOfTheCpu) {
    for (DType narrow : {DType::e4m3fn, DType::e4m3fnuz, DType::e5m2, DType::e5m2fnuz, DType::e8m0,
                         DType::e2m1, DType::u4, DType::i4, DType::u2, DType::i2}) {
        auto values = interesting(narrow);
        for (DType wide : float_types)
            for (auto overflow : {Overflow::saturates, Overflow::escapes})
                for (auto rounding : {PowerRounding::up, PowerRounding::down, PowerRounding::nearest})
                    expect_same_bits(make_tensor(wide, {int64_t(values.size())}, values),
                                     {narrow, overflow, rounding});
    }
    expect_same_bits(make_tensor(DType::f32, {0}, {}), {});
}

}  // namespace
}  // namespace mge::test
