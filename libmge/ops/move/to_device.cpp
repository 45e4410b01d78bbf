// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/move/to_device.h"

namespace mge::ops {

TensorSpecs ToDevice::infer(const Params&, Specs in) { return {{in[0].dtype, in[0].shape, {}}}; }

Tensors ToDevice::gradient(const GradientContext<Params>& g) {
    return g.result({{"x", to_device(g.output_grad(), {.device = g.input("x").device()})}});
}

namespace {

struct Journey {
    DeviceId from, to;
    size_t bytes;
};

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    return Prepared::make(Journey{p.device, p.output_device, p.inputs[0].bytes()});
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& journey = prepared.state<Journey>();
    copy_between(journey.to, launch.outputs[0], journey.from, launch.inputs[0], journey.bytes);
}

}  // namespace

KernelList kernels(Cpu, ToDevice) {
    static constexpr Algorithm list[] = {{"queue_copy", always, prepare, run}};
    return list;
}

}  // namespace mge::ops
