// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "libmge/mge.h"
#include "libmge/ops/quantize/compressed/compressed_matmul.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using testing::ElementsAre;

Tensor noise(const Shape& shape, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(size_t(shape.numel()));
    for (auto& v : values) v = normal(random);
    return constant(shape, values);
}

Graph compressed(const TensorSpecs& inputs, const Body& body, int bits) {
    PassOptions options;
    options.weight_bits = bits;
    Graph graph = compress_weights(record(inputs, body), options);
    verify(graph);
    return graph;
}

std::vector<std::string> names_of(const Graph& graph) {
    std::vector<std::string> names;
    for (auto& node : graph.nodes()) names.emplace_back(node.op->name);
    return names;
}

// Largest difference over the largest magnitude.
double distance(const Tensor& got, const Tensor& expected) {
    double largest = 0, difference = 0;
    for (int64_t i = 0; i < expected.spec().numel(); ++i) {
        largest = std::max(largest, double(std::abs(expected.data<float>()[i])));
        difference = std::max(difference, double(std::abs(got.data<float>()[i] - expected.data<float>()[i])));
    }
    return difference / largest;
}

size_t bytes_of_constants(const Graph& graph) {
    size_t bytes = 0;
    for (auto& value : graph.values())
        if (value.is_constant()) bytes += value.spec.bytes();
    return bytes;
}

TEST(CompressWeights, KeepsLinearLayersInBytes) {
    const Tensor w = noise({200, 130}, 1), v = noise({70, 130}, 2);
    Body net = [&](const Tensors& x) {
        Tensor hidden = ops::matmul(x[0], w, noise({130}, 3), {}, {.activation = Activation::relu});
        return Tensors{ops::matmul(hidden, v, {}, {}, {.transpose_b = true})};
    };
    const Graph before = record({f32({3, 200})}, net);
    const Tensor x = noise({3, 200}, 4), expected = Executable(before, {}).run(std::vector{x})[0];
    for (auto [bits, most_error, most_bytes] : {std::tuple(8, 0.01, 0.28), {4, 0.15, 0.2}}) {
        SCOPED_TRACE(bits);
        const Graph after = compressed({f32({3, 200})}, net, bits);
        EXPECT_THAT(names_of(after), ElementsAre("compressed_matmul", "matmul"));
        CompileOptions options;
        options.weight_bits = bits;
        const Tensor got = Executable(before, options).run(std::vector{x})[0];
        EXPECT_LT(distance(got, expected), most_error);
        EXPECT_GT(distance(got, expected), 0);
        EXPECT_LT(double(bytes_of_constants(after)),
                  most_bytes * double(w.spec().bytes()) + double(v.spec().bytes()) + 2000);
    }
}

TEST(CompressWeights, RoundsToTheNearestStep) {
    // Rows of the product's matrix along the columns of the constant; the last one has no weights but zeros.
    Tensor w = constant({128, 128}, {0});
    auto* values = const_cast<float*>(w.data<float>());
    for (int k = 0; k < 128; ++k)
        for (int n = 0; n < 127; ++n) values[k * 128 + n] = float(k - 64) * float(n + 1);
    Body product = [&](const Tensors& x) { return Tensors{ops::matmul(x[0], w)}; };
    for (int bits : {8, 4}) {
        const Graph graph = compressed({f32({1, 128})}, product, bits);
        for (int k = 0; k < 128; k += 9) {
            std::vector<float> one(128);
            one[size_t(k)] = 1;
            const Tensor y = Executable(graph, {}).run(std::vector{constant({1, 128}, one)})[0];
            for (int n = 0; n < 128; ++n) {
                // Half a step: of a 127th of 64, or of a 15th of a group's span, which reaches to zero.
                const double step = bits == 8 ? 64. / 127 : std::max({64, 63}) / 15.;
                EXPECT_LE(std::abs(y.data<float>()[n] - values[k * 128 + n]), step * (n + 1) * 0.501)
                    << k << ' ' << n;
            }
            EXPECT_EQ(y.data<float>()[127], 0);
        }
    }
}

TEST(CompressWeights, KeepsOneCopyOfASharedMatrix) {
    const Tensor w = noise({128, 128}, 1);
    const Graph graph = compressed(
        {f32({3, 128})}, [&](const Tensors& x) { return Tensors{ops::matmul(ops::matmul(x[0], w), w)}; }, 8);
    ASSERT_THAT(names_of(graph), ElementsAre("compressed_matmul", "compressed_matmul"));
    EXPECT_EQ(graph.nodes()[0].inputs[1], graph.nodes()[1].inputs[1]);
}

TEST(CompressWeights, KeepsOtherProducts) {
    const Tensor large = noise({128, 128}, 1), narrow = noise({8, 4096}, 2), stack = noise({2, 128, 128}, 3);
    Tensor infinite = noise({128, 128}, 4);
    const_cast<float*>(infinite.data<float>())[5] = std::numeric_limits<float>::infinity();
    auto same = [](const TensorSpecs& inputs, const Body& body) {
        expect_same(compressed(inputs, body, 8), record(inputs, body));
    };
    same({f32({3, 8})}, [&](const Tensors& x) { return Tensors{ops::matmul(x[0], noise({8, 8}, 5))}; });
    same({f32({3, 8})}, [&](const Tensors& x) { return Tensors{ops::matmul(x[0], narrow)}; });
    same({f32({2, 3, 128})}, [&](const Tensors& x) { return Tensors{ops::matmul(x[0], stack)}; });
    same({f32({3, 128})}, [&](const Tensors& x) { return Tensors{ops::matmul(x[0], infinite)}; });
    same({f32({128, 3})},
         [&](const Tensors& x) { return Tensors{ops::matmul(x[0], large, {}, {}, {.transpose_a = true})}; });
    same({f32({128, 3})}, [&](const Tensors& x) { return Tensors{ops::matmul(large, x[0])}; });
    // Without a request.
    Body product = [&](const Tensors& x) { return Tensors{ops::matmul(x[0], large)}; };
    expect_rewrite(compress_weights, {f32({3, 128})}, product, product);
}

}  // namespace
}  // namespace mge::test
