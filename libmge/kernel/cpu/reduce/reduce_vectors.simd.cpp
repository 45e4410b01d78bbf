// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/reduce/reduce_vectors.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/reduce/reduce_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

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

struct LargestInteger {
    template <class V>
    static HWY_INLINE V of(V a, V b) {
        if constexpr (std::is_integral_v<V>)
            return b > a ? b : a;
        else
            return hn::Max(a, b);
    }
};
struct SmallestInteger {
    template <class V>
    static HWY_INLINE V of(V a, V b) {
        if constexpr (std::is_integral_v<V>)
            return b < a ? b : a;
        else
            return hn::Min(a, b);
    }
};

// All lanes into one: the upper half onto the lower half, down to 16 bytes and then to a number.
template <class R, class D>
HWY_INLINE hn::TFromD<D> fold_lanes(D d, hn::Vec<D> v) {
    using T = hn::TFromD<D>;
    constexpr size_t most = hn::MaxLanes(D());
    if constexpr (most * sizeof(T) > 16) {
        const hn::Half<D> half;
        return fold_lanes<R>(half, R::of(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    } else {
        HWY_ALIGN T parts[most];
        hn::Store(v, d, parts);
        for (size_t width = hn::Lanes(d) / 2; width > 0; width /= 2)
            for (size_t j = 0; j < width; ++j) parts[j] = R::of(parts[j], parts[j + width]);
        return parts[0];
    }
}

template <class R, class T>
T run(const T* x, int64_t n) {
    const hn::ScalableTag<T> d;
    using Vec = hn::Vec<decltype(d)>;
    const int64_t lanes = int64_t(hn::Lanes(d)), step = 4 * lanes;
    T total = x[0];
    int64_t i = 1;
    if (n >= step) {  // four independent vectors hide the latency of the operation
        Vec a = hn::LoadU(d, x), b = hn::LoadU(d, x + lanes);
        Vec c = hn::LoadU(d, x + 2 * lanes), e = hn::LoadU(d, x + 3 * lanes);
        for (i = step; i + step <= n; i += step) {
            a = R::of(a, hn::LoadU(d, x + i));
            b = R::of(b, hn::LoadU(d, x + i + lanes));
            c = R::of(c, hn::LoadU(d, x + i + 2 * lanes));
            e = R::of(e, hn::LoadU(d, x + i + 3 * lanes));
        }
        total = fold_lanes<R>(d, R::of(R::of(a, b), R::of(c, e)));
    }
    for (; i < n; ++i) total = R::of(total, x[i]);
    return total;
}

// Columns of few vectors: each is folded in registers, in four parts that do not wait for each other.
template <class R, class D, class T>
HWY_INLINE void fold_columns(D d, T* total, const T* x, int64_t rows, int64_t n) {
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
template <class R, int K, class T>
HWY_INLINE void fold_rows(T* total, const T* x, int64_t n) {
    const hn::ScalableTag<T> d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        auto sum = hn::LoadU(d, x + i);
        for (int k = 1; k < K; ++k) sum = R::of(sum, hn::LoadU(d, x + k * n + i));
        hn::StoreU(R::of(hn::LoadU(d, total + i), sum), d, total + i);
    }
    for (; i < n; ++i)
        for (int k = 0; k < K; ++k) total[i] = R::of(total[i], x[k * n + i]);
}

template <class R, class T>
void accumulate(T* total, const T* x, int64_t rows, int64_t n) {
    const hn::ScalableTag<T> d;
    const hn::CappedTag<T, 16 / sizeof(T)> quarter;
    const int64_t lanes = int64_t(hn::Lanes(d)), quarter_lanes = int64_t(hn::Lanes(quarter));
    if (rows > 1 && n <= 4 * lanes && n % lanes == 0) return fold_columns<R>(d, total, x, rows, n);
    if (rows > 1 && n <= 4 * quarter_lanes && n % quarter_lanes == 0)
        return fold_columns<R>(quarter, total, x, rows, n);
    int64_t row = 0;
    for (; row + 4 <= rows; row += 4) fold_rows<R, 4>(total, x + row * n, n);
    for (; row < rows; ++row) fold_rows<R, 1>(total, x + row * n, n);
}

template <class R, class T>
constexpr ReduceVectors<T> vectors{run<R, T>, accumulate<R, T>};

constexpr std::array<ReduceVectors<float>, 4> table{
    {vectors<Sum, float>, vectors<Prod, float>, vectors<Max, float>, vectors<Min, float>}};

template <class T>
constexpr std::array<ReduceVectors<T>, 2> extremes{{vectors<LargestInteger, T>, vectors<SmallestInteger, T>}};

}  // namespace

template <class... T>
using ExtremesOf = std::tuple<std::array<ReduceVectors<T>, 2>...>;
using Tables = std::pair<std::array<ReduceVectors<float>, 4>, ExtremesOf<uint8_t, int8_t, int16_t, int32_t>>;

const Tables& reduce_tables() {
    static constexpr Tables tables{
        table, {extremes<uint8_t>, extremes<int8_t>, extremes<int16_t>, extremes<int32_t>}};
    return tables;
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(reduce_tables);
namespace {

const auto& best_reductions() {
    static const auto* best = [] {
        limit_highway_targets();
        return &HWY_DYNAMIC_DISPATCH(reduce_tables)();
    }();
    return *best;
}

}  // namespace

ReduceVectors<float> reduce_f32(Reduction reduction) { return best_reductions().first[size_t(reduction)]; }

template <class T>
ReduceVectors<T> reduce_integers(Reduction reduction) {
    auto& extremes = std::get<std::array<ReduceVectors<T>, 2>>(best_reductions().second);
    return extremes[reduction == Reduction::max ? 0 : 1];
}
template ReduceVectors<uint8_t> reduce_integers(Reduction);
template ReduceVectors<int8_t> reduce_integers(Reduction);
template ReduceVectors<int16_t> reduce_integers(Reduction);
template ReduceVectors<int32_t> reduce_integers(Reduction);

}  // namespace mge::cpu
#endif
