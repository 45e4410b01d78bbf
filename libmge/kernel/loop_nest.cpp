// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/loop_nest.h"

#include <algorithm>

namespace mge {
namespace {

using Strides = std::array<int64_t, max_rank>;

// Bytes to the next element along each axis of the output; 0 where the input repeats.
Strides broadcast_strides(const TensorSpec& input, const Shape& output) {
    Strides strides{};
    int64_t step = int64_t(size_of(input.dtype));
    int shift = output.rank() - input.shape.rank();
    for (int axis = input.shape.rank() - 1; axis >= 0; --axis) {
        bool repeats = input.shape[axis] == 1 && output[axis + shift] != 1;
        strides[size_t(axis + shift)] = repeats ? 0 : step;
        step *= input.shape[axis];
    }
    return strides;
}

// True when all operands step through loop `outer` as if it continued loop `inner`.
bool continues(const LoopNest& nest, int outer, int inner, int inputs) {
    auto fits = [&](auto& stride) {
        return stride[size_t(outer)] == stride[size_t(inner)] * nest.extent[size_t(inner)];
    };
    for (int i = 0; i < inputs; ++i)
        if (!fits(nest.in_stride[size_t(i)])) return false;
    return fits(nest.out_stride);
}

void remove_loop(LoopNest& nest, int loop) {
    auto erase = [&](auto& list) {
        for (int i = loop; i + 1 < nest.loops; ++i) list[size_t(i)] = list[size_t(i + 1)];
    };
    erase(nest.extent);
    erase(nest.out_stride);
    for (auto& stride : nest.in_stride) erase(stride);
    --nest.loops;
}

LoopNest plain_loops(const TensorSpec& output) {
    LoopNest nest;
    nest.loops = output.shape.rank();
    std::copy(output.shape.begin(), output.shape.end(), nest.extent.begin());
    nest.out_stride = broadcast_strides(output, output.shape);
    return nest;
}

// Drops loops of one round and joins those that continue each other.
void simplify(LoopNest& nest, int inputs) {
    for (int loop = nest.loops - 1; loop >= 0; --loop)
        if (nest.extent[size_t(loop)] == 1) remove_loop(nest, loop);
    for (int inner = nest.loops - 1; inner > 0; --inner)
        if (continues(nest, inner - 1, inner, inputs)) {
            nest.extent[size_t(inner)] *= nest.extent[size_t(inner - 1)];
            remove_loop(nest, inner - 1);
        }
    if (nest.loops == 0) {  // one element
        nest.loops = 1;
        nest.extent[0] = 1;
    }
}

}  // namespace

LoopNest make_loop_nest(Specs inputs, const TensorSpec& output) {
    LoopNest nest = plain_loops(output);
    for (size_t i = 0; i < inputs.size(); ++i) nest.in_stride[i] = broadcast_strides(inputs[i], output.shape);
    simplify(nest, int(inputs.size()));
    return nest;
}

LoopNest make_loop_nest(const Strides& in_stride, const TensorSpec& output) {
    LoopNest nest = plain_loops(output);
    nest.in_stride[0] = in_stride;
    simplify(nest, 1);
    return nest;
}

}  // namespace mge
