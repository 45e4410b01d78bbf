// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps that recurrent cells and layers share.

#include "libmge/tensor/tensor.h"

namespace mge::megengine {

// x * weight^T + bias, the bias a row or null.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

struct LstmState {
    Tensor h, c, gates;
};
// From the sum of both linear maps: input gate, forget gate, candidate, output gate, each `width` wide.
LstmState lstm_step(const Tensor& gates, const Tensor& c, int64_t width);

// Identity, relu or tanh by MegEngine's number.
Tensor rnn_activation(const Tensor& sum, uint32_t nonlinearity);

}  // namespace mge::megengine
