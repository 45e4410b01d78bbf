// SPDX-License-Identifier: Apache-2.0
#pragma once
// Determines whether this run is slower than an earlier one, beyond random variation.
//
// The times of each side are divided into rounds of neighbouring runs, because neighbours share the state of
// the machine. The statistic (say the median) is computed for each round, and the median over the rounds
// represents the side. Its random error is estimated by resampling the rounds with replacement (a bootstrap):
// a change counts only if nearly all resamples exceed the limit.
//
// In turns (--baseline-tool) each round of one side is paired with one of the other, and the median of the
// ratios of the pairs is the change. Both sides are restarted several times, on the same CPUs: memory
// placement alone makes a process a few per cent slower or faster, and CPUs of a shared machine differ.

#include <span>
#include <string>
#include <vector>

#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// "p50>+3%": the figure of the latency may rise by this much.
struct Condition {
    std::string text, figure;  // figure: min, mean, max, or pNN
    double percentile = 0;     // for pNN
    double limit_percent = 0;
};
// UserError for an invalid condition.
Condition parse_condition(const std::string& text);

struct Verdict {
    double baseline = 0, current = 0;  // milliseconds
    double change_percent = 0;
    double low_percent = 0, high_percent = 0;  // bounds of the change, with 98 % confidence
    size_t rounds = 0;
    bool is_worse = false;  // surely beyond the limit
};
Verdict judge(const Condition& condition, std::span<const double> baseline, std::span<const double> current);

// The same from the figures of pairs of rounds, as many of each side.
Verdict judge_pairs(const Condition& condition, const std::vector<double>& baseline,
                    const std::vector<double>& current);

// An error for a file that is not a baseline, before the timed runs.
void check_baseline(const std::string& path);

// Stage: compares every test with the test of the same index in the --baseline report.
void compare_with_baseline(Job& job);

}  // namespace mge::load_and_run
