// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>

#include "libmge/inspect/memory.h"
#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"
#include "tests/harness/run_candidate.h"

namespace mge::test {
namespace {

// The same images with channels last in memory.
Tensor pixels_of(const Tensor& image) {
    auto& s = image.shape();
    size_t size = size_of(image.dtype());
    Tensor result = empty_tensor({image.dtype(), s, Layout::named("nhwc")});
    auto* from = static_cast<const char*>(image.data());
    auto* to = static_cast<char*>(result.data());
    for (int64_t n = 0; n < s[0]; ++n)
        for (int64_t p = 0; p < s[2] * s[3]; ++p)
            for (int64_t c = 0; c < s[1]; ++c, to += size)
                std::memcpy(to, from + size_t((n * s[1] + c) * s[2] * s[3] + p) * size, size);
    return result;
}

// The same images in blocks of so many channels.
Tensor blocks_of(const Tensor& image, int64_t block) {
    auto& s = image.shape();
    Tensor result = empty_tensor({image.dtype(), s, Layout::named(block == 8 ? "nChw8c" : "nChw16c")});
    const int64_t blocks = (s[1] + block - 1) / block, pixels = s[2] * s[3];
    auto* from = static_cast<const float*>(image.data());
    auto* to = static_cast<float*>(result.data());
    std::memset(to, 0, result.spec().bytes());
    for (int64_t n = 0; n < s[0]; ++n)
        for (int64_t c = 0; c < s[1]; ++c)
            for (int64_t p = 0; p < pixels; ++p)
                to[((n * blocks + c / block) * pixels + p) * block + c % block] =
                    from[(n * s[1] + c) * pixels + p];
    return result;
}

Tensor random_bytes(DType dtype, const Shape& shape) {
    Tensor result = empty_tensor({dtype, shape, {}});
    auto* bytes = static_cast<char*>(result.data());
    for (size_t i = 0; i < result.spec().bytes(); ++i) bytes[i] = char(i * 7 % 251 + size_t(shape[1]));
    return result;
}

// All algorithms, so many, on images in another layout, with so many threads, against the plain images.
void check_laid_out(const Tensors& xs, const IntList& channels, int threads, size_t algorithms,
                    const std::function<Tensor(const Tensor&)>& laid_out) {
    ops::TakeChannels::Params params{channels};
    Tensor expected = laid_out(ops::take_channels(xs, params));
    auto& info = ops::TakeChannels::info;
    Tensors images;
    TensorSpecs in;
    for (auto& x : xs) in.push_back(images.emplace_back(laid_out(x)).spec());
    TensorSpec out = expected.spec();
    Problem problem{info.name, &params, info.fields, in, {&out, 1}, 0, default_device(), threads};
    auto candidates = list_candidates(find_kernels(info, default_device()), problem);
    EXPECT_EQ(candidates.size(), algorithms);
    for (auto& named : candidates) {
        Tensor y = run_candidate(named, problem, images)[0];
        EXPECT_EQ(std::memcmp(y.data(), expected.data(), out.bytes()), 0)
            << named.candidate.name << ' ' << out.shape << ' ' << out.dtype;
    }
}

Tensor ramp(const Shape& shape, float step) {
    Tensor result = empty_tensor({DType::f32, shape, {}});
    auto* values = static_cast<float*>(result.data());
    for (int64_t i = 0; i < shape.numel(); ++i) values[i] = float(i + 1) * step;
    return result;
}

TEST(TakeChannels, IsTheJoinedChannelsInAnyOrder) {
    check_op<ops::TakeChannels>({.channels = {3, 0, 0, 4, 1}},
                                {{.shape = {2, 3, 2, 5}}, {.shape = {2, 2, 2, 5}}},
                                {.dtypes = all_types, .reference = [](std::span<const Tensor> xs) {
                                     Tensor joined = ops::concat({xs[0], xs[1]}, {.axis = 1});
                                     Tensor index = tensor_of<int32_t>({5}, {3, 0, 0, 4, 1});
                                     return Tensors{ops::take(joined, {index}, {.axes = {1}})};
                                 }});
    check_op<ops::TakeChannels>({.channels = {}}, {{.shape = {1, 3, 2, 5}}});
    check_op<ops::TakeChannels>({.channels = {1}}, {{.shape = {0, 3, 2, 5}}});
    check_op<ops::TakeChannels>({.channels = {6, 5, 4, 3, 2, 1, 0}}, {{.shape = {3, 7, 31, 33}}});
}

TEST(TakeChannels, WorksWithChannelsLast) {
    for (DType dtype : {DType::u8, DType::f16, DType::f32, DType::i64, DType::u2, DType::i4})
        for (auto [a, b] : {std::pair{3, 4}, {29, 58}, {16, 80}, {1, 1}})
            for (int64_t height : {1, 7, 40}) {
                Tensors xs{random_bytes(dtype, {2, a, height, 5}), random_bytes(dtype, {2, b, height, 5})};
                IntList every(size_t(a + b));
                std::iota(every.begin(), every.end(), 0);
                IntList shuffled, odd;
                for (int i = 0; i < a; ++i) shuffled.insert(shuffled.end(), {i, a + i % b});
                for (int i = 1; i < a + b; i += 2) odd.push_back(i);
                IntList falling(every.rbegin(), every.rend());
                for (auto& channels : {every, shuffled, odd, falling, IntList{a + b - 1}})
                    for (int threads : {1, 2}) check_laid_out(xs, channels, threads, 3, pixels_of);
            }
}

TEST(TakeChannels, WorksInBlocksOfChannels) {
    std::mt19937 random(5);
    for (int64_t block : {8, 16})
        for (auto [a, b] : {std::pair{3, 4}, {29, 58}, {16, 80}, {1, 1}, {58, 58}})
            for (int64_t height : {1, 7, 40}) {
                Tensors xs{ramp({2, a, height, 5}, 1), ramp({2, b, height, 5}, -1)};
                IntList every(size_t(a + b));
                std::iota(every.begin(), every.end(), 0);
                IntList half(every.begin() + a / 2, every.end()), any = every, odd;
                for (int i = 1; i < a + b; i += 2) odd.push_back(i);
                std::shuffle(any.begin(), any.end(), random);
                for (auto& channels : {every, half, any, odd, IntList{a + b - 1}, IntList{}})
                    for (int threads : {1, 2})
                        check_laid_out(xs, channels, threads, 1,
                                       [&](const Tensor& image) { return blocks_of(image, block); });
            }
}

// A shuffle of the channels of weights has a run for each of them.
TEST(TakeChannels, IsPreparedInLittleMemory) {
    IntList channels;
    for (int64_t i = 0; i < 512; ++i) channels.push_back(i * 5 % 512);
    ops::TakeChannels::Params params{channels};
    TensorSpec image{DType::f32, {64, 512, 1, 1}, {}};
    auto& info = ops::TakeChannels::info;
    Problem problem{info.name, &params, info.fields, {&image, 1}, {&image, 1}};
    for (auto& named : list_candidates(find_kernels(info, default_device()), problem)) {
        size_t before = process_memory().heap;
        Prepared prepared = named.algorithm->prepare({problem, named.candidate, {}});
        EXPECT_LT(process_memory().heap, before + (100 << 10)) << named.candidate.name;
    }
}

TEST(TakeChannels, RejectsInvalidArguments) {
    Tensor x = random_bytes(DType::f32, {1, 2, 3, 3}), y = random_bytes(DType::f32, {1, 2, 3, 4});
    expect_user_error(ErrorClass::runtime,
                      "[take_channels] takes images (N, C, H, W) that differ in their channels only, got "
                      "(1, 2, 3, 3) and (1, 2, 3, 4)",
                      [&] {
                          ops::take_channels({x, y}, {.channels = {0}});
                      });
    expect_user_error(ErrorClass::index, "[take_channels] channel 2 is out of range for 2", [&] {
        ops::take_channels({x}, {.channels = {1, 2}});
    });
    expect_user_error(ErrorClass::index, "[take_channels] channel -1 is out of range for 2",
                      [&] { ops::take_channels({x}, {.channels = {-1}}); });
    expect_user_error(ErrorClass::value, "[take_channels] needs at least one tensor",
                      [&] { ops::take_channels(Tensors{}, {}); });
}

}  // namespace
}  // namespace mge::test
