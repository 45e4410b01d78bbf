// SPDX-License-Identifier: Apache-2.0
// Operators as a third party would write them: a shared object that links libmge.so. Built several times,
// each with another mistake: see tests/CMakeLists.txt.
#include <cmath>
#include <stdexcept>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/op/define.h"
#include "libmge/op/operator_library.h"
#include "libmge/ops/all.h"

namespace vendor {

using namespace mge;

// y = scale · x³
struct Cube {
    static constexpr auto name = OPERATOR_NAME;
    static constexpr auto doc = "The cube of each element, scaled.";
    static constexpr auto inputs = names("x");
    static constexpr auto outputs = output_names("y");
    static constexpr OpTraits traits{.promotion = Promotion::floating, .elementwise = true};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    struct Params {
        double scale = 1;
    };
    static constexpr auto fields =
        field_list(field<&Params::scale>("scale", "What the cube is multiplied by."));

    static TensorSpecs infer(const Params& p, Specs in) {
        if (!std::isfinite(p.scale)) throw_user(name, "scale must be finite", ErrorClass::value);
        return {in[0]};
    }
    static Tensors gradient(const GradientContext<Params>& g) {
        Tensor slope = ops::full_like(g.input("x"), {.value = 3 * g.params.scale});
        return g.result({{"x", ops::mul(g.output_grad(), ops::mul(slope, ops::square(g.input("x"))))}});
    }
    static const OpInfo info;
};
constinit const OpInfo Cube::info = define<Cube>();

Support only_f32(const Problem& problem) {
    if (problem.inputs[0].dtype != DType::f32) return {"only f32"};
    return plain_layouts(problem);
}
void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<ProblemState<Cube::Params>>();
    if (state.params.scale < 0) throw std::runtime_error("negative scales are not for this kernel");
    par_for(launch.threads, state.inputs[0].numel(), parallel_grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            float x = launch.in<float>(0)[i];
            launch.out<float>(0)[i] = float(state.params.scale) * x * x * x;
        }
    });
}

KernelList kernels(Cpu, Cube) {
#ifdef NO_KERNELS
    return {};
#else
    static constexpr Algorithm list[] = {
        {"test_parallel", only_f32, copy_problem<Cube::Params>, run},
        {"test_reference", only_f32, copy_problem<Cube::Params>, run, {.naive = true}},
    };
    return list;
#endif
}

#ifdef MISSING_SYMBOL
void undefined_function();
#endif

}  // namespace vendor

#ifndef NO_ENTRY
extern "C" MGE_API const mge::OperatorLibrary* mge_operators() {
    static constexpr auto tables = mge::operator_tables(mge::TypeList<vendor::Cube>{});
    static constinit mge::OperatorLibrary library = mge::make_operator_library(LIBRARY_NAME, tables);
#ifdef OTHER_ABI
    library.abi = mge::backend_abi + 1;
    library.name = nullptr;
#endif
#ifdef MISSING_SYMBOL
    vendor::undefined_function();
#endif
    return &library;
}
#endif

#ifdef DEVICES
// A type of devices without kernels, which is never opened.
extern "C" MGE_API const mge::Backend* mge_backend() {
    static const mge::Backend backend{mge::backend_abi, DEVICES, {}, 2, [](int) -> mge::Device& {
                                          throw std::runtime_error("this device is only a name");
                                      }};
    return &backend;
}
#endif
