// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/reshape.h"

#include "libmge/op/define.h"

namespace mge::ops {
namespace {

[[noreturn]] void throw_mismatch(const Shape& from, const IntList& to) {
    throw_user(Reshape::name, text("cannot reshape ", from, " to ", to_text(ParamValue(to)),
                                   ": the numbers of elements differ"));
}

// The one extent that is -1 becomes what remains.
Shape complete(const Shape& from, const IntList& to) {
    int64_t known = 1;
    int free_axis = -1;
    IntList dims = to;
    for (size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] < -1 || (dims[i] == -1 && free_axis >= 0))
            throw_user(Reshape::name,
                       text("target ", to_text(ParamValue(to)), " may hold one -1 and no other negative"),
                       ErrorClass::value);
        if (dims[i] == -1)
            free_axis = int(i);
        else if (__builtin_mul_overflow(known, dims[i], &known))
            throw_mismatch(from, to);
    }
    if (free_axis >= 0) {
        if (known == 0 || from.numel() % known != 0) throw_mismatch(from, to);
        dims[size_t(free_axis)] = from.numel() / known;
    }
    Shape shape(dims);
    if (shape.numel() != from.numel()) throw_mismatch(from, to);
    return shape;
}

}  // namespace

constinit const OpInfo Reshape::info = define<Reshape>();

TensorSpecs Reshape::infer(const Params& p, std::span<const TensorSpec> in) {
    return {{in[0].dtype, complete(in[0].shape, p.shape), {}}};
}

Reshape::Params Reshape::resolve(const Params& p, std::span<const Tensor> values) {
    return values.empty() || !values[0] ? p : Params{host_values(values[0])};
}

Tensors Reshape::gradient(const GradientContext<Params>& g) {
    auto& dims = g.input("x").shape();
    return g.result({{"x", reshape(g.output_grad(), {.shape = IntList(dims.begin(), dims.end())})}});
}

}  // namespace mge::ops
