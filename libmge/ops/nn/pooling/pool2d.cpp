// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/pooling/pool2d.h"

namespace mge::ops {

// Quantised values are in the order of the real numbers that they represent.
TensorSpecs MaxPool2d::infer(const Params& p, Specs in) {
    if (in[0].dtype != DType::u8 && in[0].dtype != DType::i8) check_pool_dtype(name, in[0]);
    return {{in[0].dtype, pooled_shape(name, in[0].shape, p), {}}};
}

}  // namespace mge::ops
