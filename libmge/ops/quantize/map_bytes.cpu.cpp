// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/map_bytes.h"

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/quantise_rows.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

Prepared prepare(const PrepareContext& context) {
    return Prepared::make(context.problem.inputs[0].shape.numel());
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto *x = launch.in<uint8_t>(0), *table = launch.in<uint8_t>(1);
    for (int64_t i = 0; i < prepared.state<int64_t>(); ++i) launch.out<uint8_t>(0)[i] = table[x[i]];
}

void run_rows(const Prepared& prepared, const Launch& launch) {
    par_for(launch.threads, prepared.state<int64_t>(), parallel_grain, [&](int64_t begin, int64_t end) {
        cpu::quantise_rows().map(launch.in<uint8_t>(0) + begin, launch.out<uint8_t>(0) + begin, end - begin,
                                 launch.in<uint8_t>(1));
    });
}

}  // namespace

KernelList kernels(Cpu, MapBytes) {
    static constexpr Algorithm list[] = {
        {"rows", plain_layouts, prepare, run_rows},
        {"reference", plain_layouts, prepare, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
