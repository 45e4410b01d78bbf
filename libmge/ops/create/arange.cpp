// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/create/arange.h"

#include <algorithm>
#include <cmath>

#include "libmge/device/device.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"
#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/truncate.h"

namespace mge::ops {

namespace {

void check_number(const char* op, const char* which, const TensorSpec& spec) {
    if (spec.dtype == DType::boolean) throw_type_error(op, which, " must be one number, got ", spec);
    if (spec.shape.is_known() && spec.shape.numel() != 1)
        throw_value_error(op, which, " must be one number, got ", spec);
}

// The value of a host input; `otherwise` if it is absent.
double number(const char* op, const char* which, std::span<const Tensor> values, size_t at,
              double otherwise) {
    if (at >= values.size() || !values[at]) return otherwise;
    Tensor value = to_host(values[at]);
    check_number(op, which, value.spec());
    double result = 0;
    dispatch_dtype(value.dtype(), NumberTypes{},
                   [&]<class T>(std::type_identity<T>) { result = double(*value.template data<T>()); });
    return result;
}

}  // namespace

Arange::Params Arange::resolve(const Params& p, std::span<const Tensor> values) {
    return {number(name, "first", values, 0, p.start), number(name, "last", values, 1, p.stop),
            number(name, "gap", values, 2, p.step), p.dtype};
}

Linspace::Params Linspace::resolve(const Params& p, std::span<const Tensor> values) {
    return {p.start, p.stop, truncate_to_i64(number(name, "count", values, 0, double(p.num)))};
}

TensorSpecs Arange::infer(const Params& p, Specs) {
    constexpr double most = double(int64_t(1) << 59);
    double count = std::ceil((p.stop - p.start) / p.step);
    if (p.step == 0 || !(count < most))
        throw_user(name, text("start ", p.start, ", stop ", p.stop, ", step ", p.step,
                              " do not give a finite list"));
    if (p.dtype == DType::none || p.dtype == DType::boolean || is_narrow(p.dtype))
        throw_type_error(name, "needs a dtype of numbers");
    return {{p.dtype, {int64_t(std::max(0.0, count))}, {}}};
}

TensorSpecs Linspace::infer(const Params& p, Specs in) {
    for (size_t i = 0; i < in.size(); ++i)
        if (!in[i].is_absent()) check_number(name, i ? "last" : "first", in[i]);
    if (p.num < 0) throw_value_error(name, "num is ", p.num, ", it must not be negative");
    return {{DType::f32, {p.num}, {}}};
}

// y = start * linspace(1, 0) + stop * linspace(0, 1)
Tensors Linspace::gradient(const GradientContext<Params>& g) {
    const Tensor& dy = g.output_grad();
    auto grad_of_end = [&](std::string_view name, double at_start) {
        const Tensor& end = g.input(name);
        if (!end || !g.needs(name)) return Tensor();
        // The count places the weights beside dy.
        Tensor weight = linspace(Tensor(), Tensor(), shape_of(dy), {at_start, 1 - at_start});
        return convert_dtype(reshape_like(sum(mul(dy, weight)), end), end.dtype());
    };
    return g.result({{"first", grad_of_end("first", 1)}, {"last", grad_of_end("last", 0)}});
}

}  // namespace mge::ops
