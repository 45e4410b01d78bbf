// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tests/harness/check_op.h"

namespace mge::test {

// Runs the operator in each way the library has (eager, compiled, reloaded; on the host and on the other
// device) and compares the results with `expected`.
void check_execution_modes(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                           const Tensors& expected, const CheckOptions& options);

// An operator's inputs on the other device; host values stay on the host.
Tensors on_other_device(const OpInfo& op, std::span<const Tensor> tensors);
Tensors on_host(const Tensors& tensors);

// Records the run for the other device, if needed.
void report_run(const OpInfo& op, std::string_view candidate, Specs inputs, Specs outputs);

}  // namespace mge::test
