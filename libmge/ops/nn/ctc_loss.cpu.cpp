// SPDX-License-Identifier: Apache-2.0
// The forward-backward algorithm over the label with a blank before, between and after its classes.
// Logarithms of probabilities in double precision throughout.
#include "libmge/ops/nn/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

constexpr double never = -std::numeric_limits<double>::infinity();
// Probabilities below count as this, and have no gradient.
constexpr float smallest = std::numeric_limits<float>::min();

using State = ProblemState<CtcLoss::Params>;

struct Sample {
    const float* x;  // at step 0
    int64_t step;    // elements from one time step to the next
    int64_t steps;
    std::vector<int64_t> path;  // blank, class, blank, …, class, blank

    double log_probability(int64_t t, int64_t c) const {
        return std::log(double(std::max(x[t * step + c], smallest)));
    }
    int64_t states() const { return int64_t(path.size()); }
    // A blank may be left out between two different classes, of which one may be that of the blank itself.
    bool may_skip_to(int64_t state) const {
        return state >= 2 && path[size_t(state)] != path[size_t(state - 2)];
    }
};

bool is_late_start(int64_t step, int64_t state) { return step == 0 && state >= 2; }

double log_sum(double a, double b) {
    double high = std::max(a, b);
    return high == never ? never : high + std::log1p(std::exp(std::min(a, b) - high));
}

void check_length(const char* what, int64_t value, int64_t limit, int64_t sample) {
    if (value < 0 || value > limit)
        throw_user(CtcLoss::name,
                   text(what, " of sample ", sample, " must be in [0, ", limit, "], got ", value),
                   ErrorClass::assertion);
}

// Checks the values as well.
std::vector<Sample> make_samples(const State& s, const Launch& launch) {
    auto &x = s.inputs[0].shape, &labels = s.inputs[2].shape;
    bool is_padded = labels.rank() == 2;
    int64_t at = 0;  // in a vector of labels
    std::vector<Sample> samples;
    for (int64_t n = 0; n < x[1]; ++n) {
        int64_t steps = launch.in<int32_t>(1)[n], length = launch.in<int32_t>(3)[n];
        check_length("length", steps, x[0], n);
        check_length("label length", length, is_padded ? labels[1] : labels[0] - at, n);
        const int32_t* label = launch.in<int32_t>(2) + (is_padded ? n * labels[1] : at);
        Sample sample{launch.in<float>(0) + n * x[2], x[1] * x[2], steps, {s.params.blank}};
        for (int64_t i = 0; i < length; ++i) {
            check_length("label", label[i], x[2] - 1, n);
            sample.path.insert(sample.path.end(), {label[i], s.params.blank});
        }
        samples.push_back(std::move(sample));
        at += length;
    }
    if (!is_padded && at != labels[0])
        throw_user(CtcLoss::name,
                   text("the label lengths sum up to ", at, ", there are ", labels[0], " labels"),
                   ErrorClass::assertion);
    return samples;
}

// forward[t][i]: log of the probability of state i at step t, after emitting steps 0 … t. A sequence may
// begin in any state: in the first two with their probability, otherwise with `smallest`, for any emission.
std::vector<double> forward_pass(const Sample& sample) {
    int64_t states = sample.states();
    std::vector<double> forward(size_t(sample.steps * states), never);
    for (int64_t t = 0; t < sample.steps; ++t)
        for (int64_t i = 0; i < states; ++i) {
            auto before = [&](int64_t from) { return forward[size_t((t - 1) * states + from)]; };
            if (is_late_start(t, i)) {
                forward[size_t(i)] = std::log(double(smallest));
                continue;
            }
            double reached = t == 0 ? 0 : before(i);
            if (t > 0 && i >= 1) reached = log_sum(reached, before(i - 1));
            if (t > 0 && sample.may_skip_to(i)) reached = log_sum(reached, before(i - 2));
            forward[size_t(t * states + i)] = reached + sample.log_probability(t, sample.path[size_t(i)]);
        }
    return forward;
}

// The path ends in its last blank or in the class before.
double log_likelihood(const Sample& sample, const std::vector<double>& forward) {
    int64_t states = sample.states();
    if (sample.steps == 0) return states == 1 ? 0 : never;
    const double* last = forward.data() + (sample.steps - 1) * states;
    return states == 1 ? last[0] : log_sum(last[states - 1], last[states - 2]);
}

void run_loss(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto samples = make_samples(s, launch);
    par_for(launch.threads, int64_t(samples.size()), 1, [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) {
            auto& sample = samples[size_t(n)];
            launch.out<float>(0)[n] = float(-log_likelihood(sample, forward_pass(sample)));
        }
    });
}

// With backward[i] the log of the probability to come from state i at step t to the end:
// dL/dx[t, c] = −Σ exp(forward[t][i] + backward[i] − log-likelihood) / x[t, c] over the states i of class c
void add_gradient(const Sample& sample, double dloss, float* dx) {
    auto forward = forward_pass(sample);
    double likelihood = log_likelihood(sample, forward);
    if (likelihood == never) return;  // no path, nothing to improve
    int64_t states = sample.states();
    std::vector<double> backward(size_t(states), never), next;
    for (int64_t t = sample.steps - 1; t >= 0; --t) {
        next = backward;
        for (int64_t i = 0; i < states; ++i) {
            auto after = [&](int64_t to) {
                return next[size_t(to)] + sample.log_probability(t + 1, sample.path[size_t(to)]);
            };
            bool is_last = t == sample.steps - 1;
            double rest = is_last ? (i >= states - 2 ? 0 : never) : after(i);
            if (!is_last && i + 1 < states) rest = log_sum(rest, after(i + 1));
            if (!is_last && i + 2 < states && sample.may_skip_to(i + 2)) rest = log_sum(rest, after(i + 2));
            backward[size_t(i)] = rest;
            int64_t place = t * sample.step + sample.path[size_t(i)];
            if (sample.x[place] >= smallest && !is_late_start(t, i))
                dx[place] -= float(dloss * std::exp(forward[size_t(t * states + i)] + rest - likelihood) /
                                   sample.x[place]);
        }
    }
}

void run_backward(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto samples = make_samples(s, launch);
    float* dx = launch.out<float>(0);
    std::fill_n(dx, s.outputs[0].numel(), 0.0F);
    par_for(launch.threads, int64_t(samples.size()), 1, [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n)
            add_gradient(samples[size_t(n)], launch.in<float>(4)[n], dx + n * s.inputs[0].shape[2]);
    });
}

}  // namespace

KernelList kernels(Cpu, CtcLoss) {
    // A measurement's made-up lengths are refused.
    return one_algorithm<copy_problem<CtcLoss::Params>, run_loss>("forward_backward", {.unmeasured = true});
}
KernelList kernels(Cpu, CtcLossBackward) {
    // A measurement's made-up lengths are refused.
    return one_algorithm<copy_problem<CtcLoss::Params>, run_backward>("forward_backward",
                                                                      {.unmeasured = true});
}

}  // namespace mge::ops
