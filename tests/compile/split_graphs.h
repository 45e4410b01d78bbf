// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random graphs in which values are cut into parts, written over in part and as a whole, and read again.

#include <random>

#include "libmge/mge.h"
#include "libmge/ops/index/slice/slice.h"

namespace mge::test {

// Small whole numbers: sums are exact, so results have to be equal to the bit.
inline Tensor whole_numbers(const Shape& shape, std::mt19937& random, DeviceId device = host_device) {
    std::vector<float> values(size_t(shape.numel()));
    for (auto& v : values) v = float(int(random() % 9) - 4);
    return tensor_from_host({DType::f32, shape, {}}, values.data(), device);
}

// The same sequence of operators on matrices for every call with the same seed.
class SplitGraph {
public:
    SplitGraph(const Tensors& inputs, uint32_t seed)
        : random_(seed), pool_(inputs), device_(inputs[0].is_symbolic() ? host_device : inputs[0].device()) {}

    Tensors body(int operators = 24) {
        for (int i = 0; i < operators; ++i) add_operator();
        Tensors outputs;
        for (int i = 0; i < 3; ++i) outputs.push_back(ops::neg(pick()));
        if (random_() % 2) outputs.push_back(pick());
        return outputs;
    }

private:
    const Tensor& pick() { return pool_[random_() % pool_.size()]; }
    // Late values more often: chains in which a value dies soon are those that are written over.
    const Tensor& pick_late() {
        return pool_[pool_.size() - 1 - random_() % std::min<size_t>(pool_.size(), 4)];
    }

    void add_operator() {
        Tensor x = pick_late();
        int64_t rows = x.shape()[0], columns = x.shape()[1];
        switch (random_() % 10) {
            case 0:
            case 1:
            case 2:
                return cut(x, 0);
            case 3:
                return cut(x, 1);
            case 4:
                return add(ops::relu(ops::neg(x)));
            case 5:
                return add(ops::clip(ops::add(x, of_shape(x.shape())), {.lower = -4, .upper = 4}));
            case 6:
            case 7:
                return write(x);
            case 8:
                if (rows * columns < 200) add(ops::concat({x, of_shape(x.shape())}, {.axis = 0}));
                return;
            case 9:
                return add(ops::reshape(x, {.shape = {columns, rows}}));
        }
    }
    void add(Tensor x) { pool_.push_back(std::move(x)); }

    void cut(const Tensor& x, int axis) {
        IntList sizes;
        for (int64_t left = x.shape()[axis]; left > 0; left -= sizes.back())
            sizes.push_back(sizes.size() == 3 ? left : std::min<int64_t>(left, int64_t(random_() % 4)));
        if (sizes.empty()) return;
        for (auto& part : ops::split(x, {.axis = axis, .sizes = sizes})) add(part);
    }
    // An operator that may work in the memory of its first operand, on one row.
    void write(const Tensor& x) {
        if (x.shape()[0] == 0) return;
        auto row = int64_t(random_() % uint32_t(x.shape()[0]));
        Tensor value = whole_numbers({x.shape()[1]}, random_, device_);
        ops::Slice::Params at{{0, row, INT64_MIN, INT64_MIN, 1}};
        add(random_() % 2 ? ops::set_slice({x, value}, at) : ops::add_slice({x, value}, at));
    }
    // Some value of this shape; one more operand when there is none.
    Tensor of_shape(const Shape& shape) {
        for (int i = 0; i < 8; ++i)
            if (auto& other = pick(); other.shape() == shape) return other;
        return whole_numbers(shape, random_, device_);
    }

    std::mt19937 random_;
    Tensors pool_;
    DeviceId device_;  // the constants' device
};

}  // namespace mge::test
