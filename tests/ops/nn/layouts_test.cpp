// SPDX-License-Identifier: Apache-2.0
// What only compiled programs ask for: operands in other layouts than the plain one, weights packed ahead.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <string>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "tests/child_alarm.h"
#include "tests/harness/check_op.h"
#include "tests/harness/edge_memory.h"
#include "tests/harness/run_candidate.h"

namespace mge::test {
namespace {

Tensor random_tensor(const Shape& shape, DType dtype = DType::f32) {
    static std::mt19937 random(7);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<double> values(size_t(shape.numel()));
    for (auto& v : values) v = uniform(random);
    return make_tensor(dtype, shape, values);
}

Tensor reordered(const Tensor& x, const Layout& layout, bool by_reference = false) {
    ops::Reorder::Params params{layout.name()};
    TensorSpec from = x.spec(), to{x.dtype(), x.shape(), layout};
    Problem problem{ops::Reorder::name, &params, ops::Reorder::info.fields, {&from, 1}, {&to, 1}};
    auto candidates = list_candidates(find_kernels(ops::Reorder::info, default_device()), problem);
    return run_candidate(by_reference ? candidates.back() : candidates.front(), problem, {x})[0];
}

const std::vector<std::string> layout_names{"nchw", "nhwc", "nChw8c", "nChw16c"};

TEST(Reorder, AgreesWithTheReferenceAndComesBack) {
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

struct ConvCase {
    Shape x, weight;
    ops::Conv2d::Params params;
};

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

// Transposed, with the weight packed ahead, where windows lie side by side and where they overlap.
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

struct TiledCase {
    Shape x, weight;
    ops::Conv2d::Params params;
};
const TiledCase tiled_cases[] = {
    {{2, 16, 37, 41}, {16, 16, 3, 3}, {.padding = {1, 1}}},
    {{1, 16, 3, 301}, {32, 16, 1, 1}, {}},
    {{1, 3, 63, 65}, {16, 3, 5, 5}, {.stride = {2, 3}, .padding = {2, 4}}},
    {{1, 16, 40, 40}, {24, 16, 3, 3}, {.padding = {2, 3}, .dilation = {2, 3}}},
    {{3, 32, 33, 20}, {32, 1, 1, 3, 3}, {.padding = {1, 1}, .groups = 32}},
};

// In place of its residual and not, with tiles that reach back over each other.
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
            int tiled = 0;
            for (auto& named : list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem)) {
                if (!named.candidate.name.starts_with("f32_tiles:")) continue;
                std::string what = text(c.x, c.weight, ' ', name, ": ", named.candidate.name);
                ++tiled;
                Tensor y = run_candidate(named, problem, inputs)[0];
                expect_close(reordered(y, {}), expected, c.weight.numel() / c.weight[0], 4, what);
                Prepared prepared = named.algorithm->prepare({problem, named.candidate, constants});
                EXPECT_LT(prepared.workspace(), inputs[0].spec().bytes() + out.bytes()) << what;
                constexpr InPlace over_residual{.output = 0, .input = 3};
                Tensor both = run_candidate(named, problem, inputs, &over_residual)[0];
                EXPECT_EQ(std::memcmp(both.data(), y.data(), y.spec().bytes()), 0) << what;
            }
            if (name == "nchw" || name == "nhwc") {
                EXPECT_GT(tiled, 0) << c.x << ' ' << name;
            }
        }
}

TEST(Conv2d, HasNativeBFloat16WhereTheMachineHasIt) {
    ops::Conv2d::Params params{.padding = {1, 1}};
    TensorSpec specs[] = {{DType::bf16, {1, 32, 14, 14}, {}}, {DType::bf16, {32, 32, 3, 3}, {}}};
    TensorSpec out = specs[0];
    Problem problem{ops::Conv2d::name, &params, ops::Conv2d::info.fields, specs, {&out, 1}};
    auto list = list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem);
    ASSERT_FALSE(list.empty());
    EXPECT_EQ(list[0].candidate.name.starts_with("onednn:"), cpu_isa() >= Isa::avx512_bf16)
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
TEST(Pool2d, MeansOfWholePlanesInPieces) {
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
    Layout blocks = Layout::named(cpu_isa() >= Isa::avx512 ? "nChw16c" : "nChw8c");
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
    Layout blocks = Layout::named(cpu_isa() >= Isa::avx512 ? "nChw16c" : "nChw8c");
    TensorSpec specs[] = {{DType::f32, {1, 32, 14, 14}, blocks}, {DType::f32, {32, 1, 1, 3, 3}, {}}};
    TensorSpec out = specs[0];
    Problem problem{ops::Conv2d::name, &params, ops::Conv2d::info.fields, specs, {&out, 1}, 2};
    auto list = list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem);
    auto has = [&](std::string_view part) {
        return std::ranges::any_of(
            list, [&](auto& n) { return n.candidate.name.find(part) != n.candidate.name.npos; });
    };
    EXPECT_EQ(has("sse41"), cpu_isa() < Isa::avx2);
    EXPECT_EQ(has("avx2"), cpu_isa() >= Isa::avx2 && cpu_isa() < Isa::avx512);
}

// Of plain inputs; what an operator computes at once may be what is tested.
template <class Op>
Tensor by_reference(const typename Op::Params& params, const Tensors& inputs) {
    TensorSpecs specs;
    for (auto& t : inputs) specs.push_back(t.spec());
    TensorSpecs out = Op::infer(params, specs);
    Problem problem{Op::name, &params, Op::info.fields, specs, out};
    auto list = list_candidates(find_kernels(Op::info, default_device()), problem);
    return run_candidate(list.back(), problem, inputs)[0];
}

// One of our own algorithms, by name, on images that lie as `name` says.
void expect_computes(std::string_view algorithm, const ConvCase& c, std::string_view name,
                     uint32_t constant_inputs = 2) {
    for (int threads : {1, 2, 3}) {
        Layout layout = Layout::named(name);
        Tensor x = random_tensor(c.x), weight = random_tensor(c.weight);
        TensorSpec plain[] = {x.spec(), weight.spec()};
        Shape shape = ops::Conv2d::infer(c.params, plain).at(0).shape;
        Tensor bias = random_tensor({1, shape[1], 1, 1}), residual = random_tensor(shape);
        Tensors inputs{reordered(x, layout), weight, bias, reordered(residual, layout)};
        TensorSpecs specs;
        for (auto& t : inputs) specs.push_back(t.spec());
        TensorSpec out{DType::f32, shape, layout};
        Problem problem{ops::Conv2d::name, &c.params,      ops::Conv2d::info.fields, specs,
                        {&out, 1},         constant_inputs};
        problem.threads = threads;
        auto list = list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem);
        auto ours = std::ranges::find(list, algorithm, [](auto& n) { return n.candidate.name; });
        ASSERT_NE(ours, list.end()) << c.x << name;
        Tensor expected = by_reference<ops::Conv2d>(c.params, {x, weight, bias, residual});
        expect_close(reordered(run_candidate(*ours, problem, inputs)[0], {}), expected,
                     c.weight.numel() / c.weight[0], 4, text(c.x, c.weight, ' ', name, ' ', threads));
    }
}

std::string_view channel_blocks() { return cpu_isa() >= Isa::avx512 ? "nChw16c" : "nChw8c"; }

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
                Tensor expected = by_reference<ops::Conv2d>(params, {x, weight});
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

// Two images that lie as `name` says (or x as another name), two that stay plain: of the gradients of
// convolutions.
template <class Op>
void expect_gradient(std::string_view algorithm, const ConvCase& c, std::string_view name,
                     std::string_view name_of_x = {}) {
    constexpr bool is_of_data = std::is_same_v<Op, ops::Conv2dBackwardData>;
    Layout layout = Layout::named(name);
    typename Op::Params params{c.params.stride, c.params.padding, c.params.dilation};
    Tensor x = random_tensor(c.x), weight = random_tensor(c.weight);
    TensorSpec plain[] = {x.spec(), weight.spec()};
    Tensor dy = random_tensor(ops::Conv2d::infer(c.params, plain).at(0).shape);
    Tensors inputs = is_of_data ? Tensors{weight, dy, x} : Tensors{x, dy, weight}, laid_out = inputs;
    laid_out[1] = reordered(dy, layout);
    if (!is_of_data) laid_out[0] = reordered(x, name_of_x.empty() ? layout : Layout::named(name_of_x));
    Tensor expected = by_reference<Op>(params, inputs);
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

// Vectors of 8 and 4 floats take few channels and few tiles: a panel that is not full, one tile of an image.
TEST(Conv2d, ComputesByWinogradWhereVectorsAreShort) {
    if (cpu_isa() >= Isa::avx512) GTEST_SKIP() << "the library is faster there";
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
TEST(Conv2d, ComputesWindowsOfOnePixelOnFewPixels) {
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
TEST(Conv2d, ComputesWindowsOfOnePixelWithDearActivations) {
    if (cpu_isa() >= Isa::avx512) GTEST_SKIP() << "the library computes them there";
    const ConvCase cases[] = {
        {{1, 96, 28, 33}, {24, 96, 1, 1}, {.activation = Activation::silu}},
        {{1, 13, 61, 59}, {19, 13, 1, 1}, {.activation = Activation::gelu}},
        {{1, 700, 9, 11}, {40, 700, 1, 1}, {.activation = Activation::tanh}},
        {{1, 24, 56, 56}, {144, 24, 1, 1}, {.activation = Activation::sigmoid}},
    };
    for (auto& c : cases) expect_computes("pointwise", c, channel_blocks());
}

// Fewer channels of y than of x, so many of x that strips have few pixels.
TEST(Conv2d, ComputesWindowsOfOnePixelToFewerChannels) {
    if (cpu_isa() < Isa::avx2 || cpu_isa() >= Isa::avx512) GTEST_SKIP() << "the library is as fast there";
    const ConvCase cases[] = {
        {{1, 960, 7, 7}, {160, 960, 1, 1}, {}},
        {{1, 1411, 8, 8}, {20, 1411, 1, 1}, {.activation = Activation::relu}},
        {{1, 115, 4, 16}, {59, 115, 1, 1}, {.activation = Activation::relu6}},
        {{1, 9, 5, 11}, {7, 9, 1, 1}, {.activation = Activation::hswish}},
    };
    for (auto& c : cases) expect_computes("pointwise", c, channel_blocks());
}

// Sums in one piece and in several, windows partly and wholly beside the image, one pixel of it each.
TEST(Conv2d, ComputesWindowsThatStepOverPixels) {
    if (cpu_isa() >= Isa::avx512) GTEST_SKIP() << "not measured there";
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
TEST(Conv2d, ComputesWindowsOfEachChannel) {
    if (cpu_isa() >= Isa::avx512) GTEST_SKIP() << "not measured there";
    const ConvCase cases[] = {
        {{1, 32, 14, 14}, {32, 1, 1, 3, 3}, {.padding = {1, 1}, .groups = 32}},
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
        {{1, 8, 2, 1}, {8, 1, 1, 5, 5}, {.padding = {4, 3}, .groups = 8, .activation = Activation::sigmoid}},
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
    std::vector<double> expected;  // of the reference, which is the last for plain images
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
    EXPECT_EQ(checked.size() > 1, cpu_isa() >= Isa::avx512);
}

TEST(Conv2d, RunsInAForkedChildWhatItsParentPrepared) {
    ops::Conv2d::Params params{.padding = {1, 1}};
    Tensor x = edge_copy(random_tensor({1, 32, 28, 28}));
    Tensor weight = edge_copy(random_tensor({32, 32, 3, 3}));
    TensorSpec specs[] = {x.spec(), weight.spec()}, out = x.spec();
    Problem problem{ops::Conv2d::name, &params, ops::Conv2d::info.fields, specs, {&out, 1}};
    problem.threads = 2;
    auto list = list_candidates(find_kernels(ops::Conv2d::info, default_device()), problem);
    std::erase_if(list, [](auto& named) { return named.candidate.attributes.naive; });
    ASSERT_FALSE(list.empty());
    for (auto& named : list) {
        Prepared prepared = named.algorithm->prepare({problem, named.candidate, {}});
        StorageRef workspace = edge_workspace(prepared.workspace());
        Tensor y = edge_tensor(out), again = edge_tensor(out);
        const void* in[] = {x.data(), weight.data()};
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
        EXPECT_EQ(status, 0) << named.candidate.name;
    }
}

// Of one row (n, k).
struct RowProduct {
    int64_t n, k;
    ops::Matmul::Params params;
    Tensors inputs = {random_tensor({1, k}), random_tensor(params.transpose_b ? Shape{n, k} : Shape{k, n}),
                      random_tensor({n}), random_tensor({1, n})};
    TensorSpecs specs = {inputs[0].spec(), inputs[1].spec(), inputs[2].spec(), inputs[3].spec()};
    TensorSpec out{DType::f32, {1, n}, {}};
    Problem problem() const {
        Problem p{ops::Matmul::name, &params, ops::Matmul::info.fields, specs, {&out, 1}, 2};
        p.threads = 2;
        return p;
    }
    std::vector<NamedCandidate> candidates() const {
        return list_candidates(find_kernels(ops::Matmul::info, default_device()), problem());
    }
};

// With the matrix packed ahead: columns that fill no panel, odd depths, both ways to lie.
TEST(Matmul, ComputesARowWithAPackedMatrix) {
    for (Shape size : {Shape{17, 1}, {24, 84}, {64, 16}, {150, 37}, {1024, 256}})
        for (bool transpose_b : {false, true})
            for (Activation activation : {Activation::none, Activation::gelu}) {
                RowProduct row{size[0], size[1], {.transpose_b = transpose_b, .activation = activation}};
                auto list = row.candidates();
                ASSERT_EQ(list.at(0).candidate.name, "row");
                Tensor expected = run_candidate(list.back(), row.problem(), row.inputs)[0];
                expect_close(run_candidate(list[0], row.problem(), row.inputs)[0], expected, row.k, 1,
                             text(size));
            }
}

TEST(Matmul, PacksNoMatrixThatIsReadAsFastWhereItLies) {
    auto first = [](int64_t n, int64_t k, bool transpose_b) {
        return RowProduct{n, k, {.transpose_b = transpose_b}}.candidates().at(0).candidate.name;
    };
    EXPECT_EQ(first(16, 84, true), "small");
    EXPECT_EQ(first(784, 784, true), "small");
    EXPECT_EQ(first(784, 784, false), "row");
}

class PackedMatmul : public testing::TestWithParam<DType> {};

TEST_P(PackedMatmul, AgreesWithTheReference) {
    DType dtype = GetParam();
    Tensor a = random_tensor({40, 64}, dtype), b = random_tensor({80, 64}, dtype),
           bias = random_tensor({80}, dtype);
    ops::Matmul::Params params{.transpose_b = true, .activation = Activation::gelu};
    Tensor expected = ops::matmul(a, b, bias, {}, params);
    TensorSpec specs[] = {a.spec(), b.spec(), bias.spec()}, out = expected.spec();
    Problem problem{ops::Matmul::name, &params, ops::Matmul::info.fields, specs, {&out, 1}, 2};
    const void* constants[] = {nullptr, b.data(), nullptr};
    size_t packed = 0;
    for (auto& named : list_candidates(find_kernels(ops::Matmul::info, default_device()), problem)) {
        expect_close(run_candidate(named, problem, {a, b, bias})[0], expected, 64, 1, named.candidate.name);
        packed += named.algorithm->prepare({problem, named.candidate, constants}).packed().pieces.size();
    }
    if (cpu_isa() >= Isa::avx512) {
        EXPECT_GT(packed, 0u);
    }
}
INSTANTIATE_TEST_SUITE_P(Matmul, PackedMatmul, testing::Values(DType::f32, DType::f16, DType::bf16));

}  // namespace
}  // namespace mge::test
