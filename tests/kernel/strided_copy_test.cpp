// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/strided_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "libmge/kernel/cpu/copy_loops.h"

namespace mge {
namespace {

// The same copy by run() with several numbers of threads and by run_naive().
void expect_same(size_t size, const Shape& shape, const StridedSide& source, const StridedSide& target,
                 size_t source_count, size_t target_count) {
    std::vector<uint8_t> from(source_count * size);
    for (size_t i = 0; i < from.size(); ++i) from[i] = uint8_t(i * 37 + i / 251);
    cpu::CopyLoops copy(StridedCopy(size, shape, source, target));
    std::vector<uint8_t> expected(target_count * size, 0xee);
    copy.run_naive(from.data(), expected.data());
    for (int threads : {1, 2, 3}) {
        std::vector<uint8_t> got(target_count * size, 0xee);
        copy.run(from.data(), got.data(), threads);
        ASSERT_EQ(got, expected) << "elements of " << size << " bytes, shape " << shape << ", " << threads
                                 << " threads";
    }
}

TEST(StridedCopy, EveryPermutationOfTheAxes) {
    for (Shape shape : {Shape{}, Shape{5}, Shape{17, 19}, Shape{3, 16, 33}, Shape{2, 1, 70, 5},
                        Shape{0, 4, 2}, Shape{2, 3, 2, 1, 2, 5, 3}}) {
        std::vector<int> axes(size_t(shape.rank()));
        std::iota(axes.begin(), axes.end(), 0);
        int step = shape.rank() == 7 ? 97 : 1, n = 0;
        do {
            if (n++ % step) continue;
            Shape permuted;
            StridedSide source, target;
            Strides dense = dense_strides(shape);
            for (size_t i = 0; i < axes.size(); ++i) {
                permuted.push_back(shape[axes[i]]);
                source.strides[i] = dense[size_t(axes[i])];
            }
            target.strides = dense_strides(permuted);
            for (size_t size : {1, 2, 4, 8})
                expect_same(size, permuted, source, target, size_t(shape.numel()), size_t(shape.numel()));
        } while (std::next_permutation(axes.begin(), axes.end()));
    }
}

TEST(StridedCopy, RandomSlicesWithNegativeStepsAndRepeats) {
    std::mt19937 random(7);
    auto below = [&](int n) { return int64_t(random() % unsigned(n)); };
    for (int round = 0; round < 300; ++round) {
        Shape shape;
        StridedSide source, target;
        int64_t source_step = 1, target_step = 1;
        for (int i = int(below(5)); i-- > 0;) shape.push_back(1 + below(9));
        for (int i = shape.rank() - 1; i >= 0; --i) {
            int64_t step = 1 + below(3), target_skip = 1 + below(2);
            source.strides[size_t(i)] = source_step * step;
            target.strides[size_t(i)] = target_step * target_skip;
            if (below(4) == 0) source.strides[size_t(i)] = 0;
            source_step *= step * shape[i];
            target_step *= target_skip * shape[i];
            for (auto* side : {&source, &target}) {
                auto& stride = side->strides[size_t(i)];
                if (below(3) != 0) continue;
                side->offset += (shape[i] - 1) * stride;
                stride = -stride;
            }
        }
        expect_same(4, shape, source, target, size_t(source_step), size_t(target_step));
    }
}

TEST(StridedCopy, EverySmallStepOfLongRows) {
    for (size_t size : {1, 2, 4, 8})
        for (int64_t step : {-3, -2, -1, 2, 3, 4, 5}) {
            const int64_t n = 1037, extent = std::abs(step) * n;
            StridedSide source{.offset = step < 0 ? extent - 1 : 0}, target;
            source.strides[0] = extent, source.strides[1] = step;
            target.strides[0] = n, target.strides[1] = 1;
            expect_same(size, {3, n}, source, target, size_t(3 * extent), size_t(3 * n));
        }
}

TEST(StridedCopy, LargeCopiesSplitBetweenThreads) {
    Shape shape{3, 100, 1000};
    Strides dense = dense_strides(shape);
    auto count = size_t(shape.numel());
    expect_same(4, shape, {0, dense}, {0, dense}, count, count);
    StridedSide channels_last{0, {1, 3000, 3}};
    expect_same(4, shape, channels_last, {0, dense}, count, count);
    expect_same(4, shape, {0, dense}, channels_last, count, count);
    expect_same(2, shape, {0, {0, 0, 0}}, {0, dense}, 1, count);
    expect_same(1, shape, {0, {0, 0, 1}}, {0, dense}, 1000, count);
}

TEST(StridedCopy, BroadcastStrides) {
    Strides strides = broadcast_strides({3, 1}, {2, 3, 4});
    EXPECT_EQ((std::vector<int64_t>(strides.begin(), strides.begin() + 3)), (std::vector<int64_t>{0, 1, 0}));
}

}  // namespace
}  // namespace mge
