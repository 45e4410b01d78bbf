// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/plain.h"

#include "libmge/device/device.h"
#include "libmge/ops/shape/reorder.h"
#include "libmge/passes/node_problem.h"

namespace mge {

Tensor to_plain(const Tensor& tensor) {
    if (tensor.spec().layout.is_plain()) return tensor;
    TensorSpec spec{tensor.dtype(), tensor.shape(), {}};
    auto params = std::make_shared<ops::Reorder::Params>();
    Operands operands{{tensor.spec()}, {spec}, {nullptr}};
    Choice choice =
        NodeProblem(ops::Reorder::info, params, std::move(operands), 1, Precision::strict).choose({});
    Tensor result = empty_tensor(spec);
    StorageRef workspace;
    if (size_t bytes = choice.prepared.workspace()) workspace = device(default_device()).allocate(bytes);
    const void* in[] = {tensor.data()};
    void* out[] = {result.data()};
    choice.algorithm->run(choice.prepared, {in, out, workspace ? workspace->data : nullptr, 1, nullptr});
    return result;
}

Tensor copy_plain(const Tensor& tensor) {
    Tensor plain = to_plain(tensor);
    if (!tensor.spec().layout.is_plain()) return plain;
    return tensor_from_host(plain.spec(), plain.data(), plain.device());
}

}  // namespace mge
