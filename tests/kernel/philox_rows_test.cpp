// SPDX-License-Identifier: Apache-2.0
// Vectors of Philox blocks against single ones.
#include "libmge/kernel/cpu/rows/philox_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "libmge/kernel/scalar/philox.h"

namespace mge::cpu {
namespace {

constexpr PhiloxStream source{.key = 0xdeadbeef, .counter = 0xfffffff0, .stream = 7};
// The last ones carry from the lower to the upper word.
constexpr int64_t firsts[] = {0, 5, (int64_t(1) << 32) - 3, (int64_t(1) << 40) - 17};
constexpr int64_t blocks = 2 * philox_vector;

TEST(PhiloxRows, HaveTheWordsOfBlocks) {
    for (int64_t first : firsts) {
        std::vector<uint32_t> words(4 * blocks);
        philox_rows().words(source, first, blocks, words.data());
        for (int64_t i = 0; i < blocks; ++i) {
            const auto w = philox(uint64_t(first + i), source.counter, source.stream, source.key);
            const uint32_t expected[] = {w.w0, w.w1, w.w2, w.w3};
            for (int64_t j = 0; j < 4; ++j)
                ASSERT_EQ(words[size_t(4 * i + j)], expected[j]) << first << " " << i << " " << j;
        }
    }
}

TEST(PhiloxRows, HaveNormalNumbersOfBlocks) {
    for (int64_t first : firsts) {
        std::vector<float> y(4 * blocks);
        philox_rows().normal(source, first, blocks, 2, 3, y.data());
        for (int64_t i = 0; i < blocks; ++i) {
            const auto w = philox(uint64_t(first + i), source.counter, source.stream, source.key);
            auto expect = [&](unsigned u, unsigned v, int64_t at) {
                const double radius = 3 * std::sqrt(-2 * std::log(double(philox_positive(u))));
                const double angle = 2 * std::numbers::pi * philox_uniform(v);
                ASSERT_NEAR(y[size_t(4 * i + at)], 2 + radius * std::cos(angle), 2e-5) << first << " " << i;
                ASSERT_NEAR(y[size_t(4 * i + at + 1)], 2 + radius * std::sin(angle), 2e-5)
                    << first << " " << i;
            };
            expect(w.w0, w.w1, 0);
            expect(w.w2, w.w3, 2);
        }
    }
}

// The results do not depend on the first block of a call.
TEST(PhiloxRows, DoNotDependOnTheirDivision) {
    std::vector<float> all(8 * philox_vector), part(4 * philox_vector);
    philox_rows().normal(source, 40, 2 * philox_vector, 0, 1, all.data());
    philox_rows().normal(source, 47, philox_vector, 0, 1, part.data());
    for (size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], all[i + 28]) << i;
}

}  // namespace
}  // namespace mge::cpu
