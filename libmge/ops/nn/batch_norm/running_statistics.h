// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>

#include "libmge/ops/nn/batch_norm/batch_norm.h"

namespace mge::ops {

// Statistics of one channel of a batch; the variance divided by the number of elements.
struct ChannelStatistics {
    double mean, variance;
};

// The state of batch normalisation between runs, and the values saved for its gradient.
struct RunningStatistics {
    RunningStatistics() = default;
    RunningStatistics(const BatchNorm::Params& params, int64_t elements_per_channel)
        : count_(elements_per_channel),
          takes_batch_(params.training && elements_per_channel > 0),  // an empty batch says nothing
          momentum_(params.momentum),
          epsilon_(params.epsilon) {}

    // Writes the outputs new_mean, new_var, saved_mean and saved_inv_std of a channel. They may be in place
    // of the running ones, which are read before.
    void store(const Launch& launch, int64_t channel, ChannelStatistics of_batch) const {
        double running_mean = launch.in<float>(3)[channel], running_var = launch.in<float>(4)[channel];
        double mean = takes_batch_ ? of_batch.mean : running_mean;
        double variance = takes_batch_ ? of_batch.variance : running_var;
        launch.out<float>(3)[channel] = float(mean);
        launch.out<float>(4)[channel] = float(1 / std::sqrt(variance + epsilon_));
        if (takes_batch_) {
            // var·n/(n − 1): of one element the unbiased variance is not known, the biased one is 0
            double unbiased = variance * double(count_) / std::max(1.0, double(count_) - 1);
            running_mean = momentum_ * running_mean + (1 - momentum_) * mean;
            running_var = momentum_ * running_var + (1 - momentum_) * unbiased;
        }
        launch.out<float>(1)[channel] = float(running_mean);
        launch.out<float>(2)[channel] = float(running_var);
    }

private:
    int64_t count_ = 0;
    bool takes_batch_ = false;
    double momentum_ = 0, epsilon_ = 0;
};

}  // namespace mge::ops
