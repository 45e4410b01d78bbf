// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tests/harness/check_op.h"

namespace mge::test {

// Runs the operator in each way the library has (eager; traced and compiled) and compares the results with
// `expected`.
void check_execution_modes(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                           const Tensors& expected, const CheckOptions& options);

}  // namespace mge::test
