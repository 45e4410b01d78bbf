// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "libmge/compile/program.h"

namespace mge::steady_state {

// A chain of own kernels on one thread, warmed up.
std::unique_ptr<Context> own_kernels();

// Convolutions, pooling, a matrix product and a softmax on two threads, through oneDNN where it is preferred;
// warmed up.
std::unique_ptr<Context> convolution_net();

// Both gradients of a tiny convolution on two threads.
std::unique_ptr<Context> small_gradients();

// A scan whose steps go round a while_loop, on one thread, warmed up.
std::unique_ptr<Context> nested_loops();

}  // namespace mge::steady_state
