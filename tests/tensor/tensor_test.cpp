// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "libmge/device/default_device.h"
#include "libmge/tensor/element_bytes.h"
#include "libmge/tensor/layout.h"

namespace mge {
namespace {

using testing::HasSubstr;

template <class Fn>
std::string message_of(Fn fn) {
    try {
        fn();
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

// Every half, through float and back.
template <class T>
void check_round_trip() {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        T half;
        half.bits = uint16_t(bits);
        auto value = float(half);
        if (std::isnan(value))
            EXPECT_TRUE(std::isnan(float(T(value))));
        else
            ASSERT_EQ(T(value).bits, bits);
    }
}

TEST(Half, EveryValueRoundTrips) { check_round_trip<Half>(); }
TEST(BFloat16, EveryValueRoundTrips) { check_round_trip<BFloat16>(); }

TEST(Half, RoundsToNearestEven) {
    EXPECT_EQ(Half(1.0f + 0x1p-11f).bits, Half(1.0f).bits);
    EXPECT_EQ(Half(1.0f + 0x3p-11f).bits, Half(1.0f + 0x1p-9f).bits);
    EXPECT_EQ(Half(65519.0f).bits, 0x7bff);
    EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
    EXPECT_EQ(Half(0x1p-25f).bits, 0);
    EXPECT_EQ(Half(-0.0f).bits, 0x8000);
    EXPECT_EQ(BFloat16(1.0f + 0x1p-8f).bits, BFloat16(1.0f).bits);
    EXPECT_EQ(float(BFloat16(std::numeric_limits<float>::max())), INFINITY);
}

TEST(DType, NamesRoundTrip) {
    for (int i = 1; i < dtype_count; ++i) EXPECT_EQ(dtype_from_name(name_of(DType(i))), DType(i));
    EXPECT_EQ(dtype_from_name("none"), std::nullopt);
    EXPECT_EQ(dtype_from_name("float128"), std::nullopt);
}

TEST(DType, CommonTypes) {
    EXPECT_EQ(common_dtype(DType::i8, DType::i32), DType::i32);
    EXPECT_EQ(common_dtype(DType::f16, DType::f16), DType::f16);
    EXPECT_EQ(common_dtype(DType::f16, DType::bf16), DType::f32);
    EXPECT_EQ(common_dtype(DType::f16, DType::i32), DType::f32);
    EXPECT_EQ(common_dtype(DType::boolean, DType::i32), DType::f32);
    EXPECT_EQ(common_dtype(DType::u8, DType::i32), std::nullopt);
    EXPECT_EQ(common_dtype(DType::u8, DType::u64), DType::u64);
    EXPECT_EQ(common_dtype(DType::u64, DType::i64), std::nullopt);
    EXPECT_EQ(common_dtype(DType::f32, DType::f64), DType::f64);
    EXPECT_EQ(common_dtype(DType::i32, DType::f64), DType::f64);
    EXPECT_EQ(common_dtype(DType::e5m2, DType::e5m2), DType::e5m2);
    EXPECT_EQ(common_dtype(DType::e5m2, DType::f32), std::nullopt);
}

TEST(DType, Groups) {
    EXPECT_TRUE(is_among(DType::i64, DTypes::common));
    EXPECT_FALSE(is_among(DType::u64, DTypes::common));
    EXPECT_TRUE(is_among(DType::f64, DTypes::numbers));
    EXPECT_FALSE(is_among(DType::i4, DTypes::numbers));
    EXPECT_TRUE(is_among(DType::i4, DTypes::all));
}

TEST(DType, StoresOneNumberAsAnElement) {
    EXPECT_EQ(element_bytes(DType::u64, 0x1p63), uint64_t(1) << 63);
    EXPECT_EQ(element_bytes(DType::u64, -1), UINT64_MAX);
    EXPECT_EQ(element_bytes(DType::u32, 4294967295.0), UINT32_MAX);
    EXPECT_EQ(element_bytes(DType::f64, 0.1), std::bit_cast<uint64_t>(0.1));
    EXPECT_EQ(element_bytes(DType::i4, -1), 15U);
    // No integer is near.
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (double far : {infinity, -infinity, 0x1p64, std::numeric_limits<double>::quiet_NaN()}) {
        EXPECT_EQ(element_bytes(DType::i64, far), uint64_t(1) << 63);
        EXPECT_EQ(element_bytes(DType::u64, far), uint64_t(1) << 63);
        EXPECT_EQ(element_bytes(DType::i32, far), 0U);
    }
}

TEST(Shape, InsertsAndErases) {
    Shape s{2, 3};
    s.insert(1, 7);
    EXPECT_EQ(s, (Shape{2, 7, 3}));
    s.erase(0);
    EXPECT_EQ(s, (Shape{7, 3}));
    EXPECT_EQ(Shape{}.numel(), 1);
    EXPECT_EQ((Shape{2, 0}).numel(), 0);
    EXPECT_FALSE(Shape::unknown() == Shape{});
}

TEST(Shape, Broadcasts) {
    EXPECT_EQ(broadcast_shapes("op", {2, 1, 3}, {4, 1}), (Shape{2, 4, 3}));
    EXPECT_EQ(broadcast_shapes("op", {0, 3}, {1, 3}), (Shape{0, 3}));
    EXPECT_EQ(message_of([] {
                  broadcast_shapes("op", {2, 3}, {4});
              }),
              "[op] shapes (2, 3) and (4,) do not broadcast: sizes must be equal or 1");
}

TEST(Shape, RejectsInvalidValues) {
    EXPECT_THAT(message_of([] { Shape{1, 1, 1, 1, 1, 1, 1, 1}; }), HasSubstr("rank 8 is above"));
    EXPECT_THAT(message_of([] { Shape{-1}; }), HasSubstr("extent -1 is negative"));
    EXPECT_THAT(message_of([] {
                    checked_numel("op", {int64_t(1) << 40, int64_t(1) << 40});
                }),
                HasSubstr("more elements than memory can hold"));
    EXPECT_EQ(checked_numel("op", {int64_t(1) << 40, 3, 0}), 0);
    // Counts are multiplied in any order.
    constexpr int64_t large = int64_t(1) << 40;
    EXPECT_THROW(checked_numel("op", {large, large, 0}), UserError);
    EXPECT_THROW(checked_numel("op", {0, large, large}), UserError);
    EXPECT_EQ(message_of([] { normalize_axis("op", 2, 2); }), "[op] axis 2 is out of range for rank 2");
    EXPECT_EQ(normalize_axis("op", -2, 2), 0);
}

TEST(Layout, NamesRoundTrip) {
    for (auto* name : {"nhwc", "nChw16c", "nChw8c", "NHWCD4", "CHWN4", "NCHW32"})
        EXPECT_EQ(Layout::named(name).name(), name);
    EXPECT_EQ(Layout::named("NCHW88"), Layout::named("nChw8c"));
    EXPECT_TRUE(Layout::named("nchw").is_plain());
    EXPECT_THAT(message_of([] { Layout::named("nope"); }), HasSubstr("no layout named 'nope'"));
}

TEST(Layout, PadsBlockedAxes) {
    EXPECT_EQ(Layout::named("nChw16c").bytes({1, 3, 2, 2}, DType::f32), 16u * 4 * 4);
    EXPECT_EQ(Layout::named("nhwc").bytes({1, 3, 2, 2}, DType::f32), 3u * 4 * 4);
}

TEST(Tensor, SharesAndCountsOwners) {
    Tensor a = scalar_tensor(2, DType::f32);
    EXPECT_TRUE(a.is_sole_owner());
    Tensor view = a.with_shape({1, 1});
    EXPECT_EQ(view.data(), a.data());
    EXPECT_FALSE(a.is_sole_owner());
    EXPECT_THROW(a.with_shape({2}), InternalError);
    EXPECT_THROW(a.data<int32_t>(), InternalError);
}

TEST(Tensor, BorrowedMemoryKeepsItsOwner) {
    auto owner = std::make_shared<int>(7);
    {
        Tensor t({DType::i32, {}, {}}, borrow_storage(owner.get(), 4, owner));
        EXPECT_EQ(owner.use_count(), 2);
        EXPECT_EQ(t.data<int32_t>()[0], 7);
    }
    EXPECT_EQ(owner.use_count(), 1);
}

}  // namespace
}  // namespace mge
