// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/reduce_f32.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <array>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/reduce_f32.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using Vec = hn::Vec<F32>;
constexpr F32 f32;

// Each combines two vectors, or two numbers in the same way.
struct Sum {
    static HWY_INLINE Vec of(Vec a, Vec b) { return hn::Add(a, b); }
    static float of(float a, float b) { return a + b; }
};
struct Prod {
    static HWY_INLINE Vec of(Vec a, Vec b) { return hn::Mul(a, b); }
    static float of(float a, float b) { return a * b; }
};
// `a` stays when it is NaN, as comparisons with it are false.
struct Max {
    static HWY_INLINE Vec of(Vec a, Vec b) {
        return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
    }
    static float of(float a, float b) { return b > a || b != b ? b : a; }
};
struct Min {
    static HWY_INLINE Vec of(Vec a, Vec b) {
        return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
    }
    static float of(float a, float b) { return b < a || b != b ? b : a; }
};

template <class R>
float run(const float* x, int64_t n) {
    const int64_t lanes = int64_t(hn::Lanes(f32)), step = 4 * lanes;
    float total = x[0];
    int64_t i = 1;
    if (n >= step) {  // four independent vectors hide the latency of the operation
        Vec a = hn::LoadU(f32, x), b = hn::LoadU(f32, x + lanes);
        Vec c = hn::LoadU(f32, x + 2 * lanes), d = hn::LoadU(f32, x + 3 * lanes);
        for (i = step; i + step <= n; i += step) {
            a = R::of(a, hn::LoadU(f32, x + i));
            b = R::of(b, hn::LoadU(f32, x + i + lanes));
            c = R::of(c, hn::LoadU(f32, x + i + 2 * lanes));
            d = R::of(d, hn::LoadU(f32, x + i + 3 * lanes));
        }
        HWY_ALIGN float parts[hn::MaxLanes(F32())];
        hn::Store(R::of(R::of(a, b), R::of(c, d)), f32, parts);
        for (int64_t width = lanes / 2; width > 0; width /= 2)
            for (int64_t j = 0; j < width; ++j) parts[j] = R::of(parts[j], parts[j + width]);
        total = parts[0];
    }
    for (; i < n; ++i) total = R::of(total, x[i]);
    return total;
}

template <class R>
void accumulate(float* total, const float* x, int64_t n) {
    const int64_t lanes = int64_t(hn::Lanes(f32));
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes)
        hn::StoreU(R::of(hn::LoadU(f32, total + i), hn::LoadU(f32, x + i)), f32, total + i);
    for (; i < n; ++i) total[i] = R::of(total[i], x[i]);
}

constexpr std::array<ReduceF32, 4> table{{{run<Sum>, accumulate<Sum>},
                                          {run<Prod>, accumulate<Prod>},
                                          {run<Max>, accumulate<Max>},
                                          {run<Min>, accumulate<Min>}}};

}  // namespace

const std::array<ReduceF32, 4>& reduce_table() { return table; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(reduce_table);
ReduceF32 reduce_f32(Reduction reduction) {
    static const auto& best = [&]() -> const std::array<ReduceF32, 4>& {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(reduce_table)();
    }();
    return best[size_t(reduction)];
}

}  // namespace mge::cpu
#endif
