// SPDX-License-Identifier: Apache-2.0
// Operators that contain values: weights and immediate constants.

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/megengine/families.h"

namespace mge::megengine {

size_t count_constants(const OperatorRecord& op) { return op.tensors.size(); }

Tensor tensor_of(const TensorRecord& record) {
    if (record.dtype.dtype == DType::none) unsupported("a tensor of dtype ", name_of(record.dtype.type));
    if (!record.is_plain) unsupported("a tensor in an image or low-bit format");
    TensorSpec spec{record.dtype.dtype, record.shape, {}};
    if (!record.has_data && spec.bytes()) invalid("a constant of shape ", spec, " without a value");
    if (record.has_data && record.data.size() != spec.bytes())
        invalid(counted(record.data.size(), "byte"), " for a constant of shape ", spec, ", which has ",
                spec.bytes());
    return tensor_from_host(spec, record.data.data(), host_device);
}

Tensors import_constants(const Site& site) {
    Tensors values;
    for (auto& record : site.op.tensors) values.push_back(at_least_vector(tensor_of(record)));
    return values;
}

}  // namespace mge::megengine
