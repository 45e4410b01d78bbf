// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/highway_targets.h"

#include "hwy/highway.h"
#include "libmge/device/cpu/cpu_device.h"

namespace mge::cpu {
namespace {

int64_t allowed_targets() {
    int64_t allowed = HWY_SCALAR | HWY_EMU128 | HWY_SSSE3 | HWY_SSE4;
    if (cpu_isa() >= Isa::avx2) allowed |= HWY_AVX2;
    if (cpu_isa() >= Isa::avx512) allowed |= HWY_AVX3;
    if (cpu_isa() >= Isa::avx512_vnni) allowed |= HWY_AVX3_DL;
    return allowed;
}

}  // namespace

void limit_highway_targets() {
    static const bool done = [] {
        hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & allowed_targets());
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        return true;
    }();
    (void)done;
}

}  // namespace mge::cpu
