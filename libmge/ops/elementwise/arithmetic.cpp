// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/arithmetic.h"

#include "libmge/op/define.h"

namespace mge::ops {

constinit const OpInfo Add::info = define<Add>();

TensorSpecs Add::infer(const Params&, std::span<const TensorSpec> in) {
    return {{in[0].dtype, broadcast_shapes(name, in[0].shape, in[1].shape), {}}};
}

}  // namespace mge::ops
