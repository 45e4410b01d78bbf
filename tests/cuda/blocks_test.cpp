// SPDX-License-Identifier: Apache-2.0
// Grids have a bounded number of blocks, which go on to further pieces: the emulated GPU's have five at most.
#include "libmge/kernel/cuda/blocks.h"

#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

CheckOptions of(DTypes dtypes) { return {.dtypes = dtypes, .gradient = false}; }

TEST(CudaBlocks, AreBoundedForAnyNumberOfPieces) {
    constexpr int64_t most_of_a_grid = (int64_t(1) << 31) - 1;
    EXPECT_EQ(cuda::bounded_blocks(0), 1U);
    EXPECT_EQ(cuda::bounded_blocks(3), 3U);
    for (int bits : {24, 31, 32, 33, 40, 62}) {
        EXPECT_EQ(cuda::bounded_blocks(int64_t(1) << bits), cuda::most_blocks) << bits;
        EXPECT_EQ(cuda::bounded_blocks((int64_t(1) << bits) + 1), cuda::most_blocks) << bits;
    }
    EXPECT_LE(cuda::most_blocks, most_of_a_grid);
}

TEST(CudaBlocks, SortTilesOfManyRows) {
    check_op<ops::Sort>({}, {{.shape = {7, 5000}}}, of({DType::f32, DType::i64}));
    check_op<ops::Topk>({.k = 9}, {{.shape = {6, 2100}}}, of({DType::i8}));
    check_op<ops::Sort>({}, {{.shape = {12, 2000}}}, of({DType::f32}));
}

TEST(CudaBlocks, PlaceManyIndices) {
    InputSpec index{.shape = {3000}, .low = 0, .high = 49, .dtype = DType::i32};
    check_op<ops::AddTake>({.axes = {0}}, {{.shape = {50, 2}}, {.shape = {3000, 2}}, index},
                           {.dtypes = {DType::f32}, .reduction = 100, .gradient = false});
    check_op<ops::SetTake>({.axes = {0}}, {{.shape = {50, 2}}, {.shape = {3000, 2}}, index}, of({DType::u8}));
}

TEST(CudaBlocks, SelectWithALongMask) {
    InputSpec mask{.shape = {30'001}, .dtype = DType::boolean, .values = {1, 0, 0, 1, 1, 0, 1}};
    check_op<ops::CondTake>({}, {{.shape = {30'001}}, mask}, of({DType::f32, DType::u8}));
}

TEST(CudaBlocks, MeasureALongParameter) {
    InputSpec any{.shape = {30'001}}, square{.shape = {30'001}, .low = 0, .high = 2};
    check_op<ops::LambStep>(
        {.weight_decay = 0.1},
        {any, any, any, square, {.shape = {}, .values = {3}}, {.shape = {1}, .values = {0.1}}},
        {.reduction = 30'001, .gradient = false});
}

// Rows that fit in a warp, in several warps, and in none; few and many of them.
TEST(CudaBlocks, ReduceRowsOfAnyLength) {
    for (auto [rows, n] : std::vector<std::pair<int64_t, int64_t>>{
             {3, 8}, {3, 256}, {3, 328}, {3, 1032}, {3, 8200}, {520, 1024}, {515, 1032}, {513, 67}}) {
        InputSpec x{.shape = {rows, n}}, factors{.shape = {n}};
        InputSpec mean{.shape = {rows}, .dtype = DType::f32};
        InputSpec inv_std{.shape = {rows}, .low = 0.5, .high = 1.5, .dtype = DType::f32};
        CheckOptions options{.dtypes = {DType::f32, DType::f16}, .reduction = n, .gradient = false};
        check_op<ops::Softmax>({}, {x}, options);
        check_op<ops::LayerNorm>({.axes = 1}, {x, factors, factors}, options);
        check_op<ops::LayerNormBackward>({.axes = 1}, {x, x, mean, inv_std, factors}, options);
    }
    check_op<ops::Softmax>({.log = true}, {{.shape = {520, 520}}},
                           {.dtypes = {DType::f32}, .reduction = 520, .gradient = false});
}

}  // namespace
}  // namespace mge::test
