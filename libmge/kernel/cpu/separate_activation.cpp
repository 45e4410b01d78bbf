// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/separate_activation.h"

#include <algorithm>
#include <array>

#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/half.h"

namespace mge::cpu {
namespace {

constexpr std::string_view prefix = "apart:";

// Elements per thread that are worth a parallel region: these functions take about half a nanosecond each.
constexpr int64_t grain = 2 * parallel_grain;

struct State {
    Algorithm inner;
    Prepared prepared;
    Activation activation;
    DType dtype;
    int64_t n;  // padding of the layout included
};

// Through a block of floats that the first cache keeps.
void activate_halves(Activation activation, BFloat16* y, int64_t n) {
    constexpr int64_t block = 1024;
    std::array<float, block> values;
    for (int64_t first = 0; first < n; first += block) {
        int64_t count = std::min(block, n - first);
        halves_to_floats(y + first, values.data(), count);
        activate(activation, values.data(), count);
        floats_to_halves(values.data(), y + first, count);
    }
}

}  // namespace

Support supports_separate(const Problem& p, Activation activation) {
    bool is_costly = activation == Activation::silu || activation == Activation::gelu ||
                     activation == Activation::sigmoid || activation == Activation::tanh;
    if (!is_costly) return {"an activation that costs nothing where the result is stored"};
    auto& y = p.outputs[0];
    if (y.dtype != DType::f32 && y.dtype != DType::bf16) return {"f32 and bf16 only"};
    // Padding stays zero.
    if (activation == Activation::sigmoid && y.bytes() != size_t(y.numel()) * size_of(y.dtype))
        return {"a layout with padding, where sigmoid is not zero"};
    return supported;
}

std::string separate_name(const std::string& name) { return std::string(prefix) + name; }
std::string name_inside(const std::string& name) { return name.substr(prefix.size()); }

Prepared prepare_separate(const Problem& p, const Algorithm& inner, Prepared prepared,
                          Activation activation) {
    size_t workspace = prepared.workspace();
    PackedInputs packed = prepared.packed();
    auto code = prepared.code();
    DType dtype = p.outputs[0].dtype;
    auto n = int64_t(p.outputs[0].bytes() / size_of(dtype));
    return Prepared::make(State{inner, std::move(prepared), activation, dtype, n}, workspace,
                          std::move(packed))
        .with_code(std::move(code));
}

void run_separate(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    s.inner.run(s.prepared, launch);
    par_for(launch.threads, s.n, grain, [&](int64_t first, int64_t last) {
        if (s.dtype == DType::f32)
            activate(s.activation, launch.out<float>(0) + first, last - first);
        else
            activate_halves(s.activation, launch.out<BFloat16>(0) + first, last - first);
    });
}

}  // namespace mge::cpu
