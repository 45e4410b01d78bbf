// SPDX-License-Identifier: Apache-2.0
// Random numbers. The state is a constant made from the seed in the file and the operator's position: every
// run gives the same numbers, which differ from MegEngine's.

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/extents.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/random/distribution.h"
#include "libmge/ops/random/dropout.h"

namespace mge::megengine {
namespace {

Tensor state_of(const Site& site, uint64_t seed) {
    uint32_t words[] = {uint32_t(seed) ^ uint32_t(seed >> 32),
                        site.op.outputs.empty() ? 0 : site.op.outputs[0]};
    return tensor_from_host({DType::i32, {2}, {}}, words, host_device);
}

Tensor as_dtype(const Tensor& x, file::DTypeEnum type) {
    DType dtype = dtype_from_file(type);
    if (!is_float(dtype)) unsupported("random numbers of dtype ", name_of(type));
    return dtype == x.dtype() ? x : convert_dtype(x, dtype);
}

}  // namespace

Tensors import_uniform(const Site& site) {
    auto& p = site.params<file::UniformRNG>();
    return {as_dtype(ops::uniform(state_of(site, p.seed()), as_index(site.in(0))), p.dtype())};
}

Tensors import_normal(const Site& site) {
    auto& p = site.params<file::GaussianRNG>();
    Tensor y =
        ops::normal(state_of(site, p.seed()), as_index(site.in(0)), {.mean = p.mean(), .std = p.std()});
    return {as_dtype(y, p.dtype())};
}

Tensors import_dropout(const Site& site) {
    auto& p = site.params<file::Dropout>();
    const Tensor& x = site.in(0);
    if (p.drop_prob() == 0) return {x, ops::full_like(x, {.value = 1})};
    return ops::dropout(x, state_of(site, p.seed()), {.probability = p.drop_prob()});
}

}  // namespace mge::megengine
