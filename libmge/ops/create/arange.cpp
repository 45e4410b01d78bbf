// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/create/arange.h"

#include <algorithm>
#include <cmath>

#include "libmge/op/define.h"

namespace mge::ops {

constinit const OpInfo Arange::info = define<Arange>();
constinit const OpInfo Linspace::info = define<Linspace>();

TensorSpecs Arange::infer(const Params& p, std::span<const TensorSpec>) {
    constexpr double most = double(int64_t(1) << 59);
    double count = std::ceil((p.stop - p.start) / p.step);
    if (p.step == 0 || !(count < most))
        throw_user(name,
                   text("start ", p.start, ", stop ", p.stop, ", step ", p.step, " give no finite list"));
    if (p.dtype == DType::none || p.dtype == DType::boolean)
        throw_user(name, "needs a dtype of numbers", ErrorClass::type);
    return {{p.dtype, {int64_t(std::max(0.0, count))}, {}}};
}

TensorSpecs Linspace::infer(const Params& p, std::span<const TensorSpec>) {
    if (p.num < 0) throw_user(name, text("num is ", p.num, ", it must not be negative"), ErrorClass::value);
    return {{DType::f32, {p.num}, {}}};
}

}  // namespace mge::ops
