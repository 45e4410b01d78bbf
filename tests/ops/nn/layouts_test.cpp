// SPDX-License-Identifier: Apache-2.0
// Requests of compiled programs only: operands in other layouts than the plain one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "libmge/kernel/cpu/product/bf16_tiles.h"
#include "tests/ops/nn/images.h"

namespace mge::test {
namespace {

TEST(Reorder, RoundTripsLikeTheReference) {
    for (Shape shape : {Shape{1, 1, 1, 1}, Shape{2, 3, 4, 5}, Shape{1, 16, 3, 3}, Shape{2, 33, 2, 7}})
        for (auto& from : layout_names)
            for (auto& to : layout_names) {
                Tensor plain = random_tensor(shape);
                Tensor x = reordered(plain, Layout::named(from));
                Tensor y = reordered(x, Layout::named(to)), expected = reordered(x, Layout::named(to), true);
                std::string what = text(shape, ' ', from, " to ", to);
                EXPECT_EQ(std::memcmp(y.data(), expected.data(), y.spec().bytes()), 0) << what;
                Tensor back = reordered(y, {});
                EXPECT_EQ(std::memcmp(back.data(), plain.data(), plain.spec().bytes()), 0) << what;
            }
}

TEST(Reorder, RefusesUnknownLayoutsAndOtherRanks) {
    EXPECT_THROW(ops::reorder(random_tensor({1, 2, 3, 4}), {.layout = "xyz"}), UserError);
    EXPECT_THROW(ops::reorder(random_tensor({2, 3}), {.layout = "nhwc"}), UserError);
}

const ConvCase conv_cases[] = {
    {{1, 3, 9, 9}, {24, 3, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}}},
    {{1, 32, 8, 8}, {48, 32, 3, 3}, {.padding = {1, 1}}},
    {{1, 32, 14, 14}, {32, 32, 3, 3}, {.padding = {1, 1}}},
    {{2, 20, 6, 5}, {18, 20, 1, 1}, {}},
    {{1, 32, 7, 7}, {32, 1, 1, 3, 3}, {.padding = {1, 1}, .groups = 32}},
};

// Every candidate for these layouts, with and without constant weights, with bias, residual and relu.
int check_conv(const ConvCase& c, const Layout& from, const Layout& to, DType dtype = DType::f32) {
    auto params = c.params;
    params.activation = Activation::relu;
    Tensor x = random_tensor(c.x, dtype), weight = random_tensor(c.weight, dtype);
    TensorSpec plain[] = {x.spec(), weight.spec()};
    Shape shape = ops::Conv2d::infer(c.params, plain).at(0).shape;
    Tensor bias = random_tensor({1, shape[1], 1, 1}, dtype), residual = random_tensor(shape, dtype);
    Tensor expected = ops::conv2d(x, weight, bias, residual, params);
    Tensors inputs{reordered(x, from), weight, bias, reordered(residual, to)};
    TensorSpecs specs;
    for (auto& t : inputs) specs.push_back(t.spec());
    TensorSpec out{dtype, shape, to};
    int checked = 0;
    for (uint32_t constant : {0u, 2u | 4u}) {
        Problem problem{ops::Conv2d::name, &params, ops::Conv2d::info.fields, specs, {&out, 1}, constant};
        problem.threads = 2;
        for (auto& named : list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem)) {
            Tensor y = reordered(run_candidate(named, problem, inputs)[0], {});
            expect_close(y, expected, c.weight.numel() / c.weight[0], 4,
                         text(c.x, c.weight, ' ', from, " to ", to, ": ", named.candidate.name));
            checked += !named.candidate.attributes.naive;
        }
    }
    return checked;
}

TEST(Conv2d, ComputesInEveryLayout) {
    for (auto& c : conv_cases)
        for (auto& from : layout_names)
            for (auto& to : layout_names) {
                // Mixed ones on the first three; each costs an enumeration of all kernels.
                if (from != to && &c > &conv_cases[2]) continue;
                int checked = check_conv(c, Layout::named(from), Layout::named(to));
                if (from == "nchw" && to == "nchw") {
                    EXPECT_GT(checked, 0) << c.x << ' ' << from;
                }
            }
}

// With weights widened and packed ahead, and from and to every layout a network may be laid out in.
TEST(Conv2d, ComputesHalvesInEveryLayout) {
    for (DType dtype : {DType::f16, DType::bf16})
        for (auto& c : conv_cases)
            for (auto& name : layout_names) {
                Layout layout = Layout::named(name);
                int checked = check_conv(c, layout, layout, dtype);
                if (name == "nchw") {
                    EXPECT_GT(checked, 0) << c.x << ' ' << dtype;
                }
            }
}

// Transposed, with a packed weight, for disjoint and overlapping windows.
TEST(Conv2dBackwardData, ComputesInEveryLayout) {
    const ConvCase cases[] = {
        {{1, 32, 5, 13}, {32, 16, 2, 2}, {.stride = {2, 2}}},
        {{2, 20, 3, 31}, {20, 18, 3, 1}, {.stride = {3, 1}}},
        {{1, 48, 4, 4}, {48, 32, 1, 4}, {.stride = {1, 4}}},
        {{1, 16, 6, 6}, {16, 16, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}}},
    };
    for (auto& c : cases)
        for (auto& from : layout_names)
            for (auto& to : layout_names) {
                ops::Conv2dBackwardData::Params params{.stride = c.params.stride,
                                                       .padding = c.params.padding};
                Tensor dy = random_tensor(c.x), weight = random_tensor(c.weight);
                Tensor expected = ops::conv2d_backward_data(weight, dy, params);
                Tensors inputs{weight, reordered(dy, Layout::named(from))};
                TensorSpec specs[] = {inputs[0].spec(), inputs[1].spec()};
                TensorSpec out{DType::f32, expected.shape(), Layout::named(to)};
                Problem problem{ops::Conv2dBackwardData::name,
                                &params,
                                ops::Conv2dBackwardData::info.fields,
                                specs,
                                {&out, 1},
                                1u};
                problem.threads = 2;
                bool is_own = false;
                for (auto& named : list_candidates(
                         find_kernels(ops::Conv2dBackwardData::info, default_device()), problem)) {
                    Tensor y = reordered(run_candidate(named, problem, inputs)[0], {});
                    expect_close(y, expected, c.weight.numel() / c.weight[1], 4,
                                 text(c.x, c.weight, ' ', from, " to ", to, ": ", named.candidate.name));
                    is_own = is_own || named.candidate.name == "apart_windows";
                }
                bool fills_vectors = to == "nChw16c" || (to == "nhwc" && c.weight[1] % 16 == 0);
                if (fills_vectors && c.params.padding == ops::Pair{0, 0}) {
                    EXPECT_TRUE(is_own) << c.x << ' ' << from << " to " << to;
                }
            }
}

// Squeeze and excitation: with each activation, channels that fill no block, and padding left at zero.
TEST(Conv2d, ComputesOnePixelInEveryLayout) {
    for (Activation activation : {Activation::none, Activation::silu, Activation::sigmoid})
        for (Shape weight_shape : {Shape{18, 20, 1, 1}, Shape{136, 33, 1, 1}})
            for (auto& name : layout_names) {
                Layout layout = Layout::named(name);
                ops::Conv2d::Params params{.activation = activation};
                Tensor x = random_tensor({1, weight_shape[1], 1, 1}), weight = random_tensor(weight_shape);
                Tensor bias = random_tensor({1, weight_shape[0], 1, 1}),
                       residual = random_tensor(bias.shape());
                Tensor expected = ops::conv2d(x, weight, bias, residual, params);
                Tensors inputs{reordered(x, layout), weight, bias, reordered(residual, layout)};
                TensorSpecs specs;
                for (auto& t : inputs) specs.push_back(t.spec());
                TensorSpec out{DType::f32, expected.shape(), layout};
                Problem problem{ops::Conv2d::name, &params, ops::Conv2d::info.fields, specs, {&out, 1}, 2};
                auto list = list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem);
                ASSERT_EQ(list.at(0).candidate.name, "one_pixel");
                Tensor y = run_candidate(list[0], problem, inputs)[0];
                expect_close(reordered(y, {}), expected, weight_shape[1], 1, text(weight_shape, ' ', name));
                Tensor again = reordered(reordered(y, {}), layout);
                EXPECT_EQ(std::memcmp(again.data(), y.data(), y.spec().bytes()), 0) << name;
            }
}

// The window of the only result is beside the only pixel.
TEST(Conv2d, LeavesOutAPixelBesideTheWindow) {
    ops::Conv2d::Params params{.stride = {1, 3}, .padding = {0, 1}};
    Tensor bias = random_tensor({1, 18, 1, 1});
    Tensors inputs{random_tensor({1, 20, 1, 1}), random_tensor({18, 20, 1, 1}), bias};
    TensorSpecs specs;
    for (auto& t : inputs) specs.push_back(t.spec());
    TensorSpec out{DType::f32, bias.shape()};
    Problem problem{ops::Conv2d::name, &params, ops::Conv2d::info.fields, specs, {&out, 1}, 2};
    for (auto& named : list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem))
        expect_close(run_candidate(named, problem, inputs)[0], bias, 1, 1, named.candidate.name);
}

const ConvCase tiled_cases[] = {
    {{2, 16, 37, 41}, {16, 16, 3, 3}, {.padding = {1, 1}}},
    {{1, 16, 3, 301}, {32, 16, 1, 1}, {}},
    {{1, 3, 63, 65}, {16, 3, 5, 5}, {.stride = {2, 3}, .padding = {2, 4}}},
    {{1, 16, 40, 40}, {24, 16, 3, 3}, {.padding = {2, 3}, .dilation = {2, 3}}},
    {{3, 32, 33, 20}, {32, 1, 1, 3, 3}, {.padding = {1, 1}, .groups = 32}},
    {{3, 72, 33, 37}, {150, 72, 3, 3}, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}}},
    {{1, 136, 29, 31}, {136, 136, 1, 1}, {}},
};

// In place of its residual and not, with tiles that reach back over each other. Weights of `packed_halves`
// stay halves: several blocks of a sum, parts with rows of two images, channels that do not fill a block.
TEST(Conv2d, ComputesHalvesInTiles) {
    for (auto& c : tiled_cases)
        for (auto& name : layout_names) {
            Layout layout = Layout::named(name);
            auto params = c.params;
            params.activation = Activation::relu;
            Tensor x = random_tensor(c.x, DType::f16), weight = random_tensor(c.weight, DType::f16);
            TensorSpec plain[] = {x.spec(), weight.spec()};
            Shape shape = ops::Conv2d::infer(c.params, plain).at(0).shape;
            Tensor bias = random_tensor({1, shape[1], 1, 1}, DType::f16);
            Tensor residual = random_tensor(shape, DType::f16);
            Tensor expected = ops::conv2d(x, weight, bias, residual, params);
            Tensors inputs{reordered(x, layout), weight, bias, reordered(residual, layout)};
            TensorSpecs specs;
            for (auto& t : inputs) specs.push_back(t.spec());
            TensorSpec out{DType::f16, shape, layout};
            Problem problem{ops::Conv2d::name, &params, ops::Conv2d::info.fields, specs, {&out, 1}, 2 | 4};
            problem.threads = 2;
            const void* constants[] = {nullptr, weight.data(), bias.data(), nullptr};
            int tiled = 0, packed = 0;
            for (auto& named : list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem)) {
                const bool is_packed = named.candidate.name == "packed_halves";
                if (!is_packed && !named.candidate.name.starts_with("f32_tiles:")) continue;
                std::string what = text(c.x, c.weight, ' ', name, ": ", named.candidate.name);
                ++(is_packed ? packed : tiled);
                Tensor y = run_candidate(named, problem, inputs)[0];
                expect_close(reordered(y, {}), expected, c.weight.numel() / c.weight[0], 4, what);
                Prepared prepared = named.algorithm->prepare({problem, named.candidate, constants});
                EXPECT_LT(prepared.workspace(), inputs[0].spec().bytes() + out.bytes()) << what;
                if (is_packed) {
                    const int64_t columns = (c.weight[0] + 31) / 32 * 32;
                    EXPECT_EQ(prepared.packed().pieces.at(0).bytes,
                              size_t(columns * (c.weight.numel() / c.weight[0])) * 2);
                    Tensor again = reordered(reordered(y, {}), layout);
                    EXPECT_EQ(std::memcmp(again.data(), y.data(), y.spec().bytes()), 0) << what;
                }
                constexpr InPlace over_residual{.output = 0, .input = 3};
                Tensor both = run_candidate(named, problem, inputs, &over_residual)[0];
                EXPECT_EQ(std::memcmp(both.data(), y.data(), y.spec().bytes()), 0) << what;
            }
            bool fills_blocks = name == channel_blocks() && c.x[1] % 16 == 0;
            if (name == "nchw" || name == "nhwc" || fills_blocks) {
                EXPECT_GT(tiled, 0) << c.x << ' ' << name;
            }
            const bool has_packed = name == channel_blocks() && c.weight.numel() > 1 << 14;
            EXPECT_EQ(packed, has_packed && cpu_isa() != Isa::sse4) << c.x << ' ' << name;
        }
}

TEST(Conv2d, UsesNativeBFloat16IfAvailable) {
    ops::Conv2d::Params params{.padding = {1, 1}};
    TensorSpec specs[] = {{DType::bf16, {1, 32, 14, 14}, {}}, {DType::bf16, {32, 32, 3, 3}, {}}};
    TensorSpec out = specs[0];
    Problem problem{ops::Conv2d::name, &params, ops::Conv2d::info.fields, specs, {&out, 1}};
    auto list = list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem);
    ASSERT_FALSE(list.empty());
    EXPECT_EQ(list[0].candidate.name.starts_with(cpu::has_bf16_tiles() ? "nhwc:amx_tiles" : "onednn:"),
              cpu_isa() >= Isa::avx512_bf16)
        << list[0].candidate.name;
}

// Every candidate of an operator on its first `images` inputs laid out so, beside its reference on plain
// ones.
template <class Op>
void check_images(const typename Op::Params& params, const Tensors& inputs, const Layout& layout,
                  int64_t reduction, int& checked, size_t images = 1) {
    TensorSpecs plain, specs;
    Tensors laid_out = inputs;
    for (size_t i = 0; i < images; ++i) laid_out[i] = reordered(inputs[i], layout);
    for (auto& t : inputs) plain.push_back(t.spec());
    for (auto& t : laid_out) specs.push_back(t.spec());
    TensorSpecs expected_specs = Op::infer(params, plain), outputs = expected_specs;
    outputs[0].layout = layout;
    Problem reference{Op::name, &params, Op::info.fields, plain, expected_specs};
    Problem problem{Op::name, &params, Op::info.fields, specs, outputs};
    problem.threads = 2;
    auto& kernels = Op::info;
    auto all = list_candidates(find_kernels(kernels, default_device()), reference);
    Tensors expected = run_candidate(all.back(), reference, inputs);
    for (auto& named : list_candidates(find_kernels(kernels, default_device()), problem)) {
        Tensors got = run_candidate(named, problem, laid_out);
        got[0] = reordered(got[0], {});
        for (size_t i = 0; i < got.size(); ++i)
            expect_close(got[i], expected[i], reduction, 1,
                         text(Op::name, ' ', inputs[0].spec(), ' ', layout, ": ", named.candidate.name,
                              ", output ", i));
        checked += !named.candidate.attributes.naive;
    }
}

TEST(Pool2d, EveryCandidateComputesInEveryLayout) {
    for (DType dtype : float_types)
        for (Shape shape : {Shape{2, 32, 9, 7}, Shape{1, 19, 6, 6}})
            for (auto& name : layout_names) {
                Layout layout = Layout::named(name);
                Tensor x = random_tensor(shape, dtype);
                int checked = 0;
                for (ops::Pair padding : {ops::Pair{0, 0}, ops::Pair{1, 1}}) {
                    check_images<ops::MaxPool2d>({{3, 3}, {2, 2}, padding}, {x}, layout, 1, checked);
                    for (bool count_include_pad : {false, true})
                        check_images<ops::AvgPool2d>({{3, 2}, {2, 1}, padding, count_include_pad}, {x},
                                                     layout, 6, checked);
                }
                check_images<ops::AdaptiveAvgPool2d>({.height = 1, .width = 1}, {x}, layout, 63, checked);
                check_images<ops::AdaptiveMaxPool2d>({.height = 2, .width = 3}, {x}, layout, 1, checked);
                EXPECT_GE(checked, 8) << name << ' ' << dtype;
            }
}

// Planes that are cut into pieces: more rows than pieces, as many, fewer; one channel, several and whole
// vectors.
TEST(Pool2d, GlobalMeansInPieces) {
    for (Shape shape :
         {Shape{2, 33, 23, 23}, Shape{1, 64, 16, 17}, Shape{3, 1000, 5, 4}, Shape{1, 1, 130, 129}}) {
        Tensor x = ops::abs(random_tensor(shape));  // a lone mean that is about zero has no digits
        int checked = 0, reduction = int(shape[2] * shape[3]);
        Layout layout = Layout::named("nhwc");
        check_images<ops::AdaptiveAvgPool2d>({.height = 1, .width = 1}, {x}, layout, reduction, checked);
        ops::Pair whole{shape[2], shape[3]};
        check_images<ops::AvgPool2d>({.kernel = whole, .stride = whole}, {x}, layout, reduction, checked);
        EXPECT_GE(checked, 4) << shape;
    }
}

TEST(PoolBackward, EveryCandidateComputesInEveryLayout) {
    for (DType dtype : float_types)
        for (Shape shape : {Shape{2, 32, 9, 7}, Shape{1, 19, 6, 6}})
            for (auto& name : layout_names) {
                Layout layout = Layout::named(name);
                Tensor x = random_tensor(shape, dtype);
                int checked = 0;
                for (ops::Pair padding : {ops::Pair{0, 0}, ops::Pair{1, 1}}) {
                    Tensor y = ops::max_pool2d(x, {{3, 3}, {2, 2}, padding});
                    Tensor dy = random_tensor(y.shape(), dtype);
                    check_images<ops::MaxPool2dBackward>({{3, 3}, {2, 2}, padding}, {x, y, dy}, layout, 9,
                                                         checked, 3);
                    for (bool count_include_pad : {false, true}) {
                        y = ops::avg_pool2d(x, {{3, 2}, {2, 1}, padding, count_include_pad});
                        check_images<ops::AvgPool2dBackward>({{3, 2}, {2, 1}, padding, count_include_pad},
                                                             {x, random_tensor(y.shape(), dtype)}, layout, 6,
                                                             checked, 2);
                    }
                }
                EXPECT_GE(checked, dtype == DType::f32 || name == "nchw" ? 4 : 0) << name << ' ' << dtype;
            }
}

TEST(BatchNorm, EveryCandidateComputesInEveryLayout) {
    for (DType dtype : float_types)
        for (Shape shape : {Shape{2, 32, 9, 7}, Shape{3, 19, 4, 5}})
            for (bool training : {true, false})
                for (auto& name : layout_names) {
                    Tensor x = random_tensor(shape, dtype), factor = random_tensor({shape[1]});
                    Tensor variance = ops::add(ops::mul(factor, factor), tensor_of<float>({1}, {1}));
                    int checked = 0;
                    check_images<ops::BatchNorm>({.training = training, .epsilon = 1e-2},
                                                 {x, factor, factor, factor, variance}, Layout::named(name),
                                                 4096, checked);
                    if (name == "nchw") {
                        EXPECT_GT(checked, 0) << dtype;
                    }
                }
}

TEST(BatchNormBackward, EveryCandidateComputesInEveryLayout) {
    for (DType dtype : float_types)
        for (Shape shape : {Shape{2, 32, 9, 7}, Shape{3, 19, 4, 5}, Shape{1, 16, 37, 31}})
            for (bool training : {true, false})
                for (auto& name : layout_names) {
                    Tensor x = random_tensor(shape, dtype), dy = random_tensor(shape, dtype);
                    Tensor factor = random_tensor({shape[1]});
                    Tensor inv_std = ops::add(ops::mul(factor, factor), tensor_of<float>({1}, {0.5}));
                    int checked = 0;
                    check_images<ops::BatchNormBackward>({.training = training},
                                                         {x, dy, factor, factor, inv_std},
                                                         Layout::named(name), 4096, checked, 2);
                    bool has_whole_blocks = name == "nchw" || name == "nhwc" || shape[1] % 16 == 0;
                    EXPECT_EQ(checked > 0, has_whole_blocks) << name << ' ' << dtype << ' ' << shape;
                }
}

TEST(Conv2d, HasKernelsForChannelBlocks) {
    Layout blocks = Layout::named(channel_blocks());
    EXPECT_GT(check_conv(conv_cases[0], {}, blocks), 0);
    // Below AVX2, oneDNN leaves channels that fill no block to its gemm, which reads plain images.
    for (int i : {1, 2, 3, 4})
        if (cpu_isa() >= Isa::avx2 || conv_cases[i].x[1] % 8 == 0) {
            EXPECT_GT(check_conv(conv_cases[i], blocks, blocks), 0) << i;
        }
}

// A measurement beside other work may take one of them for the fastest.
TEST(Conv2d, OffersNoKernelForAnOlderInstructionSet) {
    ops::Conv2d::Params params{.padding = {1, 1}, .groups = 32};
    Layout blocks = Layout::named(channel_blocks());
    TensorSpec specs[] = {{DType::f32, {1, 32, 14, 14}, blocks}, {DType::f32, {32, 1, 1, 3, 3}, {}}};
    TensorSpec out = specs[0];
    Problem problem{ops::Conv2d::name, &params, ops::Conv2d::info.fields, specs, {&out, 1}, 2};
    auto list = list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem);
    auto has = [&](std::string_view part) {
        return std::ranges::any_of(
            list, [&](auto& n) { return n.candidate.name.find(part) != n.candidate.name.npos; });
    };
    EXPECT_EQ(has("sse41"), cpu_isa() >= Isa::sse4 && cpu_isa() < Isa::avx2);
    EXPECT_EQ(has("avx2"), cpu_isa() >= Isa::avx2 && cpu_isa() < Isa::avx512);
}

}  // namespace
}  // namespace mge::test
