// SPDX-License-Identifier: Apache-2.0
// Copies along strides on a GPU, against the CPU's meaning of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "libmge/device/cuda/cuda_queue.h"
#include "libmge/kernel/cpu/copy_loops.h"
#include "libmge/kernel/cuda/copy/copy_plan.h"
#include "tests/harness/other_device.h"

namespace mge::test {
namespace {

Queue& gpu_queue() { return queue_of(other_device().id); }

struct Case {
    size_t size;  // size of an element
    Shape shape;
    StridedSide source, target;
    size_t source_count, target_count;
    size_t shift = 0;  // elements by which the memory is not aligned
};

std::vector<uint8_t> counted(size_t n) {
    std::vector<uint8_t> bytes(n);
    for (size_t i = 0; i < n; ++i) bytes[i] = uint8_t(i * 37 + i / 251);
    return bytes;
}

std::vector<uint8_t> copied_there(const Case& c, const std::vector<uint8_t>& from) {
    cuda::CopyPlan plan(StridedCopy(c.size, c.shape, c.source, c.target));
    Queue& queue = gpu_queue();
    size_t shift = c.shift * c.size, bytes = c.target_count * c.size;
    StorageRef source = queue.allocate(from.size() + shift), target = queue.allocate(bytes + shift);
    auto* source_bytes = static_cast<char*>(source->data) + shift;
    auto* target_bytes = static_cast<char*>(target->data) + shift;
    queue.copy_from_host(source_bytes, from.data(), from.size());
    queue.fill(target_bytes, 0xee, bytes);
    plan.run({.inputs = {}, .outputs = {}, .queue = &queue}, source_bytes, target_bytes);
    std::vector<uint8_t> got(bytes);
    queue.copy_to_host(got.data(), target_bytes, bytes);
    return got;
}

void expect_same(const Case& c) {
    auto from = counted(c.source_count * c.size);
    std::vector<uint8_t> expected(c.target_count * c.size, 0xee);
    cpu::CopyLoops(StridedCopy(c.size, c.shape, c.source, c.target)).run_naive(from.data(), expected.data());
    ASSERT_EQ(copied_there(c, from), expected)
        << "elements of " << c.size << " bytes, shape " << c.shape << ", shifted by " << c.shift;
}

Case permutation(size_t size, const Shape& shape, const std::vector<int>& axes, size_t shift) {
    Case c{size, {}, {}, {}, size_t(shape.numel()), size_t(shape.numel()), shift};
    Strides dense = dense_strides(shape);
    for (size_t i = 0; i < axes.size(); ++i) {
        c.shape.push_back(shape[axes[i]]);
        c.source.strides[i] = dense[size_t(axes[i])];
    }
    c.target.strides = dense_strides(c.shape);
    return c;
}

// One tile, whose first place is near and whose last is 2.3 GB away.
TEST(CudaStridedCopy, RowsOfATileMayBeFarApart) {
    constexpr int64_t rows = 40, columns = 64, gap = 60'000'000;
    Case c{1, {columns, rows}, {}, {}, 0, size_t(rows * columns)};
    c.source.strides = {1, gap};
    c.target.strides = {rows, 1};
    Queue& queue = gpu_queue();
    StorageRef source = queue.allocate(size_t((rows - 1) * gap + columns));
    StorageRef target = queue.allocate(c.target_count);
    auto from = counted(c.target_count);
    for (int64_t row = 0; row < rows; ++row)
        queue.copy_from_host(static_cast<char*>(source->data) + row * gap, from.data() + row * columns,
                             size_t(columns));
    cuda::CopyPlan plan(StridedCopy(c.size, c.shape, c.source, c.target));
    plan.run({.inputs = {}, .outputs = {}, .queue = &queue}, source->data, target->data);
    std::vector<uint8_t> got(c.target_count), expected(c.target_count);
    queue.copy_to_host(got.data(), target->data, got.size());
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
            expected[size_t(column * rows + row)] = from[size_t(row * columns + column)];
    EXPECT_EQ(got, expected);
}

TEST(CudaStridedCopy, EveryPermutationOfTheAxes) {
    for (Shape shape : {Shape{}, Shape{70, 67}, Shape{3, 700}, Shape{3, 32, 40}, Shape{0, 4, 2},
                        Shape{2, 1, 70, 4}, Shape{2, 3, 2, 1, 2, 5, 3}}) {
        std::vector<int> axes(size_t(shape.rank()));
        std::iota(axes.begin(), axes.end(), 0);
        int step = shape.rank() == 7 ? 397 : 1, n = 0;
        do {
            if (n++ % step) continue;
            for (size_t size : {1, 2, 4, 8})
                for (size_t shift : {0, 1}) expect_same(permutation(size, shape, axes, shift));
        } while (std::next_permutation(axes.begin(), axes.end()));
    }
}

TEST(CudaStridedCopy, RandomSlicesWithNegativeStepsAndRepeats) {
    std::mt19937 random(7);
    auto below = [&](int n) { return int64_t(random() % unsigned(n)); };
    for (int round = 0; round < 200; ++round) {
        Case c{size_t(1) << below(4), {}, {}, {}, 1, 1};
        for (int i = int(below(5)); i-- > 0;) c.shape.push_back(1 + below(9));
        for (int i = c.shape.rank() - 1; i >= 0; --i) {
            int64_t step = 1 + below(3), target_skip = 1 + below(4) / 3;
            c.source.strides[size_t(i)] = below(4) ? int64_t(c.source_count) * step : 0;
            c.target.strides[size_t(i)] = int64_t(c.target_count) * target_skip;
            c.source_count *= size_t(step * c.shape[i]);
            c.target_count *= size_t(target_skip * c.shape[i]);
            for (auto* side : {&c.source, &c.target}) {
                auto& stride = side->strides[size_t(i)];
                if (below(3) != 0) continue;
                side->offset += (c.shape[i] - 1) * stride;
                stride = -stride;
            }
        }
        expect_same(c);
    }
}

// One axis of the tiles runs backwards, and beside them there is room on both sides.
TEST(CudaStridedCopy, TilesOfAPart) {
    for (size_t size : {1, 2, 4, 8})
        expect_same({size,
                     {2, 70, 60},
                     {69, {80 * 70, -1, 80}},
                     {5, {100 * 80, 100, 1}},
                     80 * 70 * 2,
                     100 * 80 * 2 + 5});
}

// Extents, strides and places are multiples of 4, or one of them is not. The last tiles are partly empty.
TEST(CudaStridedCopy, TilesOfPacks) {
    for (size_t size : {1, 2, 4, 8}) {
        for (Shape shape : {Shape{2, 132, 140}, Shape{2, 132, 138}, Shape{1, 8, 2020}, Shape{2020, 8},
                            Shape{3, 12, 1030}, Shape{1028, 20}, Shape{4, 2, 2052}})
            for (size_t shift : {0, 1}) {
                expect_same(permutation(size, shape,
                                        shape.rank() == 2 ? std::vector{1, 0} : std::vector{0, 2, 1}, shift));
                if (shape.rank() == 3) expect_same(permutation(size, shape, {2, 0, 1}, shift));
            }
        for (int64_t source_offset : {0, 8, 2})
            for (int64_t target_offset : {0, 4, 1})
                for (int64_t step : {1, -1})
                    expect_same({size,
                                 {2, 140, 132},
                                 {source_offset + (step < 0 ? 139 : 0), {144 * 140, step, 144}},
                                 {target_offset, {148 * 152, 148, 1}},
                                 144 * 140 * 2 + 8,
                                 148 * 152 * 2 + 4});
        expect_same(
            {size, {132, 140}, {131, {-1, 132}}, {139 * 4, {141 * 4, -1}}, 132 * 140, 141 * 4 * 132 + 560});
    }
}

TEST(CudaStridedCopy, RepeatsAreStoredInPacks) {
    for (size_t size : {1, 2, 4, 8})
        for (int64_t inner : {16, 20, 7}) {
            size_t count = size_t(6 * inner);
            expect_same({size, {6, inner}, {0, {1, 0}}, {0, {inner, 1}}, 6, count});
            expect_same({size, {6, inner}, {0, {0, 1}}, {0, {inner, 1}}, size_t(inner), count});
        }
}

// Numbers of more than 31 bits, for which no test has the memory.
TEST(CudaStridedCopy, WideIndices) {
    auto& queue = static_cast<cuda::CudaQueue&>(gpu_queue());
    std::vector<uint32_t> from(64 * 48), expected, got(from.size());
    std::iota(from.begin(), from.end(), 0u);
    for (size_t i = 0; i < 48; ++i)
        for (size_t j = 0; j < 64; ++j) expected.push_back(from[j * 48 + i]);
    StorageRef source = queue.allocate(from.size() * 4), target = queue.allocate(from.size() * 4);
    queue.copy_from_host(source->data, from.data(), from.size() * 4);
    cuda::CopyPacks packs;
    packs.packs.add(64, {48, 1});
    packs.packs.add(48, {1, 64});
    cuda::CopyTiles tiles{5, 5, 48, 64, 1, 48, 64, {}};
    tiles.tiles.add(2, {32 * 48, 32, 0, 32});
    tiles.tiles.add(2, {32, 32 * 64, 32, 0});
    cuda::CopyTiles tiles_of_packs{6, 6, 48, 64, 1, 48, 64, {}, cuda::tile_pack(4)};
    tiles_of_packs.tiles.add(1, {0, 0, 0, 0});
    packs.packs.is_small = tiles.tiles.is_small = tiles_of_packs.tiles.is_small = false;
    auto expect = [&](const char* what, auto copy) {
        queue.fill(target->data, 0, from.size() * 4);
        copy();
        queue.copy_to_host(got.data(), target->data, from.size() * 4);
        EXPECT_EQ(got, expected) << what;
    };
    auto copy_by = [&](const cuda::CopyTiles& by) {
        cuda::copy_tiles(queue.stream(), 4, source->data, target->data, by);
    };
    expect("packs", [&] { cuda::copy_packs(queue.stream(), 4, source->data, target->data, packs); });
    expect("tiles", [&] { copy_by(tiles); });
    expect("tiles of packs", [&] { copy_by(tiles_of_packs); });
}

}  // namespace
}  // namespace mge::test
