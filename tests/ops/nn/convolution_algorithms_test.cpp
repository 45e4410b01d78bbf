// SPDX-License-Identifier: Apache-2.0
// Our own algorithms of convolutions and of their gradients, each by its name.
#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "libmge/kernel/cpu/product/bf16_tiles.h"
#include "libmge/kernel/cpu/product/split_product.h"
#include "tests/child_alarm.h"
#include "tests/harness/edge_memory.h"
#include "tests/ops/nn/images.h"
#include "tests/ops/random_problem.h"

namespace mge::test {
namespace {

// One of our own algorithms, by name, on images in the layout `name`, or x in `name_of_x`.
void expect_computes(std::string_view algorithm, const ConvCase& c, std::string_view name,
                     uint32_t constant_inputs = 2, std::string_view name_of_x = {}) {
    for (int threads : {1, 2, 3}) {
        Layout layout = Layout::named(name);
        Tensor x = random_tensor(c.x), weight = random_tensor(c.weight);
        TensorSpec plain[] = {x.spec(), weight.spec()};
        Shape shape = ops::Conv2d::infer(c.params, plain).at(0).shape;
        Tensor bias = random_tensor({1, shape[1], 1, 1}), residual = random_tensor(shape);
        Layout layout_of_x = name_of_x.empty() ? layout : Layout::named(name_of_x);
        Tensors inputs{reordered(x, layout_of_x), weight, bias, reordered(residual, layout)};
        TensorSpecs specs;
        for (auto& t : inputs) specs.push_back(t.spec());
        TensorSpec out{DType::f32, shape, layout};
        Problem problem{ops::Conv2d::name, &c.params,      ops::Conv2d::info.fields, specs,
                        {&out, 1},         constant_inputs};
        problem.threads = threads;
        auto list = list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem);
        auto ours = std::ranges::find(list, algorithm, [](auto& n) { return n.candidate.name; });
        ASSERT_NE(ours, list.end()) << c.x << name;
        Tensor expected = by_reference<ops::Conv2d>(c.params, {x, weight, bias, residual})[0];
        expect_close(reordered(run_candidate(*ours, problem, inputs)[0], {}), expected,
                     c.weight.numel() / c.weight[0], 4, text(c.x, c.weight, ' ', name, ' ', threads));
    }
}

// The factors are numbers of bf16. The images are stored so, too, or as f32 and rounded by the algorithm.
void expect_channels_last(std::string_view name, const ConvCase& c, DType dtype, uint32_t constant_inputs = 2,
                          std::string_view layout_name = "nhwc", std::string_view name_of_x = {}) {
    const Layout layout = Layout::named(layout_name);
    const Layout layout_of_x = name_of_x.empty() ? layout : Layout::named(name_of_x);
    auto rounded = [](const Shape& shape) {
        return ops::convert(random_tensor(shape, DType::bf16), {.dtype = DType::f32});
    };
    auto stored = [&](const Tensor& x) { return ops::convert(x, {.dtype = dtype}); };
    const Tensor x = rounded(c.x), weight = rounded(c.weight);
    const TensorSpec plain[] = {x.spec(), weight.spec()};
    const Shape shape = ops::Conv2d::infer(c.params, plain).at(0).shape;
    const Tensor bias = rounded({1, shape[1], 1, 1}), residual = rounded(shape);
    const Tensors inputs{reordered(stored(x), layout_of_x), stored(weight), stored(bias),
                         reordered(stored(residual), layout)};
    TensorSpecs specs;
    for (auto& t : inputs) specs.push_back(t.spec());
    const TensorSpec out{dtype, shape, layout};
    Problem problem{ops::Conv2d::name, &c.params,      ops::Conv2d::info.fields, specs,
                    {&out, 1},         constant_inputs};
    problem.precision = Precision::relaxed;
    const Tensor expected = stored(by_reference<ops::Conv2d>(c.params, {x, weight, bias, residual})[0]);
    for (int threads : {1, 2}) {
        problem.threads = threads;
        auto list = list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem);
        auto ours = std::ranges::find(list, name, [](auto& n) { return n.candidate.name; });
        ASSERT_NE(ours, list.end()) << c.x;
        expect_close(reordered(run_candidate(*ours, problem, inputs)[0], {}), expected,
                     c.weight.numel() / c.weight[0], 4, text(c.x, c.weight, ' ', dtype, ' ', threads));
    }
}

// Lines of one tile and of several, pairs of lines, rows that are gathered, blocks of channels with a rest.
TEST(Conv2d, MultipliesBFloat16InTiles) {
    if (!cpu::has_bf16_tiles()) GTEST_SKIP() << "no matrix instructions";
    const ConvCase cases[] = {
        {{2, 32, 5, 37}, {40, 32, 1, 1}, {.activation = Activation::relu}},
        {{1, 64, 9, 9}, {31, 64, 3, 3}, {.padding = {1, 1}}},
        {{2, 32, 7, 7}, {64, 32, 3, 3}, {.padding = {1, 1}, .activation = Activation::silu}},
        {{1, 32, 23, 70}, {33, 32, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}}},
        {{1, 64, 14, 14}, {20, 64, 1, 1}, {.stride = {2, 2}}},
        {{1, 32, 15, 17}, {32, 32, 3, 2}, {.padding = {2, 1}, .dilation = {1, 2}}},
        {{1, 16, 11, 40}, {32, 16, 1, 2}, {.padding = {0, 1}}},
        {{300, 32, 1, 1}, {64, 32, 1, 1}, {}},
        {{35, 32, 4, 4}, {64, 32, 3, 3}, {.padding = {1, 1}}},
        {{1, 24, 6, 40}, {96, 24, 1, 1}, {.activation = Activation::relu6}},
        {{2, 16, 9, 11}, {24, 16, 3, 3}, {.padding = {1, 1}}},
        {{1, 36, 5, 33}, {144, 36, 1, 1}, {}},
    };
    for (auto& c : cases) {
        expect_channels_last("amx_tiles", c, DType::bf16);
        expect_channels_last("amx_tiles", c, DType::bf16, 0);
        expect_channels_last("nhwc:amx_tiles", c, DType::bf16, 0, "nchw");
        expect_channels_last("nhwc:amx_tiles", c, DType::bf16, 2, "nchw");
        expect_channels_last("bf16:amx_tiles", c, DType::f32);
    }
}

// Lines of 16 pixels and with a rest, all numbers of planes, with and without a border.
TEST(Conv2d, MultipliesPlanesOfBFloat16InTiles) {
    if (!cpu::has_bf16_tiles()) GTEST_SKIP() << "no matrix instructions";
    const ConvCase cases[] = {
        {{2, 3, 37, 61}, {40, 3, 7, 7}, {.stride = {2, 2}, .padding = {3, 3}}},
        {{1, 3, 32, 32},
         {32, 3, 3, 3},
         {.stride = {2, 2}, .padding = {1, 1}, .activation = Activation::relu6}},
        {{3, 1, 9, 16}, {16, 1, 5, 5}, {.activation = Activation::silu}},
        {{1, 4, 16, 16}, {24, 4, 4, 4}, {.stride = {4, 4}}},
        {{2, 2, 12, 7}, {33, 2, 3, 3}, {.padding = {1, 1}}},
    };
    for (auto& c : cases)
        for (uint32_t constant_inputs : {0, 2})
            expect_channels_last("amx_tiles", c, DType::bf16, constant_inputs, "nhwc", "nchw");
}

// Both windows and strides, tiles at all borders and inside, rows of several items, few and many channels.
TEST(Conv2d, ConvolvesChannelsOfHalves) {
    if (cpu_isa() < Isa::avx512) GTEST_SKIP() << "not used with shorter vectors";
    auto depthwise = [](const Shape& x, int64_t window, int64_t stride, int64_t padding,
                        Activation activation) {
        return ConvCase{x,
                        {x[1], 1, 1, window, window},
                        {.stride = {stride, stride},
                         .padding = {padding, padding},
                         .groups = x[1],
                         .activation = activation}};
    };
    for (auto& c : {depthwise({2, 32, 9, 19}, 3, 1, 1, Activation::relu6),
                    depthwise({1, 16, 14, 14}, 3, 2, 1, Activation::none),
                    depthwise({3, 48, 7, 7}, 5, 1, 2, Activation::hswish),
                    depthwise({1, 96, 23, 40}, 5, 2, 0, Activation::relu),
                    depthwise({1, 16, 1, 2}, 3, 1, 2, Activation::relu_keeps_nan)}) {
        if (cpu::has_bf16_tiles()) expect_channels_last("depthwise_halves", c, DType::bf16);
        expect_channels_last("depthwise_halves", c, DType::bf16, 2, channel_blocks());
        expect_channels_last("depthwise_halves", c, DType::f16, 2, channel_blocks());
    }
}

// Our own Winograd: borders, tiles beside the image's end, several strips, images that share one, odd numbers
// of panels, few threads with many tiles and many with few.
TEST(Conv2d, ComputesByWinogradInBlocksAndChannelsLast) {
    const ConvCase cases[] = {
        {{1, 32, 14, 14}, {32, 32, 3, 3}, {.padding = {1, 1}}},
        {{1, 48, 17, 22}, {80, 48, 3, 3}, {.padding = {1, 1}}},
        {{2, 160, 13, 15}, {32, 160, 3, 3}, {.padding = {0, 2}}},
        {{5, 32, 8, 10}, {48, 32, 3, 3}, {.padding = {1, 1}, .activation = Activation::silu}},
        {{1, 32, 61, 66}, {32, 32, 3, 3}, {.padding = {1, 1}}},
        {{3, 32, 7, 7}, {64, 32, 3, 3}, {.padding = {4, 3}}},
    };
    for (auto& c : cases)
        for (std::string_view name : {std::string_view("nhwc"), channel_blocks()}) {
            expect_computes("winograd", c, name);
            expect_computes("winograd_changing", c, name, 0);
        }
}

// Both of the images, or one, copied to blocks; numbers of pixels that make no whole squares.
TEST(Conv2d, ComputesByWinogradOnPlainImages) {
    const ConvCase cases[] = {
        {{1, 32, 31, 33}, {48, 32, 3, 3}, {.padding = {1, 1}}},
        {{70, 64, 3, 3}, {32, 64, 3, 3}, {.padding = {1, 1}}},
    };
    for (auto& c : cases)
        for (std::string_view from : {std::string_view("nchw"), channel_blocks()})
            for (std::string_view to : {std::string_view("nchw"), channel_blocks()}) {
                ops::Conv2d::Params params = c.params;
                Tensor x = random_tensor(c.x), weight = random_tensor(c.weight);
                Tensor expected = by_reference<ops::Conv2d>(params, {x, weight})[0];
                Tensors inputs{reordered(x, Layout::named(from)), weight};
                TensorSpec specs[] = {inputs[0].spec(), weight.spec()};
                TensorSpec out{DType::f32, expected.shape(), Layout::named(to)};
                Problem problem{ops::Conv2d::name, &params, ops::Conv2d::info.fields, specs, {&out, 1}};
                problem.threads = 2;
                auto list = list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem);
                auto ours = std::ranges::find(list, "winograd_changing",
                                              [](auto& n) -> std::string_view { return n.candidate.name; });
                ASSERT_NE(ours, list.end()) << c.x << from << to;
                expect_close(reordered(run_candidate(*ours, problem, inputs)[0], {}), expected,
                             c.weight.numel() / c.weight[0], 4, text(c.x, c.weight, ' ', from, " to ", to));
            }
}

// Two images in the layout `name` (or x in another one), two plain ones: for the gradients of convolutions.
template <class Op>
void expect_gradient(std::string_view algorithm, const ConvCase& c, std::string_view name,
                     std::string_view name_of_x = {}, DType dtype = DType::f32) {
    constexpr bool is_of_data = std::is_same_v<Op, ops::Conv2dBackwardData>;
    Layout layout = Layout::named(name);
    typename Op::Params params{c.params.stride, c.params.padding, c.params.dilation};
    Tensor x = random_tensor(c.x, dtype), weight = random_tensor(c.weight, dtype);
    TensorSpec plain[] = {x.spec(), weight.spec()};
    Tensor dy = random_tensor(ops::Conv2d::infer(c.params, plain).at(0).shape, dtype);
    Tensors inputs = is_of_data ? Tensors{weight, dy, x} : Tensors{x, dy, weight}, laid_out = inputs;
    laid_out[1] = reordered(dy, layout);
    if (!is_of_data) laid_out[0] = reordered(x, name_of_x.empty() ? layout : Layout::named(name_of_x));
    Tensor expected = by_reference<Op>(params, inputs)[0];
    TensorSpecs specs, out{expected.spec()};
    for (auto& t : laid_out) specs.push_back(t.spec());
    if (is_of_data) out[0].layout = layout;
    for (int threads : {1, 2, 3}) {
        Problem problem{Op::name, &params, Op::info.fields, specs, out};
        problem.threads = threads;
        auto list = list_candidates(find_kernels(Op::info, default_device()), problem);
        auto ours = std::ranges::find(list, algorithm, [](auto& n) { return n.candidate.name; });
        ASSERT_NE(ours, list.end()) << c.x << name;
        Tensor got = reordered(run_candidate(*ours, problem, laid_out)[0], {});
        int64_t reduction = is_of_data ? c.weight.numel() / c.weight[1] : dy.shape().numel() / c.weight[0];
        expect_close(got, expected, reduction, 4, text(Op::name, c.x, c.weight, ' ', name, ' ', threads));
    }
}

// Padding up to the window's size, several strips with a shorter last one, parts of chunks and of panels.
TEST(Conv2d, HasGradientsByWinogradInBlocksAndChannelsLast) {
    const ConvCase cases[] = {
        {{1, 32, 14, 14}, {32, 32, 3, 3}, {.padding = {1, 1}}},
        {{1, 48, 17, 22}, {80, 48, 3, 3}, {.padding = {1, 1}}},
        {{2, 160, 13, 15}, {32, 160, 3, 3}, {.padding = {0, 2}}},
        {{5, 32, 8, 10}, {48, 32, 3, 3}, {.padding = {2, 0}}},
        {{2, 32, 29, 33}, {64, 32, 3, 3}, {.padding = {1, 1}}},
        {{17, 256, 2, 3}, {256, 256, 3, 3}, {.padding = {1, 1}}},
        {{131, 256, 1, 2}, {256, 256, 3, 3}, {.padding = {1, 1}}},
    };
    for (auto& c : cases)
        for (std::string_view name : {std::string_view("nhwc"), channel_blocks()}) {
            expect_gradient<ops::Conv2dBackwardData>("winograd", c, name);
            expect_gradient<ops::Conv2dBackwardWeight>("winograd", c, name);
        }
    for (auto& c : {cases[4], cases[6], ConvCase{{70, 64, 3, 3}, {32, 64, 3, 3}, {.padding = {1, 1}}}}) {
        expect_gradient<ops::Conv2dBackwardData>("winograd", c, "nchw");
        expect_gradient<ops::Conv2dBackwardWeight>("winograd", c, "nchw");
    }
}

// Channels that fill no block, steps over pixels and between elements of the window, padding on one side only
// and more than the window has, windows of one pixel; places of several products.
TEST(Conv2d, HasGradientsOfBFloat16InTiles) {
    if (!cpu::has_bf16_tiles()) GTEST_SKIP() << "no matrix instructions";
    const ConvCase cases[] = {
        {{3, 64, 9, 9}, {40, 64, 3, 3}, {.padding = {1, 1}}},
        {{2, 32, 23, 30}, {33, 32, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}}},
        {{5, 48, 4, 4}, {64, 48, 3, 3}, {.padding = {1, 1}}},
        {{2, 32, 14, 15}, {20, 32, 1, 1}, {.stride = {2, 3}}},
        {{1, 16, 15, 17}, {32, 16, 3, 2}, {.padding = {2, 1}, .dilation = {1, 2}}},
        {{2, 16, 6, 5}, {16, 16, 2, 3}, {.stride = {1, 2}, .padding = {3, 4}}},
        {{9, 32, 1, 1}, {64, 32, 1, 1}, {}},
        {{2, 3, 18, 21}, {64, 3, 7, 7}, {.stride = {2, 2}, .padding = {3, 3}}},
    };
    for (auto& c : cases) {
        expect_gradient<ops::Conv2dBackwardWeight>("amx_tiles", c, "nhwc", {}, DType::bf16);
        expect_gradient<ops::Conv2dBackwardWeight>("nhwc:amx_tiles", c, "nchw", {}, DType::bf16);
    }
}

// The same; images of few pixels that are multiplied together, and some left over; pixels of x that no window
// sees.
TEST(Conv2d, HasGradientsOfImagesOfBFloat16InTiles) {
    if (!cpu::has_bf16_tiles()) GTEST_SKIP() << "no matrix instructions";
    const ConvCase cases[] = {
        {{3, 64, 9, 9}, {64, 64, 3, 3}, {.padding = {1, 1}}},
        {{2, 35, 23, 70}, {32, 35, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}}},
        {{35, 48, 4, 4}, {64, 48, 3, 3}, {.padding = {1, 1}}},
        {{2, 40, 14, 15}, {32, 40, 1, 1}, {.stride = {2, 3}}},
        {{1, 16, 15, 17}, {32, 16, 3, 2}, {.padding = {2, 1}, .dilation = {1, 2}}},
        {{2, 16, 6, 5}, {48, 16, 2, 3}, {.stride = {1, 2}, .padding = {3, 4}}},
        {{9, 32, 1, 1}, {64, 32, 1, 1}, {}},
        {{3, 20, 7, 11}, {32, 20, 1, 1}, {}},
        {{2, 32, 8, 8}, {32, 32, 1, 1}, {.padding = {1, 1}}},
        {{1, 16, 1, 1}, {32, 16, 1, 1}, {.stride = {2, 2}, .padding = {1, 1}}},
        {{1, 32, 5, 4}, {32, 32, 1, 2}, {.stride = {1 << 30, 3}}},
        {{2, 3, 19, 21}, {64, 3, 7, 7}, {.stride = {2, 2}, .padding = {3, 3}}},
    };
    for (auto& c : cases) {
        expect_gradient<ops::Conv2dBackwardData>("amx_tiles", c, "nhwc", {}, DType::bf16);
        expect_gradient<ops::Conv2dBackwardData>("nhwc:amx_tiles", c, "nchw", {}, DType::bf16);
    }
}

// Small layers: one image and several, which threads share; one channel and more, blocks of channels of y
// with a rest, fewer than a block, groups of the weight's elements of each size.
TEST(Conv2d, HasGradientsOfSmallWeightsInBothOrdersOfChannels) {
    const ConvCase cases[] = {
        {{9, 1, 12, 12}, {6, 1, 5, 5}, {.padding = {2, 2}}},
        {{8, 3, 9, 8}, {17, 3, 3, 2}},
        {{7, 2, 11, 7}, {3, 2, 3, 3}, {.padding = {1, 2}, .dilation = {2, 1}}},
        {{60, 5, 12, 12}, {33, 5, 1, 3}},
        {{1, 8, 5, 4}, {8, 8, 2, 2}},
        {{3, 2, 4, 4}, {70, 2, 4, 4}},
    };
    for (auto& c : cases)
        for (auto [x, dy] : {std::pair{"nchw", "nchw"}, {"nchw", "nhwc"}, {"nhwc", "nchw"}, {"nhwc", "nhwc"}})
            expect_gradient<ops::Conv2dBackwardWeight>("small", c, dy, x);
}

// Errors of sums of one sign do not cancel: no register adds all products of a large image. Neither do the
// sums of all images exist at once.
TEST(Conv2d, HasGradientsOfDepthwiseWeights) {
    constexpr size_t most_workspace = 16 << 20;
    const ConvCase cases[] = {
        {{1, 16, 80, 80}, {16, 1, 1, 7, 7}, {.padding = {3, 3}, .groups = 16}},
        {{3, 20, 67, 71}, {20, 1, 1, 5, 4}, {.padding = {2, 0}, .dilation = {1, 2}, .groups = 20}},
        {{1, 16, 1, 4000}, {16, 1, 1, 1, 9}, {.padding = {0, 4}, .groups = 16}},
        {{2, 17, 61, 90}, {17, 1, 1, 6, 3}, {.stride = {2, 3}, .padding = {1, 4}, .groups = 17}},
        {{48, 64, 4, 4}, {64, 1, 1, 31, 31}, {.padding = {15, 15}, .groups = 64}},
    };
    using Op = ops::Conv2dBackwardWeight;
    bool is_there = false;
    for (auto& c : cases) {
        const Op::Params params{c.params.stride, c.params.padding, c.params.dilation, c.params.groups};
        const TensorSpec plain[] = {{DType::f32, c.x, {}}, {DType::f32, c.weight, {}}};
        const Shape y = ops::Conv2d::infer(c.params, plain).at(0).shape;
        const Tensors inputs{make_tensor(DType::f32, c.x, std::vector(size_t(c.x.numel()), 0.1)),
                             make_tensor(DType::f32, y, std::vector(size_t(y.numel()), 0.7)),
                             make_tensor(DType::f32, c.weight, std::vector(size_t(c.weight.numel()), 0.0))};
        const TensorSpecs specs = specs_of(inputs), outputs = Op::infer(params, specs);
        const Tensor expected = by_reference<Op>(params, inputs)[0];
        Problem problem{Op::name, &params, Op::info.fields, specs, outputs};
        for (int threads : {1, 2}) {
            problem.threads = threads;
            for (auto& named : list_candidates(find_kernels(Op::info, default_device()), problem)) {
                if (!named.candidate.name.starts_with("by_dy")) continue;
                is_there = true;
                EXPECT_FALSE(named.candidate.attributes.locks) << named.candidate.name;
                EXPECT_LT(named.algorithm->prepare({problem, named.candidate, {}}).workspace(),
                          most_workspace)
                    << named.candidate.name;
                expect_close(run_candidate(named, problem, inputs)[0], expected, y[0] * y[2] * y[3], 1,
                             text(c.x, c.weight, ' ', named.candidate.name, ' ', threads));
            }
        }
    }
    EXPECT_EQ(is_there, dnnl_version()->major > 0 && cpu_isa() >= Isa::sse4);
}

// By the gradient of turned windows, in both layouts of images.
TEST(Conv2d, ComputesWideDepthwiseWindowsWhereVectorsAreShort) {
    if (cpu_isa() >= Isa::avx512) GTEST_SKIP() << "the library is faster on this machine";
    const ConvCase cases[] = {
        {{1, 16, 20, 33}, {16, 1, 1, 31, 31}, {.padding = {15, 15}, .groups = 16}},
        {{2, 24, 9, 40}, {24, 1, 1, 3, 15}, {.padding = {0, 2}, .groups = 24}},
        {{2, 8, 21, 50},
         {8, 1, 1, 5, 17},
         {.padding = {8, 3}, .dilation = {2, 1}, .groups = 8, .activation = Activation::silu}},
        {{1, 5, 1, 64}, {5, 1, 1, 1, 21}, {.padding = {0, 20}, .groups = 5}},
    };
    bool is_there = false;
    for (auto& c : cases) {
        const Tensor x = random_tensor(c.x), weight = random_tensor(c.weight);
        const Tensor bias = random_tensor({1, c.x[1], 1, 1});
        const Tensor expected = by_reference<ops::Conv2d>(c.params, {x, weight, bias})[0];
        for (auto name : {"nchw", "nChw8c", "nChw4c"}) {
            const Layout layout = Layout::named(name);
            const Tensors inputs{reordered(x, layout), weight, bias};
            const TensorSpecs specs = specs_of(inputs);
            const TensorSpec out{DType::f32, expected.shape(), layout};
            Problem problem{ops::Conv2d::name, &c.params, ops::Conv2d::info.fields, specs, {&out, 1}};
            for (int threads : {1, 2}) {
                problem.threads = threads;
                for (auto& named :
                     list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem)) {
                    if (!named.candidate.name.starts_with("turned:")) continue;
                    is_there = true;
                    expect_close(reordered(run_candidate(named, problem, inputs)[0], {}), expected,
                                 c.weight[3] * c.weight[4], 4,
                                 text(c.x, c.weight, ' ', name, ' ', named.candidate.name, ' ', threads));
                }
            }
        }
    }
    EXPECT_EQ(is_there, dnnl_version()->major > 0 && cpu_isa() >= Isa::sse4);
}

// Vectors of 8 and 4 floats take few channels and few tiles: a panel that is not full, one tile of an image.
TEST(Conv2d, ComputesByWinogradWhereVectorsAreShort) {
    if (cpu_isa() >= Isa::avx512) GTEST_SKIP() << "the library is faster on this machine";
    const ConvCase cases[] = {
        {{1, 16, 18, 35}, {16, 16, 3, 3}, {.padding = {1, 1}}},
        {{1, 24, 9, 12}, {40, 24, 3, 3}, {.padding = {1, 1}, .activation = Activation::relu}},
        {{1, 136, 7, 7}, {24, 136, 3, 3}, {.padding = {1, 1}, .activation = Activation::relu6}},
        {{4, 16, 3, 4}, {48, 16, 3, 3}, {.padding = {1, 1}}},
    };
    for (auto& c : cases)
        for (std::string_view name : {std::string_view("nhwc"), channel_blocks()})
            expect_computes("winograd", c, name);
}

// Tiles of every size, channels that fill no block or no panel, activations of their own.
TEST(Conv2d, ComputesPointwiseOnSmallImages) {
    const ConvCase cases[] = {
        {{1, 160, 7, 7}, {960, 160, 1, 1}, {}},
        {{1, 40, 5, 7}, {72, 40, 1, 1}, {.activation = Activation::relu6}},
        {{1, 33, 8, 8}, {35, 33, 1, 1}, {.activation = Activation::silu}},
        {{1, 19, 4, 5}, {37, 19, 1, 1}, {.activation = Activation::hswish}},
        {{1, 3, 1, 17}, {8, 3, 1, 1}, {.activation = Activation::relu}},
        {{1, 16, 4, 4}, {80, 16, 1, 1}, {.activation = Activation::sigmoid}},
    };
    for (auto& c : cases) expect_computes("pointwise", c, channel_blocks());
}

// Several strips with a shorter last one, fewer channels of y than of x.
TEST(Conv2d, ComputesPointwiseWithCostlyActivations) {
    if (cpu_isa() >= Isa::avx512) GTEST_SKIP() << "the library computes them on this machine";
    const ConvCase cases[] = {
        {{1, 96, 28, 33}, {24, 96, 1, 1}, {.activation = Activation::silu}},
        {{1, 13, 61, 59}, {19, 13, 1, 1}, {.activation = Activation::gelu}},
        {{1, 700, 9, 11}, {40, 700, 1, 1}, {.activation = Activation::tanh}},
        {{1, 24, 56, 56}, {144, 24, 1, 1}, {.activation = Activation::sigmoid}},
    };
    for (auto& c : cases) expect_computes("pointwise", c, channel_blocks());
}

// Fewer channels of y than of x, so many of x that strips have few pixels.
TEST(Conv2d, ComputesPointwiseToFewerChannels) {
    if (cpu_isa() < Isa::avx2 || cpu_isa() >= Isa::avx512)
        GTEST_SKIP() << "the library is as fast on this machine";
    const ConvCase cases[] = {
        {{1, 960, 7, 7}, {160, 960, 1, 1}, {}},
        {{1, 1411, 8, 8}, {20, 1411, 1, 1}, {.activation = Activation::relu}},
        {{1, 115, 4, 16}, {59, 115, 1, 1}, {.activation = Activation::relu6}},
        {{1, 9, 5, 11}, {7, 9, 1, 1}, {.activation = Activation::hswish}},
    };
    for (auto& c : cases) expect_computes("pointwise", c, channel_blocks());
}

// Sums in one piece and in several, windows partly and wholly beside the image, one pixel of it each.
TEST(Conv2d, ComputesStridedWindows) {
    if (cpu_isa() >= Isa::avx512) GTEST_SKIP() << "not measured on this machine";
    const ConvCase cases[] = {
        {{1, 64, 14, 14},
         {72, 64, 3, 3},
         {.stride = {2, 2}, .padding = {1, 1}, .activation = Activation::relu}},
        {{1, 320, 13, 15},
         {64, 320, 3, 3},
         {.stride = {2, 2}, .padding = {1, 1}, .activation = Activation::silu}},
        {{1, 136, 15, 13}, {75, 136, 1, 1}, {.stride = {2, 2}}},
        {{1, 64, 7, 9},
         {64, 64, 2, 5},
         {.stride = {1, 3}, .padding = {2, 6}, .dilation = {2, 1}, .activation = Activation::hswish}},
    };
    for (auto& c : cases) expect_computes("gathered", c, channel_blocks());
}

// Pixels in place, and gathered in one strip and in several; two images; panels and sums with a rest;
// activations while sums are stored and before.
TEST(Conv2d, ComputesBySplitProducts) {
    if (!cpu::has_split_products()) GTEST_SKIP() << "no matrix instructions";
    const ConvCase cases[] = {
        {{1, 64, 15, 15}, {128, 64, 1, 1}, {.activation = Activation::relu}},
        {{2, 208, 9, 13}, {144, 208, 1, 1}, {.activation = Activation::silu}},
        {{1, 64, 43, 40}, {128, 64, 1, 1}, {.stride = {2, 2}, .activation = Activation::relu_keeps_nan}},
        {{1, 816, 8, 9}, {304, 816, 1, 1}, {}},
        {{2, 128, 14, 15}, {256, 128, 1, 1}, {.stride = {2, 1}, .padding = {2, 0}}},
        {{1, 128, 9, 9}, {128, 128, 1, 1}, {.stride = {2, 2}, .padding = {4, 4}}},
    };
    for (auto& c : cases) expect_computes("split", c, channel_blocks());
}

// They would take memory for at least a line of y.
TEST(Conv2d, GathersNoLongLinesForSplitProducts) {
    if (!cpu::has_split_products()) GTEST_SKIP() << "no matrix instructions";
    const Layout blocks = Layout::named(channel_blocks());
    for (int64_t width : {4'000, 200'000}) {
        ops::Conv2d::Params params{.stride = {2, 2}};
        const TensorSpec specs[]{{DType::f32, {1, 512, 1, width}, blocks}, {DType::f32, {64, 512, 1, 1}, {}}};
        const TensorSpec out{DType::f32, {1, 64, 1, width / 2}, blocks};
        const Problem problem{ops::Conv2d::name, &params, ops::Conv2d::info.fields, specs, {&out, 1}, 2};
        const auto list = list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem);
        const bool is_offered =
            std::ranges::any_of(list, [](auto& n) { return n.candidate.name == "split"; });
        EXPECT_EQ(is_offered, width == 4'000) << width;
    }
}

// Gathered windows replace oneDNN's scalar loops if it has no generated kernels: few channels, few and many
// pixels, several strips.
TEST(Conv2d, GathersAllWindowsWithoutAFastLibrary) {
    if (cpu_isa() >= Isa::sse4) GTEST_SKIP() << "oneDNN is faster on this machine";
    const ConvCase cases[] = {
        {{1, 16, 20, 19}, {16, 16, 3, 3}, {.padding = {1, 1}, .activation = Activation::relu}},
        {{1, 8, 33, 31}, {12, 8, 5, 5}, {.stride = {2, 2}, .padding = {2, 2}}},
        {{1, 24, 3, 2}, {40, 24, 2, 2}, {.activation = Activation::hswish}},
        {{1, 32, 3, 3}, {8, 32, 1, 1}, {.stride = {2, 2}}},
        {{1, 64, 40, 37},
         {16, 64, 3, 3},
         {.stride = {2, 2}, .padding = {1, 1}, .activation = Activation::silu}},
    };
    for (auto& c : cases) expect_computes("gathered", c, channel_blocks());
}

// The first convolution of a network: a plain image of few channels becomes one in blocks.
TEST(Conv2d, GathersPlainWindowsWithoutAFastLibrary) {
    if (cpu_isa() >= Isa::sse4) GTEST_SKIP() << "oneDNN is faster on this machine";
    const ConvCase cases[] = {
        {{1, 3, 31, 33},
         {24, 3, 3, 3},
         {.stride = {2, 2}, .padding = {1, 1}, .activation = Activation::relu6}},
        {{1, 3, 23, 22},
         {17, 3, 7, 7},
         {.stride = {2, 2}, .padding = {3, 3}, .activation = Activation::silu}},
        {{1, 1, 6, 5}, {8, 1, 2, 5}, {.padding = {4, 1}, .dilation = {3, 1}}},
        {{1, 7, 4, 9}, {9, 7, 1, 1}, {.activation = Activation::hswish}},
        {{1, 3, 61, 150}, {16, 3, 7, 7}, {.padding = {3, 3}, .activation = Activation::silu}},
    };
    for (auto& c : cases) expect_computes("gathered", c, channel_blocks(), 2, "nchw");
}

// Rows that fill vectors and rows that do not, rows by themselves and together; blocks of channels in pairs,
// one that is left, one that is not full; images that have to be copied and such that do not.
TEST(Conv2d, ComputesSmallImages) {
    const ConvCase cases[] = {
        {{1, 1, 28, 28}, {6, 1, 5, 5}, {.padding = {2, 2}, .activation = Activation::relu}},
        {{1, 6, 14, 14}, {16, 6, 5, 5}, {.activation = Activation::relu}},
        {{1, 2, 9, 23}, {7, 2, 3, 3}, {.padding = {1, 1}, .activation = Activation::silu}},
        {{1, 1, 5, 37}, {13, 1, 1, 7}, {.padding = {0, 3}}},
        {{3, 2, 6, 17}, {40, 2, 2, 3}, {.padding = {2, 0}, .dilation = {2, 3}}},
        {{1, 3, 7, 5}, {19, 3, 3, 3}, {.padding = {1, 1}, .activation = Activation::relu}},
        {{2, 4, 8, 64}, {5, 4, 1, 1}, {}},
    };
    for (auto& c : cases)
        for (std::string_view algorithm : {"small", "small_channels"}) expect_computes(algorithm, c, "nchw");
}

// Rows of one tile and of several, borders on every side, images smaller than a window, channels that fill no
// block.
TEST(Conv2d, ComputesDepthwise) {
    if (cpu_isa() >= Isa::avx512 && cpu_isa() != Isa::avx512_bf16)
        GTEST_SKIP() << "not measured on this machine";
    const ConvCase cases[] = {
        {{1, 32, 14, 14}, {32, 1, 1, 3, 3}, {.padding = {1, 1}, .groups = 32}},
        // Planes in strips, with fewer planes than threads, too.
        {{1, 40, 57, 20}, {40, 1, 1, 3, 3}, {.padding = {1, 1}, .groups = 40}},
        {{1, 5, 41, 6}, {5, 1, 1, 5, 5}, {.stride = {2, 2}, .padding = {2, 2}, .groups = 5}},
        {{3, 24, 30, 8}, {24, 1, 1, 3, 3}, {.padding = {1, 1}, .groups = 24}},
        {{2, 11, 7, 19}, {11, 1, 1, 3, 3}, {.padding = {1, 1}, .groups = 11, .activation = Activation::relu}},
        {{1, 24, 15, 17},
         {24, 1, 1, 3, 3},
         {.stride = {2, 2}, .padding = {1, 1}, .groups = 24, .activation = Activation::relu6}},
        {{1, 40, 7, 7},
         {40, 1, 1, 5, 5},
         {.padding = {2, 2}, .groups = 40, .activation = Activation::hswish}},
        {{3, 9, 12, 33},
         {9, 1, 1, 5, 5},
         {.stride = {2, 2}, .padding = {2, 2}, .groups = 9, .activation = Activation::silu}},
        {{1, 16, 2, 1},
         {16, 1, 1, 5, 5},
         {.padding = {4, 3}, .groups = 16, .activation = Activation::sigmoid}},
        {{1, 16, 9, 10}, {16, 1, 1, 3, 3}, {.padding = {0, 2}, .groups = 16, .activation = Activation::gelu}},
        {{1, 3, 5, 5},
         {3, 1, 1, 3, 3},
         {.stride = {2, 2}, .padding = {2, 0}, .groups = 3, .activation = Activation::tanh}},
    };
    for (auto& c : cases) expect_computes("depthwise", c, channel_blocks());
}

// The bound under which the strict tier may use them: relative to the root mean square of the result.
TEST(Conv2d, WinogradKeepsStrictPrecision) {
    constexpr double strict_rms_error = 2e-6;
    ops::Conv2d::Params params{.padding = {1, 1}};
    Tensor x = random_tensor({1, 256, 14, 14}), weight = random_tensor({32, 256, 3, 3});
    std::vector<double> expected;  // from the reference, which is the last for plain images
    std::set<std::string> checked;
    for (std::string name : {"nchw", "nhwc"}) {
        Layout layout = Layout::named(name);
        Tensors inputs{reordered(x, layout), weight};
        TensorSpec specs[] = {inputs[0].spec(), weight.spec()}, out{DType::f32, {1, 32, 14, 14}, layout};
        Problem problem{ops::Conv2d::name, &params, ops::Conv2d::info.fields, specs, {&out, 1}, 2};
        auto list = list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem);
        if (expected.empty()) expected = values_of(run_candidate(list.back(), problem, inputs)[0]);
        for (auto& named : list) {
            if (named.candidate.name.find("wino") == std::string::npos) continue;
            auto got = values_of(reordered(run_candidate(named, problem, inputs)[0], {}));
            double error = 0, size = 0;
            for (size_t i = 0; i < got.size(); ++i) {
                error += (got[i] - expected[i]) * (got[i] - expected[i]);
                size += expected[i] * expected[i];
            }
            EXPECT_LT(std::sqrt(error / size), strict_rms_error) << named.candidate.name;
            RecordProperty(named.candidate.name, text(std::sqrt(error / size)));
            checked.insert(named.candidate.name);
        }
    }
    EXPECT_EQ(checked.count("winograd"), 1);
    // oneDNN 3 has none of its own.
    EXPECT_EQ(checked.size() > 1, cpu_isa() >= Isa::avx512 && dnnl_version()->major == 2);
}

// Every algorithm, prepared and run before the fork.
void expect_child_runs_prepared_kernels(DType dtype, const Layout& layout, bool is_weight_constant) {
    ops::Conv2d::Params params{.padding = {1, 1}};
    Tensor x = edge_copy(reordered(random_tensor({1, 32, 28, 28}, dtype), layout));
    Tensor weight = edge_copy(random_tensor({32, 32, 3, 3}, dtype));
    TensorSpec specs[] = {x.spec(), weight.spec()}, out = x.spec();
    Problem problem{ops::Conv2d::name, &params, ops::Conv2d::info.fields, specs, {&out, 1}};
    problem.threads = 2;
    problem.constant_inputs = is_weight_constant ? 2 : 0;
    auto list = list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem);
    std::erase_if(list, [](auto& named) { return named.candidate.attributes.naive; });
    ASSERT_FALSE(list.empty());
    const void* in[] = {x.data(), weight.data()};
    const void* constants[] = {nullptr, is_weight_constant ? weight.data() : nullptr};
    for (auto& named : list) {
        Prepared prepared = named.algorithm->prepare({problem, named.candidate, constants});
        StorageRef workspace = edge_workspace(prepared.workspace());
        Tensor y = edge_tensor(out), again = edge_tensor(out);
        void* first[] = {y.data()};
        named.algorithm->run(prepared, {in, first, workspace->data, 2});
        pid_t child = fork();
        if (child == 0) {
            alarm(child_seconds);
            void* second[] = {again.data()};
            named.algorithm->run(prepared, {in, second, workspace->data, 2});
            _exit(std::memcmp(y.data(), again.data(), out.bytes()) ? 1 : 0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0) << dtype << ' ' << named.candidate.name;
    }
}

TEST(Conv2d, ForkedChildRunsPreparedKernels) {
    expect_child_runs_prepared_kernels(DType::f32, {}, false);
    expect_child_runs_prepared_kernels(DType::bf16, Layout::named("nhwc"), true);
}

}  // namespace
}  // namespace mge::test
