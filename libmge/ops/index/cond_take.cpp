// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/cond_take.h"

#include "libmge/op/int32_places.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::ops {

TensorSpecs CondTake::infer(const Params&, Specs in) {
    if (in[1].dtype != DType::boolean) throw_value_error(name, "mask must be bool, got ", in[1].dtype);
    if (!(in[0].shape == in[1].shape))
        throw_user(name,
                   text("x has shape ", in[0].shape, ", the mask ", in[1].shape, ": they must be equal"));
    require_int32_places(name, in[0].numel());
    return {{in[0].dtype, Shape::unknown(), {}}, {DType::i32, Shape::unknown(), {}}};
}

Tensors CondTake::gradient(const GradientContext<Params>& g) {
    if (!g.output_grad(0)) return g.result({});
    Tensor zeros = full_like(reshape(g.input("x"), {.shape = {-1}}), {.value = 0});
    Tensor flat = add_take({zeros, g.output_grad(0), g.output(1)}, {.axes = {0}});
    return g.result({{"x", reshape_like(flat, g.input("x"))}});
}

}  // namespace mge::ops
