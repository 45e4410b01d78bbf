// SPDX-License-Identifier: Apache-2.0
// Products of bytes and of 16-bit numbers are exact: each kernel of the processor gives the plain sums.
#include "libmge/kernel/cpu/product/byte_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "libmge/kernel/cpu/product/integer_tile.h"
#include "libmge/kernel/cpu/rows/map_bytes.h"

namespace mge::cpu {
namespace {

// Numbers of a range, its ends among them more often.
template <class T>
std::vector<T> numbers(size_t n, int low, int high) {
    std::mt19937 random(1);
    std::uniform_int_distribution<int> any(low, high), choice(0, 9);
    std::vector<T> result(n);
    for (auto& x : result) {
        const int chosen = choice(random);
        x = T(chosen == 0 ? low : chosen == 1 ? high : any(random));
    }
    return result;
}

template <class A, class B>
void expect_tile(const IntegerTile& tile, int a_low, int a_high, int b_low, int b_high) {
    const int64_t words = 37, depth = words * tile.per_word, stride = tile.columns + 3;
    const auto a = numbers<A>(size_t(depth * tile.rows), a_low, a_high);
    const auto b = numbers<B>(size_t(depth * tile.columns), b_low, b_high);
    std::vector<int32_t> a_words(size_t(words * tile.rows)), b_words(size_t(words * tile.columns));
    std::memcpy(a_words.data(), a.data(), a.size() * sizeof(A));
    std::memcpy(b_words.data(), b.data(), b.size() * sizeof(B));
    std::vector<int32_t> sums(size_t(tile.rows * stride));
    tile.multiply(a_words.data(), b_words.data(), words, sums.data(), stride);
    for (int64_t r = 0; r < tile.rows; ++r)
        for (int64_t c = 0; c < tile.columns; ++c) {
            int64_t sum = 0;
            for (int64_t w = 0; w < words; ++w)
                for (int64_t i = 0; i < tile.per_word; ++i)
                    sum += int64_t(a[size_t((w * tile.rows + r) * tile.per_word + i)]) *
                           b[size_t((w * tile.columns + c) * tile.per_word + i)];
            ASSERT_EQ(sums[size_t(r * stride + c)], sum) << r << ", " << c;
        }
}

TEST(IntegerTile, MultipliesPairsExactly) {
    expect_tile<int16_t, int16_t>(pair_tile(), -255, 255, -128, 127);
}

TEST(IntegerTile, MultipliesBytesExactly) {
    if (!quad_tile()) GTEST_SKIP() << "no products of four bytes";
    expect_tile<uint8_t, int8_t>(*quad_tile(), 0, 255, -128, 127);
}

template <class A>
void expect_product(const ByteProduct& product, decltype(ByteProduct::multiply) multiply, int low, int high) {
    const int64_t part = 2 * product.depth, parts = 3, gap = 5 * product.depth, depth = part * parts;
    const int64_t stride = parts * (part + gap) + product.depth;
    const auto a = numbers<A>(size_t(product.rows * stride), low, high);
    const auto weight = numbers<int8_t>(size_t(depth * product_columns), -128, 127);
    std::vector<int64_t> offsets;
    for (int64_t i = 0; i < parts; ++i) offsets.push_back(i * (part + gap) * int64_t(sizeof(A)));
    std::vector<int32_t> sums(size_t(product.rows * product_columns));
    multiply({reinterpret_cast<const uint8_t*>(a.data()), stride * int64_t(sizeof(A)), offsets,
              part * int64_t(sizeof(A)), product.rows, product_columns},
             weight.data(), sums.data());
    for (int64_t r = 0; r < product.rows; ++r)
        for (int64_t c = 0; c < product_columns; ++c) {
            int64_t sum = 0;
            for (int64_t k = 0; k < depth; ++k) {
                const int64_t panel = c / product.panel,
                              word = panel * (depth / product.word) + k / product.word;
                const int64_t place = (word * product.panel + c % product.panel) * product.word;
                sum += int64_t(a[size_t(r * stride + k / part * (part + gap) + k % part)]) *
                       weight[size_t(place + k % product.word)];
            }
            ASSERT_EQ(sums[size_t(r * product_columns + c)], sum) << product.name << ' ' << r << ", " << c;
        }
}

TEST(ByteProduct, MultipliesPairsExactly) {
    expect_product<int16_t>(*pair_product(), pair_product()->multiply, -255, 255);
}

void expect_windows(const ByteWindowKernel& kernel) {
    constexpr int64_t step = 70;
    for (bool is_signed : {false, true})
        for (int64_t channels : {1, 7, 8, 16, 33, 64})
            for (int64_t count : {1, 4, 7}) {
                constexpr int64_t taps = 9;
                const int64_t padded =
                    (taps + kernel.taps_together - 1) / kernel.taps_together * kernel.taps_together;
                const auto x = numbers<uint8_t>(size_t(step * (count + taps + 1)), 0, 255);
                const auto factors = numbers<int16_t>(size_t(taps * byte_channels), -128, 127);
                std::vector<uint8_t> weight(size_t(padded * byte_channels * kernel.weight_bytes));
                std::vector<const uint8_t*> places;
                for (int64_t t = 0; t < padded; ++t) {
                    places.push_back(x.data() + std::min(t, taps - 1) * step);
                    for (int64_t c = 0; t < taps && c < byte_channels; ++c)
                        std::memcpy(&weight[size_t(kernel.place_of_tap(t, c) * kernel.weight_bytes)],
                                    &factors[size_t(t * byte_channels + c)], size_t(kernel.weight_bytes));
                }
                std::vector<int32_t> sums(size_t(count * byte_channels));
                kernel.multiply({.taps = places,
                                 .step = step,
                                 .count = count,
                                 .channels = channels,
                                 .column = 0,
                                 .is_signed = is_signed,
                                 .weight = weight.data(),
                                 .sums = sums.data()});
                for (int64_t i = 0; i < count; ++i)
                    for (int64_t c = 0; c < channels; ++c) {
                        int32_t sum = 0;
                        for (int64_t t = 0; t < taps; ++t) {
                            const uint8_t byte = x[size_t((i + t) * step + c)];
                            sum += (is_signed ? int8_t(byte) + 128 : byte) *
                                   factors[size_t(t * byte_channels + c)];
                        }
                        ASSERT_EQ(sums[size_t(i * byte_channels + c)], sum)
                            << channels << ": " << i << ", " << c;
                    }
            }
}

TEST(ByteWindows, AreExact) {
    expect_windows(pair_windows());
    if (auto* dots = dot_windows()) expect_windows(*dots);
}

TEST(MapBytes, PermutesBytes) {
    if (!permutes_bytes()) GTEST_SKIP() << "no such instruction";
    const auto table = numbers<uint8_t>(256, 0, 255), x = numbers<uint8_t>(1000, 0, 255);
    for (int64_t n : {0, 1, 15, 16, 17, 63, 64, 65, 1000}) {
        std::vector<uint8_t> y(size_t(n) + 1, 7);
        map_by_permutes(x.data(), y.data(), n, table.data());
        for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[size_t(i)], table[x[size_t(i)]]) << n << ": " << i;
        EXPECT_EQ(y[size_t(n)], 7);
    }
}

}  // namespace
}  // namespace mge::cpu
