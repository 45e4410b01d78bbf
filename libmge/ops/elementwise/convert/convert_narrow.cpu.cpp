// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert/convert_narrow.h"

#include "libmge/kernel/cpu/rows/scalar_rows.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

template <class T>
void narrow_element(const void* const* in, void* out, const void* params) {
    auto& p = *static_cast<const ConvertNarrow::Params*>(params);
    auto x = ComputedAs<T>(*static_cast<const T*>(in[0]));
    *static_cast<uint8_t*>(out) = narrow_bits(p.dtype, double(x), p.overflow, p.rounding);
}

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    cpu::ElementFn run = nullptr;
    dispatch_dtype(problem.inputs[0].dtype, Types<Half, BFloat16, float, double>{},
                   [&]<class T>(std::type_identity<T>) { run = narrow_element<T>; });
    auto& p = problem.as<ConvertNarrow::Params>();
    return cpu::prepare_elements(problem, run, &p, sizeof p);
}

}  // namespace

KernelList kernels(Cpu, ConvertNarrow) {
    static constexpr Algorithm list[] = {{"reference", always, prepare, cpu::run_elements}};
    return list;
}

}  // namespace mge::ops
