// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"
#include "libmge/ops/nn/pooling/adaptive_pool2d.h"
#include "libmge/ops/nn/pooling/pool2d.h"

namespace mge::ops {

// For any pooling operator, for kernels on any device.
template <class Op>
PoolGeometry geometry_of(const Problem& problem) {
    auto& p = problem.as<typename Op::Params>();
    auto& x = problem.inputs[0].shape;
    if constexpr (requires { p.height; }) {
        return adaptive_pool_geometry(Op::name, x, {p.height, p.width});
    } else {
        PoolGeometry g = pool_geometry(Op::name, x, p.kernel, p.stride, p.padding);
        if constexpr (requires { p.count_include_pad; }) g.count_include_pad = p.count_include_pad;
        return g;
    }
}

}  // namespace mge::ops
