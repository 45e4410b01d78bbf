// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/map_bytes.h"

#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

TEST(MapBytes, AgreesWithItsReference) {
    InputSpec table{.shape = {256}, .low = -128, .high = 127, .dtype = DType::i8};
    InputSpec other{.shape = {256}, .low = 0, .high = 255, .dtype = DType::u8};
    for (Shape shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{3, 31}, Shape{5, 67}, Shape{2, 40001}}) {
        InputSpec x{.shape = shape, .low = -128, .high = 127, .dtype = DType::i8};
        check_op<ops::MapBytes>({}, {x, table});
        check_op<ops::MapBytes>({}, {x, other});
        x = {.shape = shape, .low = 0, .high = 255, .dtype = DType::u8};
        check_op<ops::MapBytes>({}, {x, table});
        check_op<ops::MapBytes>({}, {x, other});
    }
}

// At each place of a vector, and behind the last whole one.
TEST(MapBytes, FindsEveryByteEverywhere) {
    std::vector<double> table, x, expected;
    for (int i = 0; i < 256; ++i) table.push_back((i * 37 + 11) % 256);
    for (int i = 0; i < 257 * 259; ++i) x.push_back(i % 257 % 256);
    for (double i : x) expected.push_back(table[size_t(i)]);
    Tensor y = ops::map_bytes(make_tensor(DType::u8, {257 * 259}, x), make_tensor(DType::u8, {256}, table));
    EXPECT_EQ(values_of(y), expected);
}

TEST(MapBytes, IndexesByBits) {
    std::vector<double> table(256);
    for (int i = 0; i < 256; ++i) table[size_t(i)] = i;
    Tensor x = tensor_of<int8_t>({4}, {0, 127, -128, -1});
    EXPECT_EQ(values_of(ops::map_bytes(x, make_tensor(DType::u8, {256}, table))),
              (std::vector<double>{0, 127, 128, 255}));
}

TEST(MapBytes, RejectsMismatchedOperands) {
    Tensor x = tensor_of<int8_t>({2}, {1, 2});
    EXPECT_THROW(ops::map_bytes(x, x), UserError);
    Tensor floats = make_tensor(DType::f32, {256}, std::vector<double>(256));
    EXPECT_THROW(ops::map_bytes(x, floats), UserError);
    EXPECT_THROW(ops::map_bytes(floats, make_tensor(DType::u8, {256}, std::vector<double>(256))), UserError);
}

}  // namespace
}  // namespace mge::test
