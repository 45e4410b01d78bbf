// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the test program does when it is started as a traced child: `mge_steady_state_test --child NAME`.
// Each task marks the stretch that counts with mark_system_calls() and returns the exit status.

namespace mge::steady_state {

int make_three_system_calls();
int run_convolution_net();
int run_own_kernels();
int run_small_gradients();

}  // namespace mge::steady_state
