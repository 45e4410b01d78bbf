// SPDX-License-Identifier: Apache-2.0
#include "libmge/train/graph_function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/device/default_device.h"
#include "libmge/graph/builder.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/train/parameters.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"
#include "tests/shadow/shadow_device.h"

namespace mge {
namespace {

using test::error_of;
using test::tensor_of;
using test::values_of;
using testing::ElementsAre;
using testing::HasSubstr;

// x w + b, reshaped to a constant shape, times an unnamed scale.
Graph net() {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {1, 2}, {}}, "x");
    InterpreterScope scope(builder);
    Tensor w = tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 6}), b = tensor_of<float>({3}, {1, 1, 1});
    Tensor scale = tensor_of<float>({3}, {2, 2, 2}), target = tensor_of<int32_t>({2}, {3, -1});
    Tensor y = ops::mul(ops::add(ops::matmul(x, w), b), scale);
    builder.set_outputs({ops::reshape(y, target)});
    Graph graph = builder.take();
    for (size_t i = 0; i < graph.values().size(); ++i) {
        auto& value = graph.value(ValueId(i));
        if (!value.is_constant()) continue;
        if (value.constant.is_same(w)) value.name = "w";
        if (value.constant.is_same(b)) value.name = "b";
        if (value.constant.is_same(target)) value.name = "target";
    }
    return graph;
}

TEST(GraphFunction, NamedFloatsThatAGradientReachesAreWeights) {
    GraphFunction function(net(), default_device());
    ASSERT_EQ(function.weights().size(), 2U);
    EXPECT_EQ(function.weights()[0].name, "w");
    EXPECT_EQ(function.weights()[1].name, "b");
}

TEST(GraphFunction, GradientsReachTheWeights) {
    GraphFunction function(net(), default_device());
    Parameters parameters;
    for (auto& [name, value] : function.weights()) parameters.add(name, value);
    std::array<Tensor, 1> x{tensor_of<float>({2, 2}, {1, 2, 3, 4})};
    Tensor y;
    auto [loss, gradients] =
        differentiate(parameters, [&](const Parameters& p) { return y = function.call(x, p.values())[0]; });
    EXPECT_EQ(y.shape(), Shape({3, 2}));
    EXPECT_THAT(values_of(y), ElementsAre(20, 26, 32, 40, 54, 68));
    EXPECT_THAT(values_of(gradients[0]), ElementsAre(8, 8, 8, 12, 12, 12));
    EXPECT_THAT(values_of(gradients[1]), ElementsAre(4, 4, 4));
}

TEST(GraphFunction, OtherPlacesHoldAllOperands) {
    DeviceId place = test::shadow_device();
    GraphFunction function(net(), place);
    Tensors weights;
    for (auto& [name, value] : function.weights()) {
        EXPECT_EQ(value.device(), place) << name;
        weights.push_back(value);
    }
    std::array<Tensor, 1> x{to_device(tensor_of<float>({1, 2}, {1, 2}), place)};
    Tensor y = function.call(x, weights)[0];
    EXPECT_EQ(y.device(), place);
    EXPECT_THAT(values_of(to_host(y)), ElementsAre(20, 26, 32));
}

TEST(GraphFunction, WrongCountsAreRefused) {
    GraphFunction function(net(), default_device());
    std::array<Tensor, 1> x{tensor_of<float>({1, 2}, {1, 2})};
    EXPECT_THAT(error_of([&] { function.call(x, {}); }),
                HasSubstr("takes 1 input and 2 weights, got 1 and 0"));
}

}  // namespace
}  // namespace mge
