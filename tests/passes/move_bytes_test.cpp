// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "libmge/ops/quantize/quantize.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

Tensor number(double value) { return scalar_tensor(value, DType::f32); }
Tensor zero(int value) { return scalar_tensor(value, DType::i32); }
Tensor real(const Tensor& steps, double scale = 0.05) {
    return ops::dequantize(steps, number(scale), zero(3));
}
Tensor steps(const Tensor& x) { return ops::quantize(x, number(0.02), zero(7), {.dtype = DType::u8}); }
Tensor turned(const Tensor& x) { return ops::transpose(x, {.pattern = {1, 0}}); }
Tensor as_row(const Tensor& x) { return ops::reshape(x, {.shape = {1, 20}}); }
const TensorSpecs bytes{{DType::u8, {4, 5}, {}}};

TEST(MoveBytes, MovesQuantisedValues) {
    expect_rewrite(
        move_bytes, bytes, [](const Tensors& x) { return Tensors{as_row(turned(real(x[0])))}; },
        [](const Tensors& x) { return Tensors{real(as_row(turned(x[0])))}; });
    // A scale of other rank than the bytes come to have.
    expect_rewrite(
        move_bytes, bytes,
        [](const Tensors& x) {
            Tensor y = ops::dequantize(x[0], constant({1, 1}, {2}),
                                       tensor_from_host({DType::i32, {1, 1}, {}}, std::vector{3}.data()));
            return Tensors{ops::reshape(y, {.shape = {20}})};
        },
        [](const Tensors& x) {
            return Tensors{ops::dequantize(ops::reshape(x[0], {.shape = {20}}), number(2), zero(3))};
        });
    expect_rewrite(
        move_bytes, bytes,
        [](const Tensors& x) {
            return Tensors(ops::split({real(x[0])}, {.axis = 1, .sizes = {2, 3}}));
        },
        [](const Tensors& x) {
            auto parts = ops::split({x[0]}, {.axis = 1, .sizes = {2, 3}});
            return Tensors{real(parts[0]), real(parts[1])};
        });
}

TEST(MoveBytes, MergesStepsOfOneScale) {
    TensorSpecs two{bytes[0], bytes[0]};
    Body before = [](const Tensors& x) {
        return Tensors{ops::concat({real(x[0]), real(x[1])}, {.axis = 1})};
    };
    expect_rewrite(move_bytes, two, before, [](const Tensors& x) {
        return Tensors{real(ops::concat({x[0], x[1]}, {.axis = 1}))};
    });
    Body other = [](const Tensors& x) {
        return Tensors{ops::concat({real(x[0]), real(x[1], 0.1)}, {.axis = 1})};
    };
    expect_rewrite(move_bytes, two, other, other);
}

TEST(MoveBytes, QuantisesBeforeMoves) {
    expect_rewrite(
        move_bytes, {f32({4, 5}), f32({4, 5})},
        [](const Tensors& x) {
            return Tensors{steps(as_row(turned(x[0]))), steps(ops::concat({x[0], x[1]}, {.axis = 0}))};
        },
        [](const Tensors& x) {
            return Tensors{as_row(turned(steps(x[0]))), ops::concat({steps(x[0]), steps(x[1])}, {.axis = 0})};
        });
}

TEST(MoveBytes, PoolsBytes) {
    TensorSpecs images{{DType::i8, {2, 3, 6, 7}, {}}};
    auto pooled = [](const Tensor& x) {
        return ops::max_pool2d(x, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
    };
    expect_rewrite(
        move_bytes, images, [&](const Tensors& x) { return Tensors{pooled(real(x[0]))}; },
        [&](const Tensors& x) { return Tensors{real(pooled(x[0]))}; });
    // The order of the numbers is not that of the bytes, or not known.
    Body body = [&](const Tensors& x) { return Tensors{pooled(real(x[0], -0.05))}; };
    expect_rewrite(move_bytes, images, body, body);
    body = [&](const Tensors& x) { return Tensors{pooled(ops::dequantize(x[0], x[1]))}; };
    expect_rewrite(move_bytes, {images[0], f32({1})}, body, body);
    // Fewer numbers are quantised behind the pooling.
    body = [&](const Tensors& x) { return Tensors{steps(pooled(x[0]))}; };
    expect_rewrite(move_bytes, {f32({2, 3, 6, 7})}, body, body);
}

TEST(MoveBytes, KeepsSharedAndGrowingValues) {
    Body body = [](const Tensors& x) {
        Tensor y = real(x[0]);
        return Tensors{turned(y), ops::relu(y)};
    };
    expect_rewrite(move_bytes, bytes, body, body);
    body = [](const Tensors& x) { return Tensors{ops::broadcast_to(real(x[0]), {.shape = {3, 4, 5}})}; };
    expect_rewrite(move_bytes, bytes, body, body);
    body = [](const Tensors& x) { return Tensors{steps(ops::slice({x[0]}, {.items = {0, 0, 2, 1, 0}}))}; };
    expect_rewrite(move_bytes, {f32({4, 5})}, body, body);
    body = [](const Tensors& x) { return Tensors{turned(ops::dequantize(x[0], constant({5}, {1, 2})))}; };
    expect_rewrite(move_bytes, bytes, body, body);
    body = [](const Tensors& x) {
        Tensor y = turned(x[0]);
        return Tensors{steps(y), y};
    };
    expect_rewrite(move_bytes, {f32({4, 5})}, body, body);
}

}  // namespace
}  // namespace mge::test
