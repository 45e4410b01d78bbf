// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/ctc_loss.h"

namespace mge::ops {

namespace {

void check_inputs(std::string_view who, const CtcLoss::Params& p, Specs in) {
    auto& x = in[0];
    if (x.dtype != DType::f32) throw_type_error(who, "x must be float32, got ", x.dtype);
    if (x.shape.rank() != 3)
        throw_user(who, text("x must have shape (T, N, C), got ", x.shape), ErrorClass::assertion);
    const char* names[] = {"", "lengths", "labels", "label_lengths"};
    for (size_t i = 1; i < 4; ++i)
        if (in[i].dtype != DType::i32) throw_type_error(who, names[i], " must be int32, got ", in[i].dtype);
    Shape samples{x.shape[1]};
    for (size_t i : {1, 3})
        if (in[i].shape != samples)
            throw_user(who, text(names[i], " must have shape ", samples, ", got ", in[i].shape),
                       ErrorClass::assertion);
    auto& labels = in[2].shape;
    if (labels.rank() != 1 && (labels.rank() != 2 || labels[0] != samples[0]))
        throw_user(who, text("labels must be a vector or have shape (", samples[0], ", S), got ", labels),
                   ErrorClass::assertion);
    if (p.blank < 0 || p.blank >= x.shape[2])
        throw_user(who, text("blank must be one of the ", x.shape[2], " classes, got ", p.blank),
                   ErrorClass::assertion);
}

}  // namespace

TensorSpecs CtcLoss::infer(const Params& p, Specs in) {
    check_inputs(name, p, in);
    return {{DType::f32, {in[0].shape[1]}, {}}};
}

Tensors CtcLoss::gradient(const GradientContext<Params>& g) {
    Tensor dx = ctc_loss_backward(g.input("x"), g.input("lengths"), g.input("labels"),
                                  g.input("label_lengths"), g.output_grad(), g.params);
    return g.result({{"x", dx}});
}

TensorSpecs CtcLossBackward::infer(const Params& p, Specs in) {
    check_inputs(name, p, in);
    if (in[4].dtype != DType::f32 || in[4].shape != Shape{in[0].shape[1]})
        throw_user(name, text("dloss must be float32 of shape ", Shape{in[0].shape[1]}, ", got ", in[4].dtype,
                              " of shape ", in[4].shape));
    return {{DType::f32, in[0].shape, {}}};
}

namespace {

// The places of labels and of the blanks around them at all steps; those that padding adds count as well.
double lattice_size(Specs in) {
    return double(in[0].shape[0]) * (2 * element_count(in[2]) + double(in[0].shape[1]));
}

}  // namespace

// Each place sums up to three that it comes from, and multiplies by a probability.
double CtcLoss::operations(const Params&, Specs in, Specs) { return 3 * lattice_size(in); }
// Forwards and backwards; both meet in a product and a sum, and each element of x divides.
double CtcLossBackward::operations(const Params&, Specs in, Specs out) {
    return 8 * lattice_size(in) + element_count(out);
}

}  // namespace mge::ops
