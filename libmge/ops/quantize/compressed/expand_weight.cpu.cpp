// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/compressed/expand_weight.h"

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/compressed_rows.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/quantize/compressed/compressed_weight.h"

namespace mge::ops {
namespace {

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto& params = p.as<ExpandWeight::Params>();
    return Prepared::make(compressed_weight(ExpandWeight::name, params.bits, params.group, params.columns,
                                            p.inputs[0], p.inputs[1],
                                            p.has_input(2) ? p.inputs[2] : TensorSpec{}));
}

void run_rows(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<CompressedWeight>();
    const CompressedData data = compressed_data(launch, 0);
    par_for(launch.threads, s.rows, parallel_grain / s.columns + 1, [&](int64_t first, int64_t last) {
        cpu::expand_rows(s, data, first, last, launch.out<float>(0) + first * s.columns);
    });
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<CompressedWeight>();
    const CompressedData data = compressed_data(launch, 0);
    for (int64_t row = 0; row < s.rows; ++row)
        for (int64_t column = 0; column < s.columns; ++column)
            launch.out<float>(0)[row * s.columns + column] = weight_at(s, data, row, column);
}

}  // namespace

KernelList kernels(Cpu, ExpandWeight) {
    static constexpr Algorithm list[] = {
        {"rows", plain_layouts, prepare, run_rows},
        {"reference", plain_layouts, prepare, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
