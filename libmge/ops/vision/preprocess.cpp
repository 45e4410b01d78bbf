// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/preprocess.h"

#include "libmge/base/number_text.h"
#include "libmge/op/define.h"

namespace mge::ops {

constinit const OpInfo Preprocess::info = define<Preprocess>();

TensorSpecs Preprocess::infer(const Params& p, std::span<const TensorSpec> in) {
    auto &x = in[0].shape, &mean = in[1].shape;
    if (x.rank() != 4)
        throw_user(
            name,
            text("x has to have the shape ", p.channels_last ? "(N, H, W, C)" : "(N, C, H, W)", ", got ", x),
            ErrorClass::value);
    if (in[0].dtype == DType::boolean) throw_user(name, "x has to hold numbers, got bool", ErrorClass::type);
    for (size_t i : {1, 2})
        if (in[i].dtype != DType::f32 || in[i].shape.rank() != 1 || in[i].shape != mean)
            throw_user(
                name,
                text("mean and scale have to be float32 vectors of one length, got ", in[1], " and ", in[2]),
                ErrorClass::value);
    int64_t channels = p.channels_last ? x[3] : x[1];
    if (mean[0] < channels)
        throw_user(name, text("x has ", counted(channels, "channel"), ", mean and scale only ", mean[0]),
                   ErrorClass::value);
    if (p.channels_last) return {{DType::f32, {x[0], mean[0], x[1], x[2]}, {}}};
    return {{DType::f32, {x[0], mean[0], x[2], x[3]}, {}}};
}

}  // namespace mge::ops
