// SPDX-License-Identifier: Apache-2.0
// Models stored as float16 keep their weights and values between steps so on a CPU.

#include <gtest/gtest.h>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/mge.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

Tensor weight(const Shape& shape) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int(i * 7 % 23) - 11) / 400;
    return constant(shape, values);
}

// Convolutions of 3×3 and 1×1 pixels, pooling, attention, and products with and without a bias.
Graph net() {
    return record({f32({1, 64, 32, 32})}, [](const Tensors& x) {
        Tensor y = ops::relu(ops::conv2d(x[0], weight({128, 64, 3, 3}), {.padding = {1, 1}}));
        y = ops::max_pool2d(y, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
        y = ops::relu(ops::conv2d(y, weight({256, 128, 1, 1})));
        y = ops::reshape(y, {.shape = {1, 4, 64, 256}});
        y = ops::attention(y, y, y)[0];
        y = ops::gelu(ops::add(ops::matmul(y, weight({256, 512})), weight({512})));
        return Tensors{ops::matmul(y, weight({512, 256}))};
    });
}

TEST(StoreHalf, HalvesWeightsAndPlan) {
    if (cpu_isa() == Isa::sse4) GTEST_SKIP() << "no instructions that widen f16";
    auto memory = [](bool is_half) {
        CompileOptions options;
        options.threads = 1;
        options.switches.store_half = is_half;
        return Program::compile(net(), options)->memory();
    };
    const auto wide = memory(false), half = memory(true);
    const double most = 0.55;
    EXPECT_LE(double(half.weights + half.packed_weights), most * double(wide.weights + wide.packed_weights));
    EXPECT_LE(double(half.plan), most * double(wide.plan));
}

}  // namespace
}  // namespace mge::test
