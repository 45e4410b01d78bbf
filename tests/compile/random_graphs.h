// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random graphs of whole numbers: whatever computes them has to give the same bits.

#include <random>

#include "libmge/mge.h"

namespace mge::test {

// Small whole numbers: sums are exact, so results have to be equal to the bit.
inline Tensor random_tensor(const Shape& shape, std::mt19937& random, DeviceId device = host_device) {
    std::vector<float> values(size_t(shape.numel()));
    for (auto& v : values) v = float(int(random() % 9) - 4);
    return tensor_from_host({DType::f32, shape, {}}, values.data(), device);
}

// Keeps sums of products exact.
inline Tensor limited(const Tensor& x) { return ops::clip(x, {.lower = -4, .upper = 4}); }

// The same sequence of operators for every call with the same seed, with constants on a device.
inline Tensors random_body(const Tensors& inputs, uint32_t seed, DeviceId device = host_device) {
    std::mt19937 random(seed);
    auto constant = [&](const Shape& shape) { return random_tensor(shape, random, device); };
    Tensors pool = inputs;
    auto pick = [&] { return pool[random() % pool.size()]; };
    for (int i = 0; i < 30; ++i) {
        Tensor x = pick();
        int64_t rows = x.shape()[0], columns = x.shape()[1];
        switch (random() % 12) {
            case 0:
                pool.push_back(ops::add(x, x));
                break;
            case 1:
                pool.push_back(ops::add(x, constant({1, columns})));
                break;
            case 2:
                pool.push_back(ops::transpose(x, {.pattern = {1, 0}}));
                break;
            case 3:
                pool.push_back(ops::reshape(x, {.shape = {columns, rows}}));
                break;
            case 4: {
                Tensor y = pick();
                if (y.shape() == x.shape()) pool.push_back(ops::add(x, y));
                break;
            }
            case 5:
                if (rows * columns < 200) pool.push_back(ops::concat({x, x}, {.axis = int(random() % 2)}));
                break;
            case 6:
                if (rows > 1)
                    for (auto& part : ops::split(x, {.axis = 0, .sizes = {1, rows - 1}}))
                        pool.push_back(part);
                break;
            case 7:
                pool.push_back(ops::flip(x, {.axes = {int64_t(random() % 2)}}));
                break;
            case 8:
                pool.push_back(ops::relu(x));
                break;
            case 9:
                pool.push_back(ops::sub(ops::mul(x, constant({rows, 1})), x));
                break;
            case 10: {
                Tensor weight = constant({columns, 3}), bounded = limited(x);
                Tensor y = ops::add(ops::matmul(bounded, weight), constant({3}));
                pool.push_back(random() % 2 ? ops::relu(y) : y);
                break;
            }
            case 11: {
                Tensor y = ops::matmul(limited(x), constant({columns, columns}));
                pool.push_back(ops::add(x, y));
                break;
            }
        }
    }
    Tensors outputs;
    for (int i = 0; i < 4; ++i) outputs.push_back(pick());
    outputs.push_back(pool.back());
    return outputs;
}

}  // namespace mge::test
