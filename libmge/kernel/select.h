// SPDX-License-Identifier: Apache-2.0
#pragma once
// The only place where an algorithm is chosen.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libmge/kernel/algorithm.h"

namespace mge {

class FastrunCache;

// Where a choice came from; the words of load_and_run's report.
enum class ChoiceSource { heuristic, cache, measured, plan };
MGE_API std::string_view name_of(ChoiceSource source);

// One measured candidate.
struct Measurement {
    std::string name;
    double milliseconds = 0;
    size_t workspace = 0;
    Attributes attributes{};
};

// Runs a prepared candidate a few times on scratch data and says how long one run takes, or nullopt when it
// is hopeless next to `best_ms`. Injectable, so that tests can feed costs.
using CostSource =
    std::function<std::optional<double>(const Problem&, const Algorithm&, const Prepared&, double best_ms)>;

struct SelectOptions {
    bool heuristic = true;  // the first of the list that is supported and fits
    bool profile =
        false;  // fast-run: cache, else measure (with `heuristic` too: cache, else heuristic; never measure)
    bool reproducible = false;  // only algorithms with that attribute
    bool optimized = false;     // never a naive one
    // The result for an item is the same, bit by bit, in whatever batch it is: excludes
    // accuracy_depends_on_batch and chooses as for a batch of one.
    bool same_between_batches = false;
    bool reference = false;  // the last of the list, which defines the meaning; comes before profile
    std::string forced;      // exactly this algorithm, by name; comes before all others
    size_t workspace_limit = SIZE_MAX;
    // Convolutions, products and pooling are measured with this batch, whatever theirs is; 0: with theirs.
    int64_t shared_batch_size = 0;
    FastrunCache* cache = nullptr;
    CostSource measure;  // empty: the built-in cold measurement

    // Whether an algorithm with these attributes may be chosen.
    bool accepts(const Attributes& a) const {
        return !(reproducible && !a.reproducible) && !(optimized && a.naive) &&
               !(same_between_batches && a.accuracy_depends_on_batch);
    }
};

struct Choice {
    const Algorithm* algorithm = nullptr;
    Candidate candidate;
    Prepared prepared;
    ChoiceSource source = ChoiceSource::heuristic;
    double milliseconds = 0;  // as measured now or once; 0 for a heuristic choice
    std::string problem;      // its key
};

// Chooses and prepares. DeviceError when no algorithm of the list accepts the problem, or the forced one does
// not: it names each with its reason.
MGE_API Choice select(KernelList list, const Problem& problem, std::span<const void* const> constants,
                      const SelectOptions& options);

// All candidates of a list that accept the problem, in order of preference; refusals go to MGE_LOG=dispatch.
struct NamedCandidate {
    const Algorithm* algorithm;
    Candidate candidate;
};
MGE_API std::vector<NamedCandidate> list_candidates(KernelList list, const Problem& problem);

}  // namespace mge
