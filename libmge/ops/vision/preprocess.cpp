// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/preprocess.h"

#include "libmge/base/number_text.h"

namespace mge::ops {

TensorSpecs Preprocess::infer(const Params& p, Specs in) {
    auto &x = in[0].shape, &mean = in[1].shape;
    if (x.rank() != 4)
        throw_value_error(name, "x must have the shape ", p.channels_last ? "(N, H, W, C)" : "(N, C, H, W)",
                          ", got ", x);
    if (in[0].dtype == DType::boolean) throw_type_error(name, "x must hold numbers, got bool");
    for (size_t i : {1, 2})
        if (in[i].dtype != DType::f32 || in[i].shape.rank() != 1 || !can_be_same(name, in[i].shape, mean))
            throw_value_error(name, "mean and scale must be float32 vectors of equal length, got ", in[1],
                              " and ", in[2]);
    Extent channels = x.extent(p.channels_last ? 3 : 1);
    if (!can_be_at_least(name, mean.extent(0), channels))
        throw_value_error(name, "x has ", counted(channels.number(), "channel"), ", but mean and scale only ",
                          mean[0]);
    Shape y = x;
    if (p.channels_last) {
        y.erase(3);
        y.insert(1, mean.extent(0));
    } else {
        y.set(1, mean.extent(0));
    }
    return {{DType::f32, y, {}}};
}

}  // namespace mge::ops
