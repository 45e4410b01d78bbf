// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/effect/assert_equal.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "libmge/device/queue.h"
#include "libmge/ops/effect/on_host.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {

TensorSpecs AssertEqual::infer(const Params&, Specs in) {
    if (!(in[0].shape == in[1].shape))
        throw_user(name, text("the shapes differ: ", in[0].shape, " and ", in[1].shape), ErrorClass::runtime);
    return {{DType::f32, Shape{}, {}}};
}

namespace {

struct State {
    TensorSpec spec;
    DeviceId device;
    AssertEqual::Params params;
};

// NaN if one of them is NaN.
double error_of(double expected, double actual) {
    if (expected == actual || (std::isnan(expected) && std::isnan(actual))) return 0;
    return std::abs(expected - actual) / std::max(std::min(std::abs(expected), std::abs(actual)), 1.0);
}

double largest_error(const TensorSpec& spec, const void* expected, const void* actual) {
    double largest = 0;
    dispatch_dtype(spec.dtype, AllTypes{}, [&]<class T>(std::type_identity<T>) {
        auto *a = static_cast<const T*>(expected), *b = static_cast<const T*>(actual);
        for (int64_t i = 0, n = spec.numel(); i < n; ++i) {
            double error = error_of(double(ComputedAs<T>(a[i])), double(ComputedAs<T>(b[i])));
            if (!(error <= largest)) largest = error;
            if (std::isnan(error)) return;
        }
    });
    return largest;
}

std::string first_difference(const TensorSpec& spec, const void* expected, const void* actual) {
    std::string found;
    dispatch_dtype(spec.dtype, AllTypes{}, [&]<class T>(std::type_identity<T>) {
        auto *a = static_cast<const T*>(expected), *b = static_cast<const T*>(actual);
        int64_t i = 0;
        while (error_of(double(ComputedAs<T>(a[i])), double(ComputedAs<T>(b[i]))) == 0) ++i;
        found = text(+ComputedAs<T>(b[i]));
    });
    return found;
}

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    return Prepared::make(State{problem.inputs[0], problem.device, problem.as<AssertEqual::Params>()});
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    size_t bytes = state.spec.bytes();
    OnHost expected(state.device, launch, 0, bytes), actual(state.device, launch, 1, bytes);
    auto error = float(largest_error(state.spec, expected.data(), actual.data()));
    if (state.params.verbose) std::fprintf(stderr, "assert_equal: error %.3g\n", double(error));
    bool holds = double(error) <= state.params.max_error;
    if (!holds && !state.params.claim.empty())
        throw UserError(
            text(state.params.claim, ", got ", first_difference(state.spec, expected.data(), actual.data())));
    if (!holds)
        throw Error(
            ErrorCode::accuracy, ErrorClass::runtime,
            text("[", AssertEqual::name, "] error ", error, ", the limit is ", state.params.max_error));
    if (state.device.is_host())
        *launch.out<float>(0) = error;
    else
        launch.queue->copy_from_host(launch.outputs[0], &error, sizeof error);
}

}  // namespace

KernelList kernels(Cpu, AssertEqual) {
    static constexpr Algorithm list[] = {{"host", always, prepare, run, {.unmeasured = true}}};
    return list;
}

}  // namespace mge::ops
