// SPDX-License-Identifier: Apache-2.0
#include "snake.h"

namespace example {

using namespace mge;

constinit const OpInfo Snake::info = define<Snake>();

// The shape rule: returns the shape and dtype of the output, or throws an error that says what to change.
TensorSpecs Snake::infer(const Params& p, Specs in) {
    if (!(p.alpha > 0)) throw_value_error(name, "alpha must be positive, got ", p.alpha);
    if (!is_float(in[0].dtype))
        throw_user(name, text("x has to be floating, got ", in[0].dtype), ErrorClass::type);
    return {{in[0].dtype, in[0].shape, {}}};
}

// The gradient is written in operators, so that it runs everywhere and has a gradient itself.
// dx = dy · (1 + sin(2·alpha·x))
Tensors Snake::gradient(const GradientContext<Params>& g) {
    const Tensor &x = g.input("x"), &dy = g.output_grad();
    Tensor angle = ops::mul(x, ops::full_like(x, {.value = 2 * g.params.alpha}));
    return g.result({{"x", ops::add(dy, ops::mul(dy, ops::sin(angle)))}});
}

}  // namespace example
