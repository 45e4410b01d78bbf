// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/tensor/tensor.h"

namespace mge {

// The shape that a tensor had when the function which is traced on this thread was recorded; its shape where
// none is. Whoever asks shapes which operators to apply asks these too: each call has to apply those that the
// recording has. Defined by eager/trace.cpp: this layer knows only that there are recordings.
MGE_API Shape recorded_shape(const Tensor& x);

}  // namespace mge
