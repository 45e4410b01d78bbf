// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/reduce/reduce_f32.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <array>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/reduce/reduce_f32.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using Vec = hn::Vec<F32>;
constexpr F32 f32;

// Each combines two vectors, or two numbers in the same way.
struct Sum {
    template <class V>
    static HWY_INLINE V of(V a, V b) {
        return hn::Add(a, b);
    }
    static float of(float a, float b) { return a + b; }
};
struct Prod {
    template <class V>
    static HWY_INLINE V of(V a, V b) {
        return hn::Mul(a, b);
    }
    static float of(float a, float b) { return a * b; }
};
// `a` stays when it is NaN, as comparisons with it are false.
struct Max {
    template <class V>
    static HWY_INLINE V of(V a, V b) {
        return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
    }
    static float of(float a, float b) {
        const float larger = b > a ? b : a;  // one condition each: an instruction, where two are a jump
        return b != b ? b : larger;
    }
};
struct Min {
    template <class V>
    static HWY_INLINE V of(V a, V b) {
        return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
    }
    static float of(float a, float b) {
        const float smaller = b < a ? b : a;
        return b != b ? b : smaller;
    }
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

// Columns of few vectors: each is folded in registers, in four parts that do not wait for each other.
template <class R, class D>
HWY_INLINE void fold_columns(D d, float* total, const float* x, int64_t rows, int64_t n) {
    const int64_t lanes = int64_t(hn::Lanes(d));
    for (int64_t column = 0; column < n; column += lanes) {
        auto row_at = [&](int64_t row) HWY_ATTR { return hn::LoadU(d, x + row * n + column); };
        auto a = hn::LoadU(d, total + column);
        int64_t row = 0;
        if (rows >= 4) {
            a = R::of(a, row_at(0));
            auto b = row_at(1), c = row_at(2), e = row_at(3);
            for (row = 4; row + 4 <= rows; row += 4) {
                a = R::of(a, row_at(row));
                b = R::of(b, row_at(row + 1));
                c = R::of(c, row_at(row + 2));
                e = R::of(e, row_at(row + 3));
            }
            a = R::of(R::of(a, b), R::of(c, e));
        }
        for (; row < rows; ++row) a = R::of(a, row_at(row));
        hn::StoreU(a, d, total + column);
    }
}

// K rows at once, so that the totals are updated once for all of them.
template <class R, int K>
HWY_INLINE void fold_rows(float* total, const float* x, int64_t n) {
    const int64_t lanes = int64_t(hn::Lanes(f32));
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        Vec sum = hn::LoadU(f32, x + i);
        for (int k = 1; k < K; ++k) sum = R::of(sum, hn::LoadU(f32, x + k * n + i));
        hn::StoreU(R::of(hn::LoadU(f32, total + i), sum), f32, total + i);
    }
    for (; i < n; ++i)
        for (int k = 0; k < K; ++k) total[i] = R::of(total[i], x[k * n + i]);
}

template <class R>
void accumulate(float* total, const float* x, int64_t rows, int64_t n) {
    const int64_t lanes = int64_t(hn::Lanes(f32));
    const hn::CappedTag<float, 4> quarter;
    if (rows > 1 && n <= 4 * lanes && n % lanes == 0) return fold_columns<R>(f32, total, x, rows, n);
    if (rows > 1 && n <= 16 && n % 4 == 0) return fold_columns<R>(quarter, total, x, rows, n);
    int64_t row = 0;
    for (; row + 4 <= rows; row += 4) fold_rows<R, 4>(total, x + row * n, n);
    for (; row < rows; ++row) fold_rows<R, 1>(total, x + row * n, n);
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
    static const std::array<ReduceF32, 4>* best = [] {
        limit_highway_targets();
        return &HWY_DYNAMIC_DISPATCH(reduce_table)();
    }();
    return (*best)[size_t(reduction)];
}

}  // namespace mge::cpu
#endif
