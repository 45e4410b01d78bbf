// SPDX-License-Identifier: Apache-2.0
// fuse_channel_moves and order_channels: one after the other they make of a shuffle a few copies.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>

#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/shape/layout/take_channels.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

Tensor ramp(const Shape& shape) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int(i * 7 % 23) - 11);
    return constant(shape, values);
}

Tensor conv(const Tensor& x, int64_t channels) {
    return ops::conv2d(x, ramp({channels, x.shape()[1], 1, 1}));
}

Tensor interleaved(const Tensor& a, const Tensor& b) {
    return ops::flatten(
        ops::concat({ops::add_axis(a, {.axes = {2}}), ops::add_axis(b, {.axes = {2}})}, {.axis = 2}),
        {.start = 1, .end = 2});
}

Tensors halves_of(const Tensor& x) {
    int64_t half = x.shape()[1] / 2;
    return ops::split(x, {.axis = 1, .sizes = {half, half}});
}

TEST(FuseChannelMoves, MakesAShuffleAndItsHalvesOneStepEach) {
    expect_rewrite(
        fuse_channel_moves, {f32({2, 3, 5, 4})},
        [](const Tensors& x) {
            Tensor a = conv(x[0], 4), b = conv(x[0], 4);
            Tensors halves = halves_of(interleaved(a, b));
            return Tensors{halves[0], conv(halves[1], 5)};
        },
        [](const Tensors& x) {
            Tensor a = conv(x[0], 4), b = conv(x[0], 4);
            Tensor y = conv(ops::take_channels({a, b}, {.channels = {2, 6, 3, 7}}), 5);
            return Tensors{ops::take_channels({a, b}, {.channels = {0, 4, 1, 5}}), y};
        });
}

Tensor channels_from(const Tensor& x, int64_t first, int64_t end, int64_t step) {
    return ops::slice({x}, {.items = {1, first, end, step, 0}});
}

TEST(FuseChannelMoves, FollowsSlicesOfChannels) {
    expect_rewrite(
        fuse_channel_moves, {f32({2, 3, 5, 4})},
        [](const Tensors& x) {
            Tensor a = conv(x[0], 4), b = conv(x[0], 4), y = interleaved(a, b);
            Tensor z = conv(channels_from(y, 4, 8, 1), 5);
            return Tensors{z, channels_from(y, 6, 0, -2)};
        },
        [](const Tensors& x) {
            Tensor a = conv(x[0], 4), b = conv(x[0], 4);
            Tensor y = conv(ops::take_channels({a, b}, {.channels = {2, 6, 3, 7}}), 5);
            return Tensors{y, ops::take_channels({a}, {.channels = {3, 2, 1}})};
        });
}

TEST(FuseChannelMoves, FollowsTranspositionsAndPixelsInARow) {
    expect_rewrite(
        fuse_channel_moves, {f32({2, 3, 5, 4})},
        [](const Tensors& x) {
            Tensor y = ops::reshape(conv(x[0], 6), {.shape = {2, 2, 3, 20}});
            y = ops::transpose(y, {.pattern = {0, 2, 1, 3}});
            return Tensors{ops::reshape(y, {.shape = {2, 6, 5, 4}})};
        },
        [](const Tensors& x) {
            return Tensors{ops::take_channels({conv(x[0], 6)}, {.channels = {0, 3, 1, 4, 2, 5}})};
        });
}

// Values that are only moved are read where they were computed.
TEST(FuseChannelMoves, ReachesBackThroughSeveralShuffles) {
    expect_rewrite(
        fuse_channel_moves, {f32({1, 3, 4, 4})},
        [](const Tensors& x) {
            Tensor a = conv(x[0], 4), b = conv(x[0], 4);
            Tensors first = halves_of(interleaved(a, b));
            return Tensors{interleaved(first[0], conv(first[1], 4))};
        },
        [](const Tensors& x) {
            Tensor a = conv(x[0], 4), b = conv(x[0], 4);
            Tensor c = conv(ops::take_channels({a, b}, {.channels = {2, 6, 3, 7}}), 4);
            return Tensors{ops::take_channels({a, c, b}, {.channels = {0, 4, 8, 5, 1, 6, 9, 7}})};
        });
}

// Each shuffle reads two halves of the one before: there are 2^60 paths, and 300 nodes.
TEST(FuseChannelMoves, FollowsManyShufflesInARow) {
    constexpr int shuffles = 60;
    Graph graph = record({f32({1, 3, 4, 4})}, [](const Tensors& x) {
        Tensor y = conv(x[0], 8);
        for (int i = 0; i < shuffles; ++i) {
            Tensors halves = halves_of(y);
            y = interleaved(halves[0], halves[1]);
        }
        return Tensors{y};
    });
    Graph got = fuse_channel_moves(graph, {});
    ASSERT_EQ(got.nodes().size(), 2u) << to_text(got);
    // Three shuffles of eight channels give their first order.
    IntList channels{0, 1, 2, 3, 4, 5, 6, 7};
    EXPECT_EQ(got.nodes()[1].as<ops::TakeChannels::Params>().channels, channels);
}

TEST(FuseChannelMoves, KeepsOtherMoves) {
    auto stays = [](const TensorSpec& x, const Body& body) {
        expect_rewrite(fuse_channel_moves, {x}, body, body);
    };
    stays(f32({2, 3, 5, 4}), [](const Tensors& x) {  // joins and cuts of images
        Tensors halves = halves_of(ops::concat({conv(x[0], 4), conv(x[0], 2)}, {.axis = 1}));
        return Tensors{conv(halves[1], 2), halves[0]};
    });
    stays(f32({2, 3, 5, 4}), [](const Tensors& x) {  // rows change places with columns
        return Tensors{ops::transpose(conv(x[0], 4), {.pattern = {0, 1, 3, 2}})};
    });
    stays(f32({1, 8, 2, 2}), [](const Tensors& x) {  // channels become pixels
        Tensor y = ops::reshape(conv(x[0], 8), {.shape = {1, 2, 2, 2, 2, 2}});
        return Tensors{
            ops::reshape(ops::transpose(y, {.pattern = {0, 1, 4, 2, 5, 3}}), {.shape = {1, 2, 4, 4}})};
    });
    stays(f32({2, 4, 3, 3}), [](const Tensors& x) {  // a slice of channels, and such of pixels
        Tensor y = conv(x[0], 4);
        Tensor rows = ops::slice({y}, {.items = {2, 0, 2, 1, 0}});
        Tensor mirrored = ops::slice({y}, {.items = {3, 2, INT64_MIN, -1, 0}});
        Tensor plane = ops::slice({y}, {.items = {1, 2, 0, 1, 1}});
        return Tensors{rows, mirrored, plane, channels_from(y, 1, 3, 1)};
    });
    stays(f32({2, 4, 3, 3}), [](const Tensors& x) {  // images change places with channels
        return Tensors{ops::transpose(conv(x[0], 2), {.pattern = {1, 0, 2, 3}})};
    });
    stays(f32({1, 3, 8, 8}), [](const Tensors& x) {  // pixels of two images in one row
        Tensor p = conv(x[0], 4), q = ops::conv2d(p, ramp({4, 4, 1, 1}), {}, {}, {.stride = {2, 2}});
        Tensor rows =
            ops::concat({ops::flatten(p, {.start = 2}), ops::flatten(q, {.start = 2})}, {.axis = 2});
        return Tensors{ops::transpose(rows, {.pattern = {0, 2, 1}})};
    });
    stays(f32({1, 3, 4, 4}), [](const Tensors& x) {  // one image above the other
        Tensor y = ops::concat({conv(x[0], 4), conv(x[0], 4)}, {.axis = 2});
        return Tensors{ops::transpose(y, {.pattern = {0, 2, 1, 3}})};
    });
    stays(f32({1, 3, 2, 6}), [](const Tensors& x) {  // as many pixels in images of other sizes
        Tensor p = conv(x[0], 4), q = conv(ops::reshape(x[0], {.shape = {1, 3, 3, 4}}), 4);
        p = ops::reshape(p, {.shape = {1, 4, 12}});
        q = ops::reshape(q, {.shape = {1, 4, 12}});
        return Tensors{ops::reshape(ops::concat({p, q}, {.axis = 1}), {.shape = {1, 8, 2, 6}})};
    });
    stays(f32({2, 4, 3, 3}), [](const Tensors& x) {  // nothing but a view of other axes
        return Tensors{ops::reshape(conv(x[0], 4), {.shape = {2, 2, 2, 9}})};
    });
}

TEST(FuseChannelMoves, NeedsKnownShapes) {
    auto body = [](const Tensors& x) { return Tensors{interleaved(conv(x[0], 4), conv(x[0], 4))}; };
    Graph graph = record({f32({1, 3, 4, 4})}, body);
    expect_same(fuse_channel_moves(graph, {.fixed_shapes = false}), graph);
}

TEST(OrderChannels, PermutesWeightsOfReaders) {
    expect_rewrite(
        order_channels, {f32({1, 4, 3, 3}), f32({1, 4, 3, 3})},
        [](const Tensors& x) {
            Tensor y = ops::take_channels({x[0], x[1]}, {.channels = {2, 6, 3, 7}});
            return Tensors{ops::conv2d(y, constant({2, 4, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7}))};
        },
        [](const Tensors& x) {
            Tensor y = ops::take_channels({x[0], x[1]}, {.channels = {2, 3, 6, 7}, .order = {0, 2, 1, 3}});
            return Tensors{ops::conv2d(y, constant({2, 4, 1, 1}, {0, 2, 1, 3, 4, 6, 5, 7}))};
        });
}

TEST(OrderChannels, FollowsDepthwiseConvolutions) {
    expect_rewrite(
        order_channels, {f32({1, 4, 3, 3})},
        [](const Tensors& x) {
            Tensor y = ops::take_channels({x[0]}, {.channels = {3, 0, 1}});
            y = ops::conv2d(y, constant({3, 1, 1, 1, 2}, {0, 1, 2, 3, 4, 5}),
                            constant({1, 3, 1, 1}, {7, 8, 9}), Tensor(), {.groups = 3});
            return Tensors{ops::conv2d(y, constant({1, 3, 1, 1}, {10, 11, 12}))};
        },
        [](const Tensors& x) {
            Tensor y = ops::take_channels({x[0]}, {.channels = {0, 1, 3}, .order = {1, 2, 0}});
            y = ops::conv2d(y, constant({3, 1, 1, 1, 2}, {2, 3, 4, 5, 0, 1}),
                            constant({1, 3, 1, 1}, {8, 9, 7}), Tensor(), {.groups = 3});
            return Tensors{ops::conv2d(y, constant({1, 3, 1, 1}, {11, 12, 10}))};
        });
}

TEST(OrderChannels, KeepsVisibleOrder) {
    auto stays = [](const Body& body) { expect_rewrite(order_channels, {f32({1, 4, 3, 3})}, body, body); };
    auto taken = [](const Tensors& x) { return ops::take_channels({x[0]}, {.channels = {3, 0}}); };
    stays([&](const Tensors& x) {
        Tensor y = taken(x);
        return Tensors{conv(y, 2), y};
    });
    stays([&](const Tensors& x) { return Tensors{conv(ops::relu(taken(x)), 2)}; });
    stays([&](const Tensors& x) {  // as a residual, too
        Tensor y = taken(x);
        return Tensors{ops::conv2d(y, ramp({2, 2, 1, 1}), Tensor(), y)};
    });
    stays([&](const Tensors& x) {  // behind a depthwise convolution
        return Tensors{ops::conv2d(taken(x), ramp({2, 1, 1, 3, 3}), {.groups = 2})};
    });
    stays([&](const Tensors& x) {  // weights that are computed
        return Tensors{ops::conv2d(taken(x), ops::add(ramp({2, 2, 1, 1}), ops::mean(x[0])))};
    });
}

// Nets of shuffles whose numbers are whole and small, so that every order of summation gives the same.
class ShuffledNet {
public:
    ShuffledNet(const Tensors& inputs, uint32_t seed) : random_(seed), pool_{layer(inputs[0])} {}

    Tensors run() {
        for (int i = 0; i < 12; ++i)
            for (auto& y : step(pool_[random_() % pool_.size()])) pool_.push_back(y);
        return {layer(pool_.back()), pool_[pool_.size() / 2]};
    }

private:
    // Four, eight or twelve channels of numbers below 8.
    Tensor layer(const Tensor& x) {
        Tensor y = conv(bounded(x), int64_t(random_() % 3 + 1) * 4);
        if (random_() % 2)
            y = ops::conv2d(bounded(y), ramp({y.shape()[1], 1, 1, 3, 3}),
                            {.padding = {1, 1}, .groups = y.shape()[1]});
        return bounded(y);
    }
    static Tensor bounded(const Tensor& x) { return ops::clip(x, {.lower = -8, .upper = 8}); }

    Tensors step(const Tensor& x) {
        auto& s = x.shape();
        int64_t n = s[0], c = s[1], h = s[2], w = s[3];
        if (c % 4 != 0 || c > 48) return {layer(x)};
        int64_t groups = random_() % 2 ? 2 : c / 2;
        bool flat = random_() % 2;
        IntList counted{n, groups, c / groups, h, w};
        if (flat) counted = {n, groups, c / groups, h * w};
        switch (random_() % 5) {
            case 0: {
                Tensor y = ops::reshape(x, {.shape = counted});
                y = ops::transpose(y, {.pattern = flat ? IntList{0, 2, 1, 3} : IntList{0, 2, 1, 3, 4}});
                return {ops::reshape(y, {.shape = {n, c, h, w}})};
            }
            case 1:
                return halves_of(x);
            case 2:
                return {interleaved(x, bounded(ops::neg(x)))};
            case 3: {  // cut while counted twice
                Tensor y = ops::reshape(x, {.shape = counted});
                Tensor first = ops::split(y, {.axis = 2, .sizes = {1, c / groups - 1}})[0];
                return {ops::concat({x, ops::reshape(first, {.shape = {n, groups, h, w}})}, {.axis = 1})};
            }
            default:
                return {layer(x)};
        }
    }

    std::mt19937 random_;
    Tensors pool_;
};

TEST(ChannelMoves, ComputeTheSameInEveryLayout) {
    for (uint32_t seed = 0; seed < 40; ++seed) {
        Shape shape{int64_t(seed % 3) + 1, 3, int64_t(seed % 4) + 1, 5};
        Graph graph = record({f32(shape)}, [&](const Tensors& x) { return ShuffledNet(x, seed).run(); });
        CompileOptions apart;
        apart.passes = {{"fuse_channel_moves", false}, {"order_channels", false}};
        apart.layout = "nchw";
        Tensors x{ramp(shape)}, expected = Executable(graph, apart).run(x);
        for (const char* layout : {"nchw", "nhwc", "nChw16c"}) {
            CompileOptions options;
            options.layout = layout;
            options.verify_passes = true;
            Tensors got = Executable(graph, options).run(x);
            for (size_t i = 0; i < got.size(); ++i) {
                ASSERT_EQ(got[i].spec(), expected[i].spec());
                EXPECT_EQ(std::memcmp(got[i].data(), expected[i].data(), got[i].spec().bytes()), 0)
                    << "seed " << seed << ", " << layout << ", output " << i;
            }
        }
    }
}

}  // namespace
}  // namespace mge::test
