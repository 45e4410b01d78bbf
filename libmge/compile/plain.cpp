// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/plain.h"

#include "libmge/device/device.h"
#include "libmge/graph/node_problem.h"
#include "libmge/kernel/launch.h"
#include "libmge/ops/shape/layout/reorder.h"

namespace mge {

Tensor to_plain(const Tensor& tensor) { return in_layout(tensor, {}); }

Tensor in_layout(const Tensor& tensor, const Layout& layout) {
    if (tensor.spec().layout == layout) return tensor;
    TensorSpec spec{tensor.dtype(), tensor.shape(), layout};
    auto params = std::make_shared<ops::Reorder::Params>();
    params->layout = layout.is_plain() ? "plain" : layout.name();
    DeviceId device = tensor.device();
    NodeProblem problem(ops::Reorder::info, params, {{tensor.spec()}, {spec}, {nullptr}, device, device}, 1,
                        Precision::strict);
    Choice choice = problem.choose({});
    Tensor result = empty_tensor(spec, device);
    launch(*choice.algorithm, choice.prepared, {queue_of(device)}, {&tensor, 1}, {&result, 1});
    return result;
}

// The host has kernels for every layout.
Tensor plain_on_host(const Tensor& tensor) { return to_plain(to_host(tensor)); }

Tensor copy_plain(const Tensor& tensor) {
    Tensor plain = to_plain(tensor);
    if (!tensor.spec().layout.is_plain()) return plain;
    Tensor copy = empty_tensor(plain.spec(), plain.device());
    copy_between(copy.device(), copy.address(), plain.device(), plain.address(), plain.spec().bytes());
    return copy;
}

}  // namespace mge
