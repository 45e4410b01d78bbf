// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/linalg/matmul.h"
#include "libmge/kernel/cpu/in_other_dtype.h"
#include "libmge/kernel/cpu/separate_activation.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/linalg/matmul_algorithms.h"
#include "libmge/ops/linalg/matmul_geometry.h"
#include "libmge/ops/linalg/packing.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

struct Reference {
    MatmulGeometry geometry;
    DType in, out;
    Activation activation;
    bool is_bias_wide, is_residual_wide;  // in the dtype of y if that differs from the operands'
};

bool is_wide(const Problem& p, size_t input) {
    return p.has_input(input) && p.inputs[input].dtype != p.inputs[0].dtype;
}

Prepared prepare_reference(const PrepareContext& context) {
    auto& p = context.problem;
    auto& params = p.as<Matmul::Params>();
    return Prepared::make(Reference{matmul_geometry(params, p.inputs[0].shape, p.inputs[1].shape),
                                    p.inputs[0].dtype, p.outputs[0].dtype, params.activation, is_wide(p, 2),
                                    is_wide(p, 3)});
}

// Sums are made in double (floats) or 64 bits that wrap (integers), bias and activation in float.
template <class In, class Out>
void multiply(const Reference& r, const Launch& launch) {
    constexpr bool integer = std::is_integral_v<In>;
    using Sum = std::conditional_t<integer, uint64_t, double>;
    using Wide = std::conditional_t<integer, int64_t, ComputedAs<In>>;
    auto& g = r.geometry;
    auto summand = [&](size_t input, bool is_wide, int64_t i) {
        if (launch.inputs.size() <= input || !launch.inputs[input]) return Sum(0);
        return Sum(is_wide ? Wide(launch.in<Out>(input)[i]) : Wide(launch.in<In>(input)[i]));
    };
    Out* y = launch.out<Out>(0);
    for (int64_t batch = 0, i = 0; batch < g.batches(); ++batch) {
        const In* a = launch.in<In>(0) + g.a_offset(batch);
        const In* b = launch.in<In>(1) + g.b_offset(batch);
        for (int64_t m = 0; m < g.m; ++m)
            for (int64_t n = 0; n < g.n; ++n, ++i) {
                Sum sum = 0;
                for (int64_t k = 0; k < g.k; ++k)
                    sum += Sum(Wide(a[m * g.a_stride_m + k * g.a_stride_k])) *
                           Sum(Wide(b[k * g.b_stride_k + n * g.b_stride_n]));
                sum += summand(2, r.is_bias_wide, n) + summand(3, r.is_residual_wide, i);
                if constexpr (integer)
                    y[i] = Out(sum);
                else if (r.activation == Activation::none)
                    y[i] = Out(ComputedAs<Out>(sum));
                else
                    y[i] = Out(apply_activation(r.activation, float(sum)));
            }
    }
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& r = prepared.state<Reference>();
    dispatch_dtype(r.in, NumberTypes{}, [&]<class In>(std::type_identity<In>) {
        using Out = std::conditional_t<std::is_integral_v<In> && sizeof(In) < 4, int32_t, In>;
        multiply<In, Out>(r, launch);
    });
}

KernelList widening_products() {
    static const Algorithm list[] = {tiles_matmul(), cpu::separate_activation<Matmul, onednn_matmul>(),
                                     onednn_matmul()};
    return list;
}

}  // namespace

KernelList kernels(Cpu, Matmul) {
    static const Algorithm list[] = {
        row_matmul(),
        small_matmul(),
        cpu::in_bf16<widening_products, cpu::Bf16Unit::tiles>(),
        split_matmul(),
        tiles_matmul(),
        packed_matmul(),
        outer_matmul(),
        cpu::separate_activation<Matmul, onednn_matmul>(),
        onednn_matmul(),
        packing_matmul(),
        cpu::in_bf16<widening_products, cpu::Bf16Unit::vectors>(),
        half_matmul(),
        cpu::in_f32<Cpu, Matmul>(),
        integer_matmul(),
        {"reference", plain_layouts, prepare_reference, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
