// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/batch_norm.h"

#include "libmge/op/define.h"

namespace mge::ops {

constinit const OpInfo BatchNorm::info = define<BatchNorm>();
constinit const OpInfo BatchNormBackward::info = define<BatchNormBackward>();

namespace {

// x is (samples, channels, ...) and every other input has one f32 per channel.
void check_channels(std::string_view who, std::span<const InputInfo> infos, std::span<const TensorSpec> in,
                    size_t first_statistic) {
    if (in[0].shape.rank() < 2)
        throw_user(who, text("x must have at least 2 axes, got shape ", in[0].shape), ErrorClass::value);
    for (size_t i = first_statistic; i < in.size(); ++i) {
        if (in[i].dtype != DType::f32)
            throw_user(who, text(infos[i].name, " must be float32, got ", in[i].dtype), ErrorClass::type);
        if (in[i].numel() != in[0].shape[1])
            throw_user(who,
                       text(infos[i].name, " must have one element for each of the ", in[0].shape[1],
                            " channels of x, got shape ", in[i].shape),
                       ErrorClass::value);
    }
}

}  // namespace

TensorSpecs BatchNorm::infer(const Params&, std::span<const TensorSpec> in) {
    check_channels(name, inputs, in, 1);
    if (in[2].shape != in[1].shape)
        throw_user(name, text("bias must have the shape ", in[1].shape, " of scale, got ", in[2].shape),
                   ErrorClass::value);
    TensorSpec saved{DType::f32, {in[0].shape[1]}, {}};
    return {{in[0].dtype, in[0].shape, {}},
            {DType::f32, in[3].shape, {}},
            {DType::f32, in[4].shape, {}},
            saved,
            saved};
}

Tensors BatchNorm::gradient(const GradientContext<Params>& g) {
    if (!g.output_grad()) return g.result({});
    Tensors grads = batch_norm_backward(g.input("x"), g.output_grad(), g.input("scale"), g.output(3),
                                        g.output(4), {.training = g.params.training});
    return g.result({{"x", grads[0]}, {"scale", grads[1]}, {"bias", grads[2]}});
}

TensorSpecs BatchNormBackward::infer(const Params&, std::span<const TensorSpec> in) {
    check_channels(name, inputs, in, 2);
    if (in[1].shape != in[0].shape)
        throw_user(name, text("dy must have the shape ", in[0].shape, " of x, got ", in[1].shape),
                   ErrorClass::value);
    TensorSpec factor{DType::f32, in[2].shape, {}};
    return {{in[0].dtype, in[0].shape, {}}, factor, factor};
}

}  // namespace mge::ops
