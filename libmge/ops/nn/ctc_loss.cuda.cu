// SPDX-License-Identifier: Apache-2.0
// The forward-backward algorithm, a block for each sample: its threads go over the states of one step after
// the other. Logarithms of probabilities in double precision throughout.
#include "libmge/ops/nn/ctc_loss.cuda.h"

#include "libmge/kernel/cuda/rows.cuh"

namespace mge::cuda {
namespace {

// Probabilities below count as this, and have no gradient.
constexpr float smallest = 1.17549435e-38f;

MGE_DEVICE double never() { return -__builtin_huge_val(); }
MGE_DEVICE bool is_late_start(int64_t step, int64_t state) { return step == 0 && state >= 2; }
MGE_DEVICE double log_sum(double a, double b) {
    double high = a > b ? a : b, low = a > b ? b : a;
    return high == never() ? never() : high + ::log1p(::exp(low - high));
}

struct Sample {
    const float* x;  // at step 0
    const int32_t* label;
    int64_t step;  // elements from one time step to the next
    int64_t steps, states;
    int64_t base;  // number of its first state among those of all samples
    int64_t blank;
    bool is_bad;

    MGE_DEVICE int64_t class_of(int64_t state) const { return state % 2 ? label[state / 2] : blank; }
    MGE_DEVICE double log_probability(int64_t t, int64_t state) const {
        float p = x[t * step + class_of(state)];
        return ::log(double(p < smallest ? smallest : p));
    }
    // A blank may be left out between two different classes, of which one may be that of the blank itself.
    MGE_DEVICE bool may_skip_to(int64_t state) const {
        return state >= 2 && class_of(state) != class_of(state - 2);
    }
};

// The start of a sample's labels in a vector of them.
MGE_DEVICE int64_t labels_before(const CtcInputs& in, int64_t n) {
    int64_t sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        sum += in.label_lengths[i] > 0 ? in.label_lengths[i] : 0;
    return across_block(sum, Plus());
}
MGE_DEVICE bool is_within(int64_t value, int64_t limit) { return value >= 0 && value <= limit; }

MGE_DEVICE Sample sample_of(const Ctc& ctc, const CtcInputs& in, int64_t n) {
    int64_t at = ctc.label_row ? n * ctc.label_row : labels_before(in, n);
    int64_t length = in.label_lengths[n], limit = ctc.label_row ? ctc.label_row : ctc.labels - at;
    Sample s{in.x + n * ctc.classes,
             in.labels + at,
             ctc.samples * ctc.classes,
             in.lengths[n],
             2 * length + 1,
             2 * at + n,
             ctc.blank,
             false};
    int faults = !is_within(s.steps, ctc.steps) || !is_within(length, limit);
    if (!faults)
        for (int64_t i = threadIdx.x; i < length; i += blockDim.x)
            faults += !is_within(s.label[i], ctc.classes - 1);
    s.is_bad = across_block(faults, Plus()) > 0;
    return s;
}

// forward(t)[i]: log of the probability of state i at step t, after emitting steps 0 … t. Row t begins at
// `forward` + t % rows * row. A sequence may begin in any state: in the first two with their probability,
// otherwise with `smallest`, for any emission.
MGE_DEVICE void forward_pass(const Sample& s, double* forward, int64_t row, int64_t rows) {
    for (int64_t t = 0; t < s.steps; ++t) {
        const double* before = forward + (t + rows - 1) % rows * row;
        double* now = forward + t % rows * row;
        for (int64_t i = threadIdx.x; i < s.states; i += blockDim.x) {
            double reached = t > 0 ? before[i] : 0;
            if (t > 0 && i >= 1) reached = log_sum(reached, before[i - 1]);
            if (t > 0 && s.may_skip_to(i)) reached = log_sum(reached, before[i - 2]);
            now[i] = is_late_start(t, i) ? ::log(double(smallest)) : reached + s.log_probability(t, i);
        }
        __syncthreads();
    }
}
// The path ends in its last blank or in the class before.
MGE_DEVICE double log_likelihood(const Sample& s, const double* last) {
    if (s.steps == 0) return s.states == 1 ? 0 : never();
    return s.states == 1 ? last[0] : log_sum(last[s.states - 1], last[s.states - 2]);
}

__global__ void ctc_losses(Ctc ctc, CtcInputs in, float* loss, double* forward) {
    for (int64_t n = blockIdx.x; n < ctc.samples; n += gridDim.x) {
        Sample s = sample_of(ctc, in, n);
        int64_t row = 2 * ctc.labels + ctc.samples;
        if (!s.is_bad) forward_pass(s, forward + s.base, row, 2);
        if (threadIdx.x == 0)
            loss[n] = s.is_bad ? __uint_as_float(0x7fc00000)  // NaN
                               : float(-log_likelihood(s, forward + s.base + (s.steps + 1) % 2 * row));
    }
}

// Log of the probability to come from state i at step t to the end, from those of the step behind.
MGE_DEVICE double backward_from(const Sample& s, int64_t t, int64_t i, const double* next) {
    if (t == s.steps - 1) return i >= s.states - 2 ? 0 : never();
    auto after = [&](int64_t to) { return next[to] + s.log_probability(t + 1, to); };
    double rest = after(i);
    if (i + 1 < s.states) rest = log_sum(rest, after(i + 1));
    if (i + 2 < s.states && s.may_skip_to(i + 2)) rest = log_sum(rest, after(i + 2));
    return rest;
}

// links[i]: the next state of the same class, or -1; less than -1 when there is one before, so that who
// comes first adds up the others.
MGE_DEVICE int64_t link_of(const Sample& s, int64_t i) {
    int64_t next = i + 1, before = i - 1;
    while (next < s.states && s.class_of(next) != s.class_of(i)) ++next;
    while (before >= 0 && s.class_of(before) != s.class_of(i)) --before;
    int64_t link = next < s.states ? next : -1;
    return before >= 0 ? -3 - link : link;
}
MGE_DEVICE bool is_first(int64_t link) { return link >= -1; }
MGE_DEVICE int64_t next_of(int64_t link) { return is_first(link) ? link : -3 - link; }

// dL/dx[t, c] = −Σ exp(forward[t][i] + backward[i] − log-likelihood) / x[t, c] over the states i of class c
MGE_DEVICE void add_gradients(const Sample& s, int64_t t, const double* terms, const int64_t* links,
                              double dloss, float* dx) {
    for (int64_t i = threadIdx.x; i < s.states; i += blockDim.x) {
        if (!is_first(links[i])) continue;
        double sum = 0;
        for (int64_t j = i; j >= 0; j = next_of(links[j])) sum += terms[j];
        int64_t at = t * s.step + s.class_of(i);
        if (s.x[at] >= smallest) dx[at] = float(-dloss * sum / double(s.x[at]));
    }
}

__global__ void ctc_gradients(Ctc ctc, CtcInputs in, const float* dloss, float* dx, double* workspace) {
    int64_t row = 2 * ctc.labels + ctc.samples;
    for (int64_t n = blockIdx.x; n < ctc.samples; n += gridDim.x) {
        Sample s = sample_of(ctc, in, n);
        if (s.is_bad || s.steps == 0) continue;
        double *forward = workspace + s.base, *backward = forward + ctc.steps * row;
        double* terms = backward + 2 * row;
        auto* links = reinterpret_cast<int64_t*>(terms + row);
        for (int64_t i = threadIdx.x; i < s.states; i += blockDim.x) links[i] = link_of(s, i);
        forward_pass(s, forward, row, ctc.steps);
        double likelihood = log_likelihood(s, forward + (s.steps - 1) * row);
        if (likelihood == never()) continue;  // no path, nothing to improve
        for (int64_t t = s.steps - 1; t >= 0; --t) {
            double *now = backward + t % 2 * row, *next = backward + (t + 1) % 2 * row;
            for (int64_t i = threadIdx.x; i < s.states; i += blockDim.x) {
                now[i] = backward_from(s, t, i, next);
                terms[i] = is_late_start(t, i) ? 0 : ::exp(forward[t * row + i] + now[i] - likelihood);
            }
            __syncthreads();
            add_gradients(s, t, terms, links, dloss[n], dx + n * ctc.classes);
            __syncthreads();
        }
    }
}

constexpr int ctc_threads = 128;  // labels are short: more would have nothing to do

}  // namespace

void ctc_loss(Stream stream, const Ctc& ctc, const CtcInputs& in, float* loss, double* workspace) {
    launch(ctc_losses, bounded_blocks(ctc.samples), ctc_threads, 0, stream, ctc, in, loss, workspace);
}
void ctc_loss_backward(Stream stream, const Ctc& ctc, const CtcInputs& in, const float* dloss, float* dx,
                       double* workspace) {
    launch(ctc_gradients, bounded_blocks(ctc.samples), ctc_threads, 0, stream, ctc, in, dloss, dx, workspace);
}

}  // namespace mge::cuda
