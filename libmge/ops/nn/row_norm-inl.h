// SPDX-License-Identifier: Apache-2.0
#pragma once
// The definition of rows that are normalised on their own, for layers and groups alike: they differ in which
// factor an element has, factor_of(i). A State counts rows() of row_size() and factors() with the elements
// that they scale: run_size() in each of the runs that for_each_run(factor, fn) passes to fn(begin, row).

#include <algorithm>
#include <cmath>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops::row_norm {

inline Support supports_simd(const Problem& problem) {
    if (problem.inputs[0].dtype != DType::f32) return {"only f32"};
    return plain_layouts(problem);
}

// The number of rows that are worth a thread.
template <class State>
int64_t row_grain(const State& s) {
    return std::max<int64_t>(1, parallel_grain / (s.row_size() + 1));
}

// Absent trailing inputs are not in the list at all.
template <class T>
const T* optional_input(const Launch& launch, size_t i) {
    return i < launch.inputs.size() ? launch.in<T>(i) : nullptr;
}

// Inputs x, weight, bias; outputs y, mean, inv_std. In double precision, where the squares of all finite
// numbers are finite: the fast kernels use it for rows whose variance is not.
template <class T, class FactorOf>
void normalize(const Launch& launch, int64_t row, int64_t n, float epsilon, FactorOf factor_of) {
    const T *x = launch.in<T>(0) + row * n, *weight = optional_input<T>(launch, 1);
    const T* bias = optional_input<T>(launch, 2);
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; ++i) mean += float(x[i]);
    mean /= double(n);
    for (int64_t i = 0; i < n; ++i) variance += (float(x[i]) - mean) * (float(x[i]) - mean);
    double inv_std = 1 / std::sqrt(variance / double(n) + epsilon);
    for (int64_t i = 0; i < n; ++i) {
        double y = (float(x[i]) - mean) * inv_std;
        if (weight) y *= float(weight[factor_of(i)]);
        if (bias) y += float(bias[factor_of(i)]);
        launch.out<T>(0)[row * n + i] = T(float(y));
    }
    launch.out<float>(1)[row] = float(mean);
    launch.out<float>(2)[row] = float(inv_std);
}

template <class State>
void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        for (int64_t row = 0; row < s.rows(); ++row)
            normalize<T>(launch, row, s.row_size(), s.epsilon, s.factors_of(row));
    });
}

// The gradients have the inputs x, dy, mean, inv_std, weight, dmean, dinv_std.

// With Σg less dmean/inv_std and Σg·x̂ plus dinv_std·inv_std, the formula below gives the gradients through
// the statistics as well.
template <class T>
void add_statistics_gradients(const Launch& launch, int64_t row, T& sum, T& product) {
    float inv_std = launch.in<float>(3)[row];
    if (auto* dmean = optional_input<float>(launch, 5)) sum -= dmean[row] / inv_std;
    if (auto* dinv_std = optional_input<float>(launch, 6)) product += dinv_std[row] * inv_std;
}

// g = dy·weight, x̂ = (x − mean)·inv_std:  dx = inv_std·(g − mean(g) − x̂·mean(g·x̂))
template <class T, class FactorOf>
void input_gradient(const Launch& launch, int64_t row, int64_t n, FactorOf factor_of) {
    const T *x = launch.in<T>(0) + row * n, *dy = launch.in<T>(1) + row * n;
    const T* weight = optional_input<T>(launch, 4);
    double mean = launch.in<float>(2)[row], inv_std = launch.in<float>(3)[row];
    auto grad = [&](int64_t i) {
        return double(float(dy[i])) * (weight ? float(weight[factor_of(i)]) : 1.0F);
    };
    auto normalized = [&](int64_t i) { return (float(x[i]) - mean) * inv_std; };
    double sum = 0, product = 0;
    for (int64_t i = 0; i < n; ++i) {
        sum += grad(i);
        product += grad(i) * normalized(i);
    }
    add_statistics_gradients(launch, row, sum, product);
    for (int64_t i = 0; i < n; ++i) {
        double dx = inv_std * (grad(i) - sum / double(n) - normalized(i) * product / double(n));
        launch.out<T>(0)[row * n + i] = T(float(dx));
    }
}

// dweight = Σ dy·x̂, dbias = Σ dy over the elements that have the factor
template <class T, class State>
void factor_gradients(const State& s, const Launch& launch, int64_t factor) {
    double weight = 0, bias = 0;
    s.for_each_run(factor, [&](int64_t begin, int64_t row) {
        for (int64_t i = begin; i < begin + s.run_size(); ++i) {
            double dy = float(launch.in<T>(1)[i]);
            weight += dy * (float(launch.in<T>(0)[i]) - launch.in<float>(2)[row]) * launch.in<float>(3)[row];
            bias += dy;
        }
    });
    launch.out<T>(1)[factor] = T(float(weight));
    launch.out<T>(2)[factor] = T(float(bias));
}

template <class State>
void run_backward_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        for (int64_t row = 0; row < s.rows(); ++row)
            input_gradient<T>(launch, row, s.row_size(), s.factors_of(row));
        for (int64_t i = 0; i < s.factors(); ++i) factor_gradients<T>(s, launch, i);
    });
}

}  // namespace mge::ops::row_norm
