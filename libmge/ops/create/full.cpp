// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/create/full.h"

namespace mge::ops {

TensorSpecs Full::infer(const Params& p, Specs) {
    if (p.dtype == DType::none) throw_type_error(name, "needs a dtype");
    return {{p.dtype, Shape(p.shape), {}}};
}

Full::Params Full::resolve(const Params& p, std::span<const Tensor> values) {
    if (values.empty() || !values[0]) return p;
    return {host_values(values[0]), p.value, p.dtype};
}

TensorSpecs FullLike::infer(const Params&, Specs in) { return {{in[0].dtype, in[0].shape, {}}}; }

}  // namespace mge::ops
