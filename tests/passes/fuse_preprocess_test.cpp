// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>
#include <vector>

#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/vision/preprocess.h"
#include "libmge/ops/vision/remap.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

const std::vector<float> mean{123.675f, 116.28f, 103.53f}, deviation{58.395f, 57.12f, 57.375f};

TensorSpec camera(int64_t n = 2) { return {DType::u8, {n, 6, 5, 3}, {}}; }
Tensor to_float(const Tensor& x) { return ops::convert(x, {.dtype = DType::f32}); }
Tensor to_planes(const Tensor& x) { return ops::transpose(x, {.pattern = {0, 3, 1, 2}}); }
Tensor with_fourth_plane(const Tensor& x, double value = 0) {
    return ops::pad(x, {.before = {0, 0, 0, 0}, .after = {0, 1, 0, 0}, .value = value});
}
std::vector<float> inverse(const std::vector<float>& values) {
    std::vector<float> result;
    for (float v : values) result.push_back(float(1 / double(v)));
    return result;
}
std::vector<float> extended(std::vector<float> values, float last) {
    values.push_back(last);
    return values;
}
// The result of the passes for a network's first steps; the ReLU represents the network.
void expect_fused(const TensorSpec& input, const Body& before, const Body& after) {
    expect_rewrite(
        fuse_preprocess, {input}, [&](const Tensors& x) { return Tensors{ops::relu(before(x)[0])}; },
        [&](const Tensors& x) { return Tensors{ops::relu(after(x)[0])}; });
}
size_t count(const Graph& graph, std::string_view op) {
    size_t n = 0;
    for (auto& node : graph.nodes()) n += node.op->name == op;
    return n;
}

TEST(FusePreprocess, FusesTheWholeChain) {
    expect_fused(
        camera(),
        [](const Tensors& x) {
            Tensor y =
                to_planes(ops::div(ops::sub(to_float(x[0]), constant({3}, mean)), constant({3}, deviation)));
            return Tensors{with_fourth_plane(y)};
        },
        [](const Tensors& x) {
            return Tensors{ops::preprocess(x[0], constant({4}, extended(mean, 0)),
                                           constant({4}, extended(inverse(deviation), 1)))};
        });
}

TEST(FusePreprocess, FusesOtherOrders) {
    // Moved and padded as bytes, then 0.5 · (7 − x); the padding goes through the arithmetic: 0.5 · (7 − 0).
    expect_fused(
        camera(),
        [](const Tensors& x) {
            Tensor y = to_float(with_fourth_plane(to_planes(x[0])));
            return Tensors{ops::mul(constant({1}, {0.5f}), ops::sub(constant({1}, {7}), y))};
        },
        [](const Tensors& x) {
            return Tensors{ops::preprocess(x[0], constant({4}, {7, 7, 7, -3.5f}),
                                           constant({4}, {-0.5f, -0.5f, -0.5f, 1}))};
        });
    // Planes from the start, float, padded by a concatenation.
    expect_fused(
        f32({2, 3, 4, 5}),
        [](const Tensors& x) {
            return Tensors{ops::concat(
                {ops::add(x[0], constant({3, 1, 1}, {1, 2, 4})), constant({2, 1, 4, 5}, {9})}, {.axis = -3})};
        },
        [](const Tensors& x) {
            return Tensors{ops::preprocess(x[0], constant({4}, {-1, -2, -4, -9}), constant({4}, {1}),
                                           {.channels_last = false})};
        });
}

void expect_kept(const TensorSpec& input, const Body& body) {
    Graph graph = fuse_preprocess(record({input}, body), {});
    EXPECT_EQ(count(graph, "preprocess"), 0u) << to_text(graph);
}

TEST(FusePreprocess, KeepsOtherOperators) {
    // Each row and each column of its own, another permutation, a factor 0, arithmetic on bytes.
    expect_kept(camera(), [](const Tensors& x) {
        return Tensors{to_planes(ops::sub(to_float(x[0]), constant({5, 1}, {1, 2, 3, 4, 5})))};
    });
    expect_kept(camera(), [](const Tensors& x) {
        return Tensors{ops::transpose(to_float(x[0]), {.pattern = {0, 3, 2, 1}})};
    });
    expect_kept(camera(), [](const Tensors& x) {
        return Tensors{to_planes(ops::mul(to_float(x[0]), constant({3}, {1, 0, 1})))};
    });
    expect_kept(camera(), [](const Tensors& x) {
        Tensor one = ops::convert(constant({1}, {1}), {.dtype = DType::u8});
        return Tensors{to_planes(to_float(ops::sub(x[0], one)))};
    });
    // Rows are padded; one transpose alone is as good as it is.
    expect_kept(camera(), [](const Tensors& x) {
        return Tensors{to_planes(ops::pad(to_float(x[0]), {.before = {0, 1, 0, 0}, .after = {0, 0, 0, 1}}))};
    });
    expect_kept(f32({2, 4, 5, 3}), [](const Tensors& x) { return Tensors{to_planes(x[0])}; });
}

// As one preprocess it would have an infinite mean, or a scale of zero.
TEST(FusePreprocess, StopsBeforeNumbersBeyondF32) {
    auto scaled = [](std::vector<float> factors, float summand) {
        return [=](const Tensors& x) {
            Tensor y = to_planes(to_float(x[0]));
            for (float factor : factors) y = ops::mul(y, constant({1}, {factor}));
            return Tensors{ops::add(y, constant({1}, {summand}))};
        };
    };
    for (auto& [factors, summand] :
         {std::pair(std::vector{1e-30f}, 1e10f), std::pair(std::vector{1e-25f, 1e-25f}, 1.f)}) {
        Graph graph = record({camera()}, scaled(factors, summand));
        Tensor x = tensor_from_host(camera(), std::vector<uint8_t>(2 * 6 * 5 * 3, 7).data());
        Tensor y = Executable(graph, {}).run({&x, 1})[0];
        EXPECT_EQ(*y.data<float>(), summand);
    }
}

TEST(FusePreprocess, FollowsAWarpedImage) {
    auto warped = [](const Tensor& x) {
        return ops::remap(to_planes(x), ops::full({.shape = {2, 4, 4, 2}, .value = 1.5}));
    };
    expect_rewrite(
        fuse_preprocess, {camera()},
        [&](const Tensors& x) {
            Tensor y = ops::sub(to_float(warped(x[0])), constant({3, 1, 1}, mean));
            return Tensors{ops::relu(with_fourth_plane(y))};
        },
        [&](const Tensors& x) {
            return Tensors{ops::relu(ops::preprocess(warped(x[0]), constant({4}, extended(mean, 0)),
                                                     constant({4}, {1}), {.channels_last = false}))};
        });
}

TEST(FusePreprocess, StopsAtSharedValues) {
    Graph graph =
        fuse_preprocess(record({camera()},
                               [](const Tensors& x) {
                                   Tensor y = to_planes(to_float(x[0]));
                                   return Tensors{ops::sub(y, constant({3, 1, 1}, mean)), ops::neg(y)};
                               }),
                        {});
    EXPECT_EQ(count(graph, "preprocess"), 1u);
    EXPECT_EQ(count(graph, "sub"), 1u);
    Graph kept = fuse_preprocess(record({camera()},
                                        [](const Tensors& x) {
                                            Tensor y = to_float(x[0]);
                                            return Tensors{to_planes(y), y};
                                        }),
                                 {});
    EXPECT_EQ(count(kept, "preprocess"), 0u);
}

// uint8 NHWC → f32 NCHW with 4 channels → conv.
Graph network(bool subtracts_last) {
    return record({camera(3)}, [&](const Tensors& x) {
        Tensor y = to_float(x[0]);
        if (!subtracts_last) y = ops::div(ops::sub(y, constant({3}, mean)), constant({3}, deviation));
        y = to_planes(y);
        if (subtracts_last)
            y = ops::sub(ops::mul(y, constant({1}, {1 / 255.f})),
                         constant({3, 1, 1}, {0.485f, 0.456f, 0.406f}));
        return Tensors{
            ops::conv2d(with_fourth_plane(y), constant({8, 4, 3, 3}, {0.3f, -0.2f, 0.1f, 0.5f, -0.4f}))};
    });
}

TEST(FusePreprocess, HasThreeStates) {
    std::vector<uint8_t> pixels(3 * 6 * 5 * 3);
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = uint8_t(i * 37);
    Tensor x = tensor_from_host(camera(3), pixels.data());
    for (bool subtracts_last : {false, true}) {
        Graph graph = network(subtracts_last);
        CompileOptions on, off, unset;
        on.switches.fuse_preprocess = true;
        off.switches.fuse_preprocess = false;
        for (auto* o : {&on, &off, &unset}) o->layout = "nchw";
        auto steps = [&](const CompileOptions& o) {
            auto program = Program::compile(graph, o);
            size_t before = 0;
            while (program->steps()[before].op != "conv2d") ++before;
            return before;
        };
        EXPECT_EQ(steps(on), 1u);
        EXPECT_GE(steps(off), 3u);
        EXPECT_EQ(steps(unset), 1u) << "spares a transpose and a padding";
        on.level = unset.level = 0;
        EXPECT_EQ(steps(on), 1u) << "also at level 0";
        EXPECT_GE(steps(unset), 3u);
        EXPECT_GE(Program::compile(graph, on)->steps()[0].sources.size(), 5u);
        Tensor a = Executable(graph, on).run({&x, 1})[0], b = Executable(graph, off).run({&x, 1})[0];
        for (int64_t i = 0; i < a.spec().numel(); ++i)
            ASSERT_NEAR(a.data<float>()[i], b.data<float>()[i],
                        1e-6 * std::max(1.f, std::abs(b.data<float>()[i])));
    }
}

TEST(FusePreprocess, ElementwiseChainsOnRequestOnly) {
    Graph graph = record({{DType::u8, {1, 3, 4, 4}, {}}}, [](const Tensors& x) {
        return Tensors{ops::mul(to_float(x[0]), constant({1}, {2}))};
    });
    PassOptions options;
    EXPECT_EQ(count(run_passes(graph, options), "preprocess"), 0u);
    options.switches.fuse_preprocess = true;
    EXPECT_EQ(count(run_passes(graph, options), "preprocess"), 1u);
}

}  // namespace
}  // namespace mge::test
