// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/rows/row_kernels.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/rows/row_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Full = hn::ScalableTag<float>;
using Quarter = hn::CappedTag<float, 4>;
using Single = hn::CappedTag<float, 1>;

// Calls body(d, i) for whole vectors of a row of n elements, then for the rest by four and one.
template <class Body>
HWY_INLINE void for_each_block(int64_t n, Body&& body) {
    const Full full;
    const int64_t lanes = int64_t(hn::Lanes(full));
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) body(full, i);
    const Quarter quarter;
    const int64_t few = int64_t(hn::Lanes(quarter));
    for (; i + few <= n; i += few) body(quarter, i);
    for (const Single single; i < n; ++i) body(single, i);
}

// A sum over a row: four vectors, so that additions do not wait for each other, and the tail apart. Two
// values per element at most.
template <class Term>
HWY_INLINE float sum_row(int64_t n, Term&& term) {
    const Full full;
    const int64_t lanes = int64_t(hn::Lanes(full));
    auto s0 = hn::Zero(full), s1 = s0, s2 = s0, s3 = s0;
    int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
        s0 = hn::Add(s0, term(full, i));
        s1 = hn::Add(s1, term(full, i + lanes));
        s2 = hn::Add(s2, term(full, i + 2 * lanes));
        s3 = hn::Add(s3, term(full, i + 3 * lanes));
    }
    for (; i + lanes <= n; i += lanes) s0 = hn::Add(s0, term(full, i));
    const Quarter quarter;
    const int64_t few = int64_t(hn::Lanes(quarter));
    auto tail = hn::Zero(quarter);
    for (; i + few <= n; i += few) tail = hn::Add(tail, term(quarter, i));
    const Single single;
    auto last = hn::Zero(single);
    for (; i < n; ++i) last = hn::Add(last, term(single, i));
    float sum = hn::GetLane(hn::SumOfLanes(full, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
    return sum + hn::GetLane(hn::SumOfLanes(quarter, tail)) + hn::GetLane(last);
}

// The largest element; NaN when there is one, which the maximum of vectors would lose.
float largest(const float* x, int64_t n) {
    const Full full;
    const int64_t lanes = int64_t(hn::Lanes(full));
    auto top = hn::Set(full, -std::numeric_limits<float>::infinity());
    auto unordered = hn::IsNaN(top);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        auto v = hn::LoadU(full, x + i);
        top = hn::Max(top, v);
        unordered = hn::Or(unordered, hn::IsNaN(v));
    }
    bool has_nan = !hn::AllFalse(full, unordered);
    float result = hn::GetLane(hn::MaxOfLanes(full, top));
    for (; i < n; ++i) {
        result = std::max(result, x[i]);
        has_nan |= std::isnan(x[i]);
    }
    return has_nan ? std::numeric_limits<float>::quiet_NaN() : result;
}

// e^x for x ≤ 0, or 0 instead of a subnormal number, which would take a vector a hundred times as long.
template <class D, class V>
HWY_INLINE V exp_or_zero(D d, V x) {
    const auto least = hn::Set(d, -87.33654F);
    return hn::IfThenElseZero(hn::Ge(x, least), hn::Exp(d, hn::Max(x, least)));
}

void softmax(const float* x, float* y, int64_t n, bool log) {
    float top = largest(x, n);
    if (!std::isfinite(top)) {  // NaN, ±inf: inf − inf is NaN, whatever the others are
        std::fill(y, y + n, std::numeric_limits<float>::quiet_NaN());
        return;
    }
    auto shifted = [&](auto d, int64_t i) HWY_ATTR { return hn::Sub(hn::LoadU(d, x + i), hn::Set(d, top)); };
    if (log) {
        float sum = sum_row(n, [&](auto d, int64_t i) HWY_ATTR { return exp_or_zero(d, shifted(d, i)); });
        float offset = std::log(sum);
        for_each_block(n, [&](auto d, int64_t i)
                              HWY_ATTR { hn::StoreU(hn::Sub(shifted(d, i), hn::Set(d, offset)), d, y + i); });
        return;
    }
    float sum = sum_row(n, [&](auto d, int64_t i) HWY_ATTR {
        auto e = exp_or_zero(d, shifted(d, i));
        hn::StoreU(e, d, y + i);
        return e;
    });
    float factor = 1 / sum;
    for_each_block(n, [&](auto d, int64_t i) HWY_ATTR {
        hn::StoreU(hn::Mul(hn::LoadU(d, y + i), hn::Set(d, factor)), d, y + i);
    });
}

// One vector of columns at a time.
template <class D>
HWY_INLINE void softmax_vector(D d, const float* x, float* y, int64_t n, int64_t stride, bool log) {
    auto top = hn::LoadU(d, x);
    auto unordered = hn::IsNaN(top);
    for (int64_t i = 1; i < n; ++i) {
        auto v = hn::LoadU(d, x + i * stride);
        top = hn::Max(top, v);
        unordered = hn::Or(unordered, hn::IsNaN(v));
    }
    auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    auto bad = hn::Or(unordered, hn::Eq(hn::Abs(top), infinity));
    auto sum = hn::Zero(d);
    for (int64_t i = 0; i < n; ++i) {
        auto e = exp_or_zero(d, hn::Sub(hn::LoadU(d, x + i * stride), top));
        sum = hn::Add(sum, e);
        if (!log) hn::StoreU(e, d, y + i * stride);
    }
    auto nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
    auto last = log ? hn::Log(d, sum) : hn::Div(hn::Set(d, 1.0F), sum);
    for (int64_t i = 0; i < n; ++i) {
        auto v = log ? hn::Sub(hn::Sub(hn::LoadU(d, x + i * stride), top), last)
                     : hn::Mul(hn::LoadU(d, y + i * stride), last);
        hn::StoreU(hn::IfThenElse(bad, nan, v), d, y + i * stride);
    }
}

void softmax_columns(const float* x, float* y, int64_t n, int64_t inner, bool log) {
    for_each_block(inner,
                   [&](auto d, int64_t i) HWY_ATTR { softmax_vector(d, x + i, y + i, n, inner, log); });
}

Moments moments(const float* x, int64_t n) {
    float mean = sum_row(n, [&](auto d, int64_t i) HWY_ATTR { return hn::LoadU(d, x + i); }) / float(n);
    float squares = sum_row(n, [&](auto d, int64_t i) HWY_ATTR {
        auto deviation = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
        return hn::Mul(deviation, deviation);
    });
    return {mean, squares / float(n)};
}

void normalize(const float* x, float* y, int64_t n, float mean, float inv_std, const float* weight,
               const float* bias) {
    for_each_block(n, [&](auto d, int64_t i) HWY_ATTR {
        auto v = hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)), hn::Set(d, inv_std));
        if (weight) v = hn::Mul(v, hn::LoadU(d, weight + i));
        if (bias) v = hn::Add(v, hn::LoadU(d, bias + i));
        hn::StoreU(v, d, y + i);
    });
}

void scale_around(const float* x, float* y, int64_t n, float center, float scale, float shift) {
    for_each_block(n, [&](auto d, int64_t i) HWY_ATTR {
        auto v = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, center));
        hn::StoreU(hn::MulAdd(v, hn::Set(d, scale), hn::Set(d, shift)), d, y + i);
    });
}

void weighted_sum(const float* a, const float* b, float* y, int64_t n, Weight of_a, Weight of_b,
                  float shift) {
    for_each_block(n, [&](auto d, int64_t i) HWY_ATTR {
        auto centered_b = hn::Sub(hn::LoadU(d, b + i), hn::Set(d, of_b.center));
        auto sum = hn::MulAdd(centered_b, hn::Set(d, of_b.scale), hn::Set(d, shift));
        auto centered_a = hn::Sub(hn::LoadU(d, a + i), hn::Set(d, of_a.center));
        hn::StoreU(hn::MulAdd(centered_a, hn::Set(d, of_a.scale), sum), d, y + i);
    });
}

// x̂ of a block
template <class D>
HWY_INLINE auto normalized(D d, const float* x, float mean, float inv_std) {
    return hn::Mul(hn::Sub(hn::LoadU(d, x), hn::Set(d, mean)), hn::Set(d, inv_std));
}
// dy·weight of a block
template <class D>
HWY_INLINE auto weighted(D d, const float* dy, const float* weight, int64_t i) {
    auto g = hn::LoadU(d, dy + i);
    return weight ? hn::Mul(g, hn::LoadU(d, weight + i)) : g;
}

GradientSums gradient_sums(const float* x, const float* dy, int64_t n, float mean, float inv_std,
                           const float* weight) {
    return {sum_row(n, [&](auto d, int64_t i) HWY_ATTR { return weighted(d, dy, weight, i); }),
            sum_row(n, [&](auto d, int64_t i) HWY_ATTR {
                return hn::Mul(weighted(d, dy, weight, i), normalized(d, x + i, mean, inv_std));
            })};
}

void normalize_backward(const float* x, const float* dy, float* dx, int64_t n, float mean, float inv_std,
                        const float* weight, GradientSums sums, int64_t count) {
    float mean_grad = sums.grad / float(count), mean_normalized = sums.grad_normalized / float(count);
    for_each_block(n, [&](auto d, int64_t i) HWY_ATTR {
        auto g = hn::Sub(weighted(d, dy, weight, i), hn::Set(d, mean_grad));
        g = hn::NegMulAdd(normalized(d, x + i, mean, inv_std), hn::Set(d, mean_normalized), g);
        hn::StoreU(hn::Mul(g, hn::Set(d, inv_std)), d, dx + i);
    });
}

void accumulate_factors(const float* x, const float* dy, int64_t n, float mean, float inv_std, float* dweight,
                        float* dbias) {
    for_each_block(n, [&](auto d, int64_t i) HWY_ATTR {
        auto g = hn::LoadU(d, dy + i);
        auto w = hn::MulAdd(g, normalized(d, x + i, mean, inv_std), hn::LoadU(d, dweight + i));
        hn::StoreU(w, d, dweight + i);
        hn::StoreU(hn::Add(g, hn::LoadU(d, dbias + i)), d, dbias + i);
    });
}

constexpr RowKernels kernels{softmax,       softmax_columns,    moments,
                             normalize,     scale_around,       weighted_sum,
                             gradient_sums, normalize_backward, accumulate_factors};

}  // namespace

const RowKernels* row_kernels_of_target() { return &kernels; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(row_kernels_of_target);

const RowKernels& row_kernels() {
    limit_highway_targets();
    return *HWY_DYNAMIC_DISPATCH(row_kernels_of_target)();
}

}  // namespace mge::cpu
#endif
