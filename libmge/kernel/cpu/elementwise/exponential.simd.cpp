// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/elementwise/exponential.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "libmge/kernel/cpu/elementwise/simd_rows.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/scalar.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

// x to the power halves / 2 by products in f64, after a square root if `halves` is odd. This is faster than
// pow and as exact, because only the result is rounded to f32.
struct HalfPower {
    static constexpr float most_halves = 32;
    int halves;

    HWY_INLINE Simd operator()(Simd x) const {
        const HalfF32 half;
        auto low = power(hn::LowerHalf(half, x.v)), high = power(hn::UpperHalf(half, x.v));
        return Simd(hn::Combine(F32(), high, low));
    }
    HWY_INLINE hn::VFromD<HalfF32> power(hn::VFromD<HalfF32> x) const {
        const F64 d;
        const auto one = hn::Set(d, 1.0), infinity = hn::Set(d, HUGE_VAL);
        auto y = one, factor = hn::PromoteTo(d, x);
        if (halves % 2) {  // unlike a square root, pow gives 0 for -0 and infinity for -infinity
            factor = hn::Add(factor, hn::Zero(d));
            factor = hn::Sqrt(hn::IfThenElse(hn::Eq(factor, hn::Neg(infinity)), infinity, factor));
        }
        for (int rest = std::abs(halves % 2 ? halves : halves / 2); rest; rest /= 2) {
            if (rest % 2) y = hn::Mul(y, factor);
            factor = hn::Mul(factor, factor);
        }
        return hn::DemoteTo(HalfF32(), halves < 0 ? hn::Div(one, y) : y);
    }
};

// The same for x ** 0.5, where f32 rounds once, too.
struct RootPower {
    HWY_INLINE Simd operator()(Simd x) const {
        const F32 d;
        const auto infinity = hn::Set(d, HUGE_VALF), root = hn::Add(x.v, hn::Zero(d));
        return Simd(hn::Sqrt(hn::IfThenElse(hn::Eq(root, hn::Neg(infinity)), infinity, root)));
    }
};

void pow_rows(const Rows& r) {
    if (!r.is_scalar[1] || r.is_scalar[0]) return binary_rows<functor::Pow>(r);
    for (int64_t row = 0; row < r.rows; ++row) {
        Rows one = r;
        one.rows = 1;
        for (int i = 0; i < 2; ++i) one.in[size_t(i)] = r.input<char>(i, row);
        one.out = r.output<char>(row);
        const float halves = 2 * *one.input<float>(1, 0);
        if (halves == 1)
            run_row(RootPower{}, one.input<float>(0, 0), r.n, one.output<float>(0));
        else if (std::abs(halves) <= HalfPower::most_halves && std::trunc(halves) == halves)
            run_row(HalfPower{int(halves)}, one.input<float>(0, 0), r.n, one.output<float>(0));
        else
            binary_rows<functor::Pow>(one);
    }
}

constexpr RowTable exponential_table{
    RowsOf<cpu::functor::Erf>{unary_rows<functor::Erf>},
    RowsOf<cpu::functor::Exp>{unary_rows<functor::Exp>},
    RowsOf<cpu::functor::Expm1>{unary_rows<functor::Expm1>},
    RowsOf<cpu::functor::Log>{unary_rows<functor::Log>},
    RowsOf<cpu::functor::Log1p>{unary_rows<functor::Log1p>},
    RowsOf<cpu::functor::Logaddexp>{binary_rows<functor::Logaddexp>},
    RowsOf<cpu::functor::Pow>{pow_rows},
};

}  // namespace

const RowsFn* exponential_rows() { return exponential_table.rows; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
HWY_EXPORT(exponential_rows);
namespace {

template <class F>
RowsFn find() {
    limit_highway_targets();
    return HWY_DYNAMIC_DISPATCH(exponential_rows)()[HWY_NAMESPACE::exponential_table.position_of<F>()];
}

}  // namespace

// clang-format off
template <> RowsFn simd_rows<functor::Erf>() { return find<functor::Erf>(); }
template <> RowsFn simd_rows<functor::Exp>() { return find<functor::Exp>(); }
template <> RowsFn simd_rows<functor::Expm1>() { return find<functor::Expm1>(); }
template <> RowsFn simd_rows<functor::Log>() { return find<functor::Log>(); }
template <> RowsFn simd_rows<functor::Log1p>() { return find<functor::Log1p>(); }
template <> RowsFn simd_rows<functor::Logaddexp>() { return find<functor::Logaddexp>(); }
template <> RowsFn simd_rows<functor::Pow>() { return find<functor::Pow>(); }
// clang-format on

}  // namespace mge::cpu
#endif
