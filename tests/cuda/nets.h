// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small nets of the kinds that people run, each with all that a training of it needs.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "libmge/train/optimizer.h"

namespace mge::test {

struct Net {
    const char* name;
    Parameters parameters;
    Tensors data;    // the inputs
    Tensor targets;  // for each row of the output, the probabilities of classes
    // Training: batch norms take the statistics of the data.
    Tensor (*output)(const Parameters&, std::span<const Tensor> data, bool training);
    std::function<std::unique_ptr<Optimizer>(Parameters&)> make_optimizer;
};

// Convolutions, batch norms and residuals; depthwise convolutions, squeeze and excite; embedding, attention
// and layer norms; an LSTM; the quickstart's net, with dropout; transposed convolutions and joins. On the
// CPU, the same in each process.
std::vector<Net> make_nets();

}  // namespace mge::test
