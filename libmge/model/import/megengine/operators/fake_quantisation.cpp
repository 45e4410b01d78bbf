// SPDX-License-Identifier: Apache-2.0
// Numbers that are rounded as a quantised model would round them, and stay floats.

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/quantize/fake_quantize.h"

namespace mge::megengine {
namespace {

Tensor rounded(const Tensor& x, const Tensor& scale, const Tensor& zero,
               const ops::FakeQuantize::Params& params) {
    if (!is_float(x.dtype())) unsupported("numbers of dtype ", x.dtype());
    auto wide = [](const Tensor& t) { return t ? convert_dtype(t, DType::f32) : t; };
    return convert_dtype(ops::fake_quantize(wide(x), wide(scale), wide(zero), params), x.dtype());
}

}  // namespace

// Inputs: x, scale, zero point.
Tensors import_fake_quantisation(const Site& site) {
    auto& p = site.params<file::FakeQuant>();
    return {rounded(site.in(0), site.in(1), site.in(2), {.lower = p.qmin(), .upper = p.qmax()})};
}

// Inputs: x, scale, zero point, and a factor of the gradient.
Tensors import_learned_steps(const Site& site) {
    auto& p = site.params<file::LSQ>();
    return {rounded(site.in(0), site.in(1), site.in(2),
                    {.lower = p.qmin(), .upper = p.qmax(), .learning = ops::ScaleLearning::by_exact})};
}

// Inputs: x and the logarithm to base 2 of the scale.
Tensors import_trained_threshold(const Site& site) {
    auto& p = site.params<file::TQT>();
    Tensor scale = ops::pow(scalar_tensor(2, site.in(1).dtype(), host_device), site.in(1));
    return {rounded(site.in(0), scale, {},
                    {.lower = p.qmin(), .upper = p.qmax(), .learning = ops::ScaleLearning::by_rounded})};
}

}  // namespace mge::megengine
