// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/attention_shape.h"
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Absent operands are null.
template <class T>
struct AttentionTensors {
    const T *q, *k, *v, *mask;
    T* y;
    float* log_sum_exp;
};
template <class T>
struct AttentionGradients {
    const T *q, *k, *v, *dy, *y;
    const float* log_sum_exp;
    const T* mask;
    const float* dlog_sum_exp;
    T *dq, *dk, *dv;
    float* rest;  // Σ dy·y − dlog_sum_exp of each query of each head: room for it
};

// T is f16, bf16 or float.
template <class T>
void attend(Stream stream, const AttentionShape& shape, const AttentionTensors<T>& tensors);
template <class T>
void attend_backward(Stream stream, const AttentionShape& shape, const AttentionGradients<T>& tensors);

}  // namespace mge::cuda
