// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/rows/optimizer_steps.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/rows/optimizer_steps.h"
#include "libmge/kernel/cpu/rows/rows.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

namespace formula {
#include "libmge/kernel/scalar/optimizer.inc"
}  // namespace formula

// Copies of the addresses, which no store can change.
template <class Formula>
struct Arrays {
    const float* operands[Formula::operands];
    float* results[Formula::results];

    Arrays(const float* const* from, float* const* to) {
        for (int k = 0; k < Formula::operands; ++k) operands[k] = from[k];
        for (int k = 0; k < Formula::results; ++k) results[k] = to[k];
    }
};

struct Four {
    Simd v[4];
    HWY_INLINE Four() : v{Simd(0.0), Simd(0.0), Simd(0.0), Simd(0.0)} {}
};

template <class Formula>
HWY_INLINE Four results_at(const Formula& apply, const Arrays<Formula>& arrays, int64_t i) {
    Four x, y;
    for (int k = 0; k < Formula::operands; ++k) x.v[k] = Simd::load(arrays.operands[k] + i);
    apply(x.v, y.v);
    return y;
}

// The rest shorter than a vector. Calls visit(i, x, y) with the values of each element.
template <class Formula, class Visit>
HWY_INLINE void one_by_one(const Formula& apply, const Arrays<Formula>& arrays, int64_t begin, int64_t end,
                           Visit&& visit) {
    for (int64_t i = begin; i < end; ++i) {
        Scalar<float> x[Formula::operands], y[Formula::results];
        for (int k = 0; k < Formula::operands; ++k) x[k].v = arrays.operands[k][i];
        apply(x, y);
        visit(i, x, y);
    }
}

template <class Formula>
void step(const void* factors, const float* const* operands, float* const* results, int64_t begin,
          int64_t end) {
    const Formula apply = *static_cast<const Formula*>(factors);
    const Arrays<Formula> arrays(operands, results);
    const auto lanes = int64_t(simd_lanes());
    int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
        Four y = results_at(apply, arrays, i);
        for (int k = 0; k < Formula::results; ++k) y.v[k].store(arrays.results[k] + i);
    }
    one_by_one(apply, arrays, i, end, [&](int64_t at, const Scalar<float>*, const Scalar<float>* y) {
        for (int k = 0; k < Formula::results; ++k) arrays.results[k][at] = y[k].v;
    });
}

constexpr int64_t partial_sums = 16;

// Squares of 16 neighbours at a time, each added to the sum of its position.
class Squares {
public:
    HWY_INLINE void add(int64_t at, Simd x) {
        const F64 d;
        const auto wide = int64_t(hn::Lanes(d));
        auto low = hn::PromoteTo(d, hn::LowerHalf(HalfF32(), x.v));
        auto high = hn::PromoteTo(d, hn::UpperHalf(HalfF32(), x.v));
        hn::Store(hn::Add(hn::Load(d, sums_ + at), hn::Mul(low, low)), d, sums_ + at);
        hn::Store(hn::Add(hn::Load(d, sums_ + at + wide), hn::Mul(high, high)), d, sums_ + at + wide);
    }
    void add(int64_t at, float x) { sums_[at] += double(x) * double(x); }
    double total() const {
        double sum = 0;
        for (double partial : sums_) sum += partial;
        return sum;
    }

private:
    alignas(64) double sums_[partial_sums] = {};
};

StepSquares squares(const void* factors, const float* const* operands, float* const* results, int64_t begin,
                    int64_t end) {
    using Formula = formula::LambDirection;
    const Formula apply = *static_cast<const Formula*>(factors);
    const Arrays<Formula> arrays(operands, results);
    const auto lanes = int64_t(simd_lanes());
    Squares param, direction;
    int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
        int64_t at = (i - begin) % partial_sums;
        Four y = results_at(apply, arrays, i);
        param.add(at, Simd::load(arrays.operands[0] + i));
        direction.add(at, y.v[0]);
        y.v[1].store(arrays.results[1] + i);
        y.v[2].store(arrays.results[2] + i);
    }
    one_by_one(apply, arrays, i, end, [&](int64_t element, const Scalar<float>* x, const Scalar<float>* y) {
        param.add((element - begin) % partial_sums, x[0].v);
        direction.add((element - begin) % partial_sums, y[0].v);
        arrays.results[1][element] = y[1].v;
        arrays.results[2][element] = y[2].v;
    });
    return {param.total(), direction.total()};
}

constexpr StepFunctions functions{step<formula::SgdStep>,
                                  step<formula::MomentumStep<true, false>>,
                                  step<formula::MomentumStep<false, false>>,
                                  step<formula::MomentumStep<true, true>>,
                                  step<formula::MomentumStep<false, true>>,
                                  step<formula::AdamStep<false>>,
                                  step<formula::AdamStep<true>>,
                                  step<formula::AdagradStep>,
                                  step<formula::AdadeltaStep>,
                                  step<formula::LambMove>,
                                  squares};

}  // namespace

const StepFunctions* step_functions() { return &functions; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
HWY_EXPORT(step_functions);
namespace {

const StepFunctions& best() {
    limit_highway_targets();
    return *HWY_DYNAMIC_DISPATCH(step_functions)();
}

}  // namespace

// clang-format off
template <> StepRange vector_step<functor::SgdStep>() { return best().sgd; }
template <> StepRange vector_step<functor::MomentumStep<true, false>>() { return best().momentum; }
template <> StepRange vector_step<functor::MomentumStep<false, false>>() { return best().first_momentum; }
template <> StepRange vector_step<functor::MomentumStep<true, true>>() { return best().nesterov; }
template <> StepRange vector_step<functor::MomentumStep<false, true>>() { return best().first_nesterov; }
template <> StepRange vector_step<functor::AdamStep<false>>() { return best().adam; }
template <> StepRange vector_step<functor::AdamStep<true>>() { return best().adamw; }
template <> StepRange vector_step<functor::AdagradStep>() { return best().adagrad; }
template <> StepRange vector_step<functor::AdadeltaStep>() { return best().adadelta; }
template <> StepRange vector_step<functor::LambMove>() { return best().lamb_move; }
// clang-format on
LambSquares lamb_squares() { return best().lamb_squares; }

}  // namespace mge::cpu
#endif
