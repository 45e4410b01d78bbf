// SPDX-License-Identifier: Apache-2.0
// Numbers that are rounded as a quantised model would round them, and stay floats.

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/exponential.h"

namespace mge::megengine {
namespace {

// (clip(round(x / scale) + zero, low, high) - zero) * scale
Tensor rounded(const Tensor& x, const Tensor& scale, const Tensor& zero, double low, double high) {
    if (!is_float(x.dtype())) unsupported("numbers of dtype ", x.dtype());
    Tensor steps = ops::round(ops::div(x, scale));
    if (zero) steps = ops::add(steps, zero);
    steps = ops::clip(steps, {.lower = low, .upper = high});
    if (zero) steps = ops::sub(steps, zero);
    return ops::mul(steps, scale);
}

}  // namespace

// Inputs: x, scale, zero point.
Tensors import_fake_quantisation(const Site& site) {
    auto& p = site.params<file::FakeQuant>();
    return {rounded(site.in(0), site.in(1), site.in(2), p.qmin(), p.qmax())};
}

// Inputs: x, scale, zero point, and a factor of the gradient.
Tensors import_learned_steps(const Site& site) {
    auto& p = site.params<file::LSQ>();
    return {rounded(site.in(0), site.in(1), site.in(2), p.qmin(), p.qmax())};
}

// Inputs: x and the logarithm to base 2 of the scale.
Tensors import_trained_threshold(const Site& site) {
    auto& p = site.params<file::TQT>();
    Tensor scale = ops::pow(scalar_tensor(2, site.in(1).dtype(), host_device), site.in(1));
    return {rounded(site.in(0), scale, {}, p.qmin(), p.qmax())};
}

}  // namespace mge::megengine
