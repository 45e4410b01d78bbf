// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/rows/scalar_rows.h"

#include <cstring>

namespace mge::cpu {
namespace {

// The address of the input element that belongs to output element `index`.
const void* broadcast_address(const void* data, const TensorSpec& input, const Shape& output, int64_t index) {
    int64_t offset = 0, step = 1;
    for (int axis = output.rank() - 1, i = input.shape.rank() - 1; i >= 0; --axis, --i) {
        if (input.shape[i] != 1) offset += index % output[axis] * step;
        index /= output[axis];
        step *= input.shape[i];
    }
    return static_cast<const char*>(data) + offset * int64_t(size_of(input.dtype));
}

}  // namespace

Prepared prepare_elements(const Problem& problem, ElementFn run, const void* functor, size_t functor_bytes) {
    MGE_CHECK(functor_bytes <= max_functor_bytes);
    ElementState state{run, {problem.inputs.begin(), problem.inputs.end()}, problem.outputs[0], {}};
    if (functor_bytes) std::memcpy(state.functor.data(), functor, functor_bytes);
    return Prepared::make(std::move(state));
}

void run_elements(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<ElementState>();
    std::array<const void*, max_row_inputs> in{};
    char* out = launch.out<char>(0);
    for (int64_t i = 0, n = state.output.numel(); i < n; ++i, out += size_of(state.output.dtype)) {
        for (size_t k = 0; k < state.inputs.size(); ++k)
            in[k] = broadcast_address(launch.inputs[k], state.inputs[k], state.output.shape, i);
        state.run(in.data(), out, state.functor.data());
    }
}

}  // namespace mge::cpu
