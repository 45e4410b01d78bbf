// SPDX-License-Identifier: Apache-2.0
// Ahead of time a graph is optimised for all shapes at which it works: what random networks compute at other
// batches and image sizes is the same before and after each pass.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "tests/harness/nightly.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

constexpr int64_t channels = 4;

Tensor random_tensor(const Shape& shape, std::mt19937& random) {
    std::vector<float> values(size_t(shape.numel()));
    for (auto& v : values) v = float(int(random() % 33) - 16) / 8;
    return tensor_from_host(f32(shape), values.data());
}

// A network of images: every step takes one of the tensors there are and adds one, of rank 4.
class RandomNet {
public:
    RandomNet(const Tensors& inputs, uint32_t seed) : random_(seed), inputs_(inputs) {
        Tensor x = inputs[0];
        // The conversion of an image, as fuse_preprocess finds it.
        if (random_() % 2) {
            x = ops::mul(ops::sub(x, weight({1, 3, 1, 1})), weight({1, 3, 1, 1}));
            if (random_() % 2)
                x = ops::transpose(ops::transpose(x, {.pattern = {0, 2, 3, 1}}), {.pattern = {0, 3, 1, 2}});
        }
        pool_ = {conv(x, 3, 3), inputs[1]};
    }
    Tensors run() {
        for (int i = 0; i < 14; ++i) pool_.push_back(step());
        Tensors outputs{pool_[pool_.size() / 2], pool_.back()};
        outputs.push_back(rows(pick()));
        return outputs;
    }

private:
    Tensor pick() { return pool_[random_() % pool_.size()]; }
    Tensor weight(const Shape& shape) { return random_tensor(shape, random_); }
    Tensor scalar(float value) { return constant({1}, {value}); }
    Tensor conv(const Tensor& x, int64_t from, int64_t size) {
        ops::Conv2d::Params how;
        how.padding = {int(size / 2), int(size / 2)};
        return ops::conv2d(x, weight({channels, from, size, size}), how);
    }
    Tensor normalised(const Tensor& x) {
        Shape one{1, channels, 1, 1};
        return ops::batch_norm(x, weight(one), weight(one), weight(one), constant(one, {1, 2, 0.5f}),
                               {.training = false})[0];
    }
    // Small, so that sums of many steps stay small.
    static Tensor bounded(const Tensor& x) { return ops::clip(x, {.lower = -2, .upper = 2}); }

    Tensor step() {
        Tensor x = bounded(pick());
        switch (random_() % 19) {
            case 0:
                return conv(x, channels, random_() % 2 ? 1 : 3);
            case 1:
                return ops::relu(normalised(conv(x, channels, 3)));
            case 2:  // a bias, one per channel or one for all
                return ops::relu(
                    ops::add(conv(x, channels, 1), weight({1, random_() % 2 ? channels : 1, 1, 1})));
            case 3:  // another tensor of whatever shape
                return ops::relu(ops::add(conv(x, channels, 1), bounded(pick())));
            case 4:
                return ops::mul(x, ops::mean(bounded(pick()), {.axes = {2, 3}, .keepdims = true}));
            case 5:
                return ops::add(x, scalar(0));
            case 6:  // as large as one image now
                return ops::mul(x, constant({1, channels, 1, 1}, {1}));
            case 7:
                return ops::div(ops::add(ops::abs(x), scalar(1)), ops::add(ops::abs(x), scalar(1)));
            case 8:
                return ops::log(ops::add(ops::exp(x), ops::exp(bounded(pick()))));
            case 9:
                return ops::transpose(ops::relu(ops::transpose(x, {.pattern = {0, 2, 3, 1}})),
                                      {.pattern = {0, 3, 1, 2}});
            case 10:  // to rows and back, by the shape that it has
                return ops::reshape(ops::flatten(x, {.start = 1}), ops::shape_of(x));
            case 11:
                return ops::add(ops::full_like(x, {.value = 0.5}), x);
            case 12:
                return ops::broadcast_like(ops::mean(x, {.axes = {0}, .keepdims = true}), x);
            case 13:
                return ops::reduce_to_shape(ops::add(x, bounded(pick())), x);
            case 14:
                return ops::neg(ops::neg(ops::sub(x, pick())));
            case 15:  // twice the same
                return ops::add(ops::relu(x), ops::relu(x));
            case 16:
                return ops::reshape_like(ops::reshape(x, {.shape = {-1}}), x);
            case 17:
                return ops::remove_axis(ops::add_axis(ops::mul(x, x), {.axes = {0}}), {.axes = {0}});
            default:
                return ops::mean(ops::mean(x, {.axes = {3}, .keepdims = true}),
                                 {.axes = {2}, .keepdims = true});
        }
    }
    // As a classifier ends: a row for each image.
    Tensor rows(const Tensor& x) {
        Tensor means = ops::mean(ops::mean(x, {.axes = {3}}), {.axes = {2}});
        return ops::add(ops::matmul(bounded(means), weight({channels, 5})), weight({5}));
    }

    std::mt19937 random_;
    Tensors inputs_, pool_;
};

Tensors net(const Tensors& inputs, uint32_t seed) { return RandomNet(inputs, seed).run(); }

// The second input may be one image for all, or one number per channel.
std::vector<std::pair<Shape, Shape>> shapes() {
    std::vector<std::pair<Shape, Shape>> result;
    for (auto [height, width] : {std::pair<int64_t, int64_t>{4, 4}, {5, 3}, {1, 1}, {8, 6}})
        for (int64_t batch : {1, 2, 3, 7}) {
            Shape x{batch, 3, height, width};
            for (auto& other : {Shape{batch, channels, height, width}, Shape{1, channels, height, width},
                                Shape{batch, channels, 1, 1}})
                result.emplace_back(x, other);
        }
    return result;
}

// Nullopt where the graph does not work.
std::optional<Tensors> outputs_of(const Graph& graph, const Tensors& inputs) {
    CompileOptions options;
    options.level = 0;
    try {
        return Executable(graph, options).run(inputs);
    } catch (const UserError&) {
        return std::nullopt;
    }
}

void expect_near(const Tensors& got, const Tensors& expected, double tolerance) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].spec(), expected[i].spec()) << "output " << i;
        for (int64_t k = 0; k < got[i].spec().numel(); ++k) {
            double a = got[i].data<float>()[k], b = expected[i].data<float>()[k];
            ASSERT_NEAR(a, b, tolerance * std::max(1.0, std::abs(b))) << "output " << i << " element " << k;
        }
    }
}

PassOptions only(std::string_view wanted) {
    PassOptions options{.fixed_shapes = false, .verify = true};
    for (auto& pass : pipeline()) options.passes[std::string(pass.name)] = pass.name == wanted;
    return options;
}

PassOptions everything() {
    PassOptions options{.fixed_shapes = false, .verify = true};
    options.passes["choose_layout"] = false;  // made where the model runs
    return options;
}

std::vector<std::string> pass_names() {
    std::vector<std::string> names{"all"};
    for (auto& pass : pipeline())
        if (pass.name != "choose_layout") names.emplace_back(pass.name);
    return names;
}

class AnyShape : public testing::TestWithParam<std::string> {};

TEST_P(AnyShape, BeforeIsAfter) {
    bool all = GetParam() == "all";
    double tolerance = GetParam() == "store_as_bf16" ? 0.2 : GetParam() == "store_as_f16" ? 0.05 : 1e-3;
    auto tried = shapes();
    uint32_t nets = is_nightly() ? 1000 : 16, compared = 0;
    for (uint32_t seed = 0; seed < nets; ++seed) {
        std::mt19937 random(seed);
        auto [a, b] = tried[random() % tried.size()];
        SCOPED_TRACE(testing::Message() << "seed " << seed << ", made with " << text(a, " and ", b));
        Graph before = record({f32(a), f32(b)}, [&](const Tensors& x) { return net(x, seed); });
        Graph after = run_passes(before, all ? everything() : only(GetParam()));
        for (size_t i = seed % 3; i < tried.size(); i += 3) {
            auto& [x, other] = tried[i];
            SCOPED_TRACE(testing::Message() << "run with " << text(x, " and ", other));
            Tensors inputs{random_tensor(x, random), random_tensor(other, random)};
            auto expected = outputs_of(before, inputs);
            if (!expected) continue;
            auto got = outputs_of(after, inputs);
            ASSERT_TRUE(got) << "it works no more";
            ASSERT_NO_FATAL_FAILURE(expect_near(*got, *expected, tolerance)) << to_text(after);
            ++compared;
        }
    }
    EXPECT_GT(compared, 8 * nets) << "most shapes have to be such at which the nets work";
}
INSTANTIATE_TEST_SUITE_P(Passes, AnyShape, testing::ValuesIn(pass_names()),
                         [](auto& info) { return info.param; });

TEST(AnyShapes, FlattenStays) {
    Graph graph = record({f32({8, 4, 2, 2})}, [](const Tensors& x) {
        return Tensors{ops::matmul(ops::flatten(ops::relu(x[0]), {.start = 1}), constant({16, 3}, {1, -1}))};
    });
    Graph after = run_passes(graph, everything());
    for (int64_t batch : {1, 8, 360}) EXPECT_NO_THROW(infer_shapes(after, {f32({batch, 4, 2, 2})})) << batch;
    EXPECT_THROW(infer_shapes(run_passes(graph, {}), {f32({3, 4, 2, 2})}), UserError)
        << "compiled, it is for the shapes that it was compiled for";
}

TEST(AnyShapes, ValuesDerivedFromShapesAreNotFolded) {
    Body body = [](const Tensors& x) { return Tensors{ops::reshape(x[1], ops::shape_of(x[0]))}; };
    PassOptions options{.fixed_shapes = false};
    Graph after = fold_constants(record({f32({2, 3}), f32({3, 2})}, body), options);
    EXPECT_EQ(infer_shapes(after, {f32({4, 5}), f32({20})}).value(after.outputs()[0]).spec.shape,
              (Shape{4, 5}));
}

TEST(AnyShapes, ResidualThatMayBroadcastIsNotFused) {
    auto graph = [](const Shape& other) {
        return record({f32({1, 2, 4, 4}), f32(other)}, [](const Tensors& x) {
            return Tensors{ops::add(ops::conv2d(x[0], constant({2, 2, 1, 1}, {1, 2})), x[1])};
        });
    };
    PassOptions any{.fixed_shapes = false};
    EXPECT_EQ(fuse_residual(graph({1, 2, 4, 4}), any).nodes().size(), 2u);
    EXPECT_EQ(fuse_residual(graph({1, 2, 4, 4}), {}).nodes().size(), 1u) << "for these shapes";
    Graph own = record({f32({1, 2, 4, 4})}, [](const Tensors& x) {
        return Tensors{ops::add(ops::conv2d(x[0], constant({2, 2, 1, 1}, {1, 2})), x[0])};
    });
    EXPECT_EQ(fuse_residual(own, any).nodes().size(), 1u) << "always of the same shape";
}

TEST(AnyShapes, ResidualLargerAtLargeShapesIsNotFused) {
    Graph graph = record({f32({1, 2, 4, 4})}, [](const Tensors& x) {
        Tensor row = ops::mean(x[0], {.axes = {2}, .keepdims = true});
        Tensor sparse = ops::slice(x[0], {.items = {2, INT64_MIN, INT64_MIN, 1000, 0}});
        return Tensors{ops::add(ops::conv2d(row, constant({2, 2, 1, 1}, {1, 2})), sparse)};
    });
    Graph after = fuse_residual(graph, {.fixed_shapes = false});
    EXPECT_EQ(infer_shapes(after, {f32({1, 2, 2000, 4})}).value(after.outputs()[0]).spec.shape,
              (Shape{1, 2, 2, 4}));
}

TEST(AnyShapes, EqualShapesAreProvedThroughMargins) {
    Graph graph = record({f32({1, 2, 4, 4})}, [](const Tensors& x) {
        Tensor wide = ops::pad(x[0], {.before = {0, 0, 1, 1}, .after = {0, 0, 1, 1}});
        return Tensors{ops::add(ops::conv2d(wide, constant({2, 2, 3, 3}, {1, 2})), x[0])};
    });
    EXPECT_EQ(fuse_residual(graph, {.fixed_shapes = false}).nodes().size(), 2u);
}

}  // namespace
}  // namespace mge::test
