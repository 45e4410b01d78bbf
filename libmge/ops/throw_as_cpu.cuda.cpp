// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/throw_as_cpu.cuda.h"

#include "libmge/base/error.h"
#include "libmge/device/device.h"
#include "libmge/kernel/launch.h"
#include "libmge/op/backend.h"

namespace mge::ops {
namespace {

[[noreturn]] void throw_as_cpu(const OpInfo& op, const void* params, const OwnedProblem& owned,
                               const Launch& there) {
    Problem problem = make_problem(op, params, owned.inputs, owned.outputs);
    auto& reference = find_kernels(op, problem.device).back();
    Prepared prepared = reference.prepare({problem, {reference.name, 0, {}}, {}});
    Tensors inputs(owned.inputs.size()), outputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (owned.inputs[i].is_absent()) continue;
        inputs[i] = empty_tensor(owned.inputs[i], problem.device);
        there.queue->copy_to_host(inputs[i].data(), there.inputs[i], owned.inputs[i].bytes());
    }
    for (auto& spec : owned.outputs) outputs.push_back(empty_tensor(spec, problem.device));
    launch(reference, prepared, {queue_of(problem.device)}, inputs, outputs);
    MGE_CHECK(false, op.name, " found an error only on a GPU");
    __builtin_unreachable();
}

}  // namespace

void throw_as_cpu_if(const int* fault, const OpInfo& op, const void* params, const OwnedProblem& problem,
                     const Launch& launch) {
    int found = 0;
    launch.queue->copy_to_host(&found, fault, sizeof found);
    if (found) throw_as_cpu(op, params, problem, launch);
}

}  // namespace mge::ops
