// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert/bit_cast.h"

#include <algorithm>

#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

Prepared prepare(const PrepareContext& context) { return Prepared::make(context.problem.outputs[0].bytes()); }

void run(const Prepared& prepared, const Launch& launch) {
    std::copy_n(launch.in<char>(0), prepared.state<size_t>(), launch.out<char>(0));
}

}  // namespace

KernelList kernels(Cpu, BitCast) { return one_algorithm<prepare, run>("copy"); }

}  // namespace mge::ops
