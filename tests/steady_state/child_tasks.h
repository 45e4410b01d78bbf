// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of the test program as a traced child: `mge_steady_state_test --child NAME`. Each task marks the
// measured part with mark_system_calls() and returns the exit status.

namespace mge::steady_state {

int make_three_system_calls();
int run_convolution_net();
int run_own_kernels();
int run_small_gradients();

}  // namespace mge::steady_state
