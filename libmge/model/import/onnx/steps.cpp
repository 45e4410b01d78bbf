// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/steps.h"

#include <algorithm>

#include "libmge/device/device.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/convert.h"
#include "libmge/ops/quantize/quantize.h"
#include "libmge/ops/quantize/quantized_add.h"
#include "libmge/ops/quantize/quantized_conv2d.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// Walks from a value to what it is made of.
class Origin {
public:
    Origin(GraphBuilder& builder, const Tensor& t) : builder_(&builder), t_(t) {
        bool is_here = t && t.is_symbolic() && t.impl()->symbol_owner == &builder;
        NodeId id = is_here ? builder.graph().value(t.impl()->symbol).producer : NodeId(-1);
        if (id >= 0) node_ = builder.graph().node(id);
    }
    const Tensor& tensor() const { return t_; }
    template <class Op>
    bool is() const {
        return node_.op == &Op::info;
    }
    template <class Op>
    const typename Op::Params& params() const {
        return node_.as<typename Op::Params>();
    }
    // Null when it has none there.
    Tensor input(size_t i) const {
        if (i >= node_.inputs.size() || node_.inputs[i] == no_value) return {};
        auto& value = builder_->graph().value(node_.inputs[i]);
        return value.is_constant() ? value.constant : builder_->symbol(node_.inputs[i]);
    }
    Origin of(size_t i) const { return {*builder_, input(i)}; }
    // The constant that an input is in another shape or dtype; else the input.
    Tensor constant_input(size_t i) const {
        Origin origin = of(i);
        while (origin.is<ops::Convert>() || origin.is<ops::AddAxis>() || origin.is<ops::Reshape>())
            origin = origin.of(0);
        bool is_constant = origin.tensor() && !origin.tensor().is_symbolic();
        return is_constant ? origin.tensor() : input(i);
    }
    // What a reshape has taken.
    Origin behind_reshape() const { return is<ops::Reshape>() && !input(1) ? of(0) : *this; }

private:
    GraphBuilder* builder_;
    Tensor t_;
    Node node_{};
};

bool is_one(const Tensor& t) { return t.shape().is_known() && t.shape().numel() == 1; }
Tensor as_one(const Tensor& t) { return ops::reshape(t, {.shape = {1}}); }
Tensor as_zero(const Tensor& t) { return t ? as_one(as_dtype(t, DType::i32)) : Tensor(); }

std::optional<Steps> steps_of(const Origin& origin) {
    if (!origin.is<ops::Dequantize>()) return std::nullopt;
    Steps steps{origin.input(0), origin.input(1), origin.constant_input(2)};
    return is_byte(steps.values.dtype()) ? std::optional(steps) : std::nullopt;
}

// One zero point where all channels have the same, null where that is 0, as constants tell; nullopt: they
// differ.
std::optional<Tensor> common_zero(const Tensor& zero) {
    if (!zero || (zero.is_symbolic() && is_one(zero))) return zero;
    if (zero.is_symbolic() || !zero.spec().numel()) return std::nullopt;
    IntList values = numbers_in(zero);
    bool is_same = std::ranges::all_of(values, [&](int64_t n) { return n == values[0]; });
    if (!is_same) return std::nullopt;
    return values[0] ? scalar_tensor(double(values[0]), DType::i32, host_device) : Tensor();
}

// What is left of an activation that follows, and which.
Activation take_activation(Origin& origin) {
    if (origin.is<ops::Relu>()) {
        origin = origin.of(0);
        return Activation::relu;
    }
    if (!origin.is<ops::Relu6>()) return Activation::none;
    origin = origin.of(0);
    return Activation::relu6;
}

Tensor added(const Origin& sum, bool relu, const Steps& y) {
    auto a = steps_of(sum.of(0)), b = steps_of(sum.of(1));
    bool fits = a && b && is_one(a->scale) && is_one(b->scale) && a->values.shape().is_known() &&
                a->values.shape() == b->values.shape();
    if (!fits) return {};
    return ops::quantized_add({a->values, b->values, as_one(a->scale), as_one(b->scale), as_one(y.scale),
                               as_zero(a->zero), as_zero(b->zero), as_zero(y.zero)},
                              {.relu = relu, .dtype = y.values.dtype()});
}

Tensor convolved(const Origin& convolution, const Tensor& bias, Activation activation, const Steps& y) {
    Origin weight = convolution.of(1);
    auto x = steps_of(convolution.of(0)), w = steps_of(weight.behind_reshape());
    if (!x || !w || !is_one(x->scale)) return {};
    w->values = ops::reshape(
        w->values, {.shape = IntList(weight.tensor().shape().begin(), weight.tensor().shape().end())});
    StepConvolution steps{*x, *w, {}, convolution.params<ops::Conv2d>()};
    steps.window.activation = activation;
    if (bias) {
        Tensor scale = ops::mul(as_one(x->scale), ops::reshape(w->scale, {.shape = {-1}}));
        steps.bias =
            ops::quantize(ops::reshape(bias, {.shape = {-1}}), scale, Tensor(), {.dtype = DType::i32});
    }
    return convolved_steps(steps, y);
}

}  // namespace

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

bool is_dequantised(const GraphBuilder& builder, const Tensor& t) {
    bool is_here = t.is_symbolic() && t.impl()->symbol_owner == &builder;
    NodeId id = is_here ? builder.graph().value(t.impl()->symbol).producer : NodeId(-1);
    return id >= 0 && builder.graph().node(id).op == &ops::Dequantize::info;
}

Tensor convolved_steps(const StepConvolution& c, const Steps& y) {
    auto zero = common_zero(c.weight.zero);
    if (!zero || (c.x.zero && !is_one(c.x.zero))) return {};
    ops::QuantizedConv2d::Params p{.stride = c.window.stride,
                                   .padding = c.window.padding,
                                   .dilation = c.window.dilation,
                                   .groups = c.window.groups,
                                   .activation = c.window.activation,
                                   .dtype = y.scale ? y.values.dtype() : DType::i32};
    Tensor scale =
        y.scale ? ops::mul(as_one(c.x.scale), ops::reshape(c.weight.scale, {.shape = {-1}})) : Tensor();
    Tensor none;
    return ops::quantized_conv2d(
        {c.x.values, c.weight.values, scale, c.bias, none, as_zero(c.x.zero), as_zero(*zero),
         y.scale ? as_one(y.scale) : none, as_zero(y.zero), none, none},
        p);
}

Tensor in_steps(GraphBuilder& builder, const Tensor& t, const Tensor& scale, const Tensor& zero,
                DType dtype) {
    if (!is_byte(dtype) || !is_one(scale) || (zero && !is_one(zero))) return {};
    // Only the dtype of the values is read.
    Steps y{scalar_tensor(0, dtype, host_device), scale, zero};
    Origin origin(builder, t);
    Activation activation = take_activation(origin);
    if (origin.is<ops::Conv2d>()) return convolved(origin, {}, activation, y);
    if (!origin.is<ops::Add>()) return {};
    if (origin.of(0).is<ops::Conv2d>()) return convolved(origin.of(0), origin.input(1), activation, y);
    return activation == Activation::relu6 ? Tensor() : added(origin, activation == Activation::relu, y);
}

}  // namespace mge::onnx
