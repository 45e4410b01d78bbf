// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/rows/times_double.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/rows/times_double.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

void multiply_in_double(const float* x, double factor, float* y, int64_t n) {
    const hn::ScalableTag<double> wide;
    const hn::Rebind<float, decltype(wide)> narrow;
    const auto lanes = int64_t(hn::Lanes(wide));
    const auto factors = hn::Set(wide, factor);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        auto product = hn::Mul(hn::PromoteTo(wide, hn::LoadU(narrow, x + i)), factors);
        hn::StoreU(hn::DemoteTo(narrow, product), narrow, y + i);
    }
    for (; i < n; ++i) y[i] = float(double(x[i]) * factor);
}

}  // namespace

TimesDouble make_times_double() { return multiply_in_double; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(make_times_double);

TimesDouble times_double() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(make_times_double)());
    return best;
}

}  // namespace mge::cpu
#endif
