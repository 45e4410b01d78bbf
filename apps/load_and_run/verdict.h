// SPDX-License-Identifier: Apache-2.0
#pragma once
// Is this run slower than an earlier one, beyond what chance explains? The times of each side are cut into
// rounds, stretches of neighbouring runs, because neighbours share what the machine was doing then. The
// figure (say the median) is taken in each round and the median of the rounds stands for the side. How far
// that could be off by chance is seen by drawing rounds with replacement many times over (a bootstrap): a
// change counts only when nearly all of these drawings agree that it is beyond the limit.
//
// In turns (--baseline-tool) a round of one side has a neighbour of the other, and the median of the ratios
// of such pairs is the change. Both sides are started anew several times, on the same CPUs: where the memory
// of a process comes to lie alone makes it a few per cent slower or faster, and CPUs of a shared machine
// differ.

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
// UserError when it is no condition.
Condition parse_condition(const std::string& text);

struct Verdict {
    double baseline = 0, current = 0;  // milliseconds
    double change_percent = 0;
    double low_percent = 0, high_percent = 0;  // between them lies the change, with 98 % confidence
    size_t rounds = 0;
    bool is_worse = false;  // surely beyond the limit
};
Verdict judge(const Condition& condition, std::span<const double> baseline, std::span<const double> current);

// The same from the figures of pairs of rounds, as many of each side.
Verdict judge_pairs(const Condition& condition, const std::vector<double>& baseline,
                    const std::vector<double>& current);

// An error for a file that is no baseline, before anything is timed.
void check_baseline(const std::string& path);

// Stage: compares every test with that of the same number in the --baseline report.
void compare_with_baseline(Job& job);

}  // namespace mge::load_and_run
