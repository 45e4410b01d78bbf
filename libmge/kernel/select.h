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
class Lookups;
struct Packing;
class PackedCopyNotes;
class PackedWeightCache;
class PrepareTogether;
struct SurroundingProgram;

// The source of a choice, in the words of load_and_run's report.
enum class ChoiceSource { heuristic, cache, measured, plan };
MGE_API std::string_view name_of(ChoiceSource source);

// One measured candidate.
struct Measurement {
    std::string name;
    double milliseconds = 0;
    size_t workspace = 0;
    Attributes attributes{};
    // Number of successive searches that could not trust this time, because of other load on the machine; 0:
    // trusted. `doubted_at`, in seconds since 1970, was the last of them.
    int doubts = 0;
    int64_t doubted_at = 0;
};

// Runs a prepared candidate a few times on scratch data and returns the time of one run, or nullopt if it is
// far behind `best_ms`. Injectable, so that tests can provide costs.
using CostSource =
    std::function<std::optional<double>(const Problem&, const Algorithm&, const Prepared&, double best_ms)>;

struct SelectOptions {
    bool heuristic = true;      // the first of the list that is supported and fits
    bool profile = false;       // fast-run: cache, otherwise measure (with `heuristic` too: cache, otherwise
                                // heuristic; never measure)
    bool reproducible = false;  // only algorithms with that attribute
    bool optimized = false;     // never a naive one
    // The result for an item is the same, bit by bit, in whatever batch it is: excludes
    // accuracy_depends_on_batch and chooses as for a batch of one.
    bool same_between_batches = false;
    bool reference = false;  // the last of the list, which defines the meaning; comes before profile
    std::string forced;      // exactly this algorithm, by name; comes before all others
    size_t workspace_limit = SIZE_MAX;
    // Convolutions, products and pooling are measured with this batch size instead of theirs; 0: with theirs.
    int64_t shared_batch_size = 0;
    FastrunCache* cache = nullptr;
    Lookups* lookups = nullptr;  // those of one compilation; null: each choice reads the cache itself
    CostSource measure;          // empty: the built-in cold measurement
    // Shared by all algorithms that are prepared for one program. All are null where one algorithm is
    // prepared by itself.
    PrepareTogether* together = nullptr;         // collects work that is cheaper when done once for many
    PackedCopyNotes* packed_copies = nullptr;    // records each copy of a constant that is packed
    PackedWeightCache* weight_cache = nullptr;   // packed constants of earlier processes
    const SurroundingProgram* around = nullptr;  // the program that contains the inner graphs of control
                                                 // operators

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
    double milliseconds = 0;   // as measured now or once; 0 for a heuristic choice
    bool is_doubtful = false;  // that time is not trusted
    std::string problem;       // its key
};

// Chooses and prepares. DeviceError when no algorithm of the list accepts the problem, or the forced one does
// not: it names each with its reason.
MGE_API Choice select(KernelList list, const Problem& problem, std::span<const void* const> constants,
                      const SelectOptions& options);

// The records and the cache for the constants that the algorithm packs.
MGE_API Packing packing_of(const PrepareContext& context);

// The cost of the problem with the algorithm that select() would choose by its time, without preparing it.
struct Cost {
    double milliseconds = 0;
    double doubtful = 0;  // the part of them that is not trusted
    Cost& operator+=(const Cost& other) {
        milliseconds += other.milliseconds;
        doubtful += other.doubtful;
        return *this;
    }
};
// By 3 %, and by the possible error of the doubtful parts: the gain required to override the heuristic's
// choice.
MGE_API bool is_surely_faster(const Cost& a, const Cost& than);
// Looked up, or measured if the options allow that; nullopt if no time is known.
MGE_API std::optional<Cost> find_cost(KernelList list, const Problem& problem,
                                      std::span<const void* const> constants, const SelectOptions& options);
// The workspace of the algorithm that select() would choose by the heuristic, as far as measured times
// contain it: nothing is prepared.
MGE_API std::optional<size_t> find_heuristic_workspace(KernelList list, const Problem& problem,
                                                       const SelectOptions& options);

// All candidates of a list that accept the problem, in order of preference; refusals go to MGE_LOG=dispatch.
struct NamedCandidate {
    const Algorithm* algorithm;
    Candidate candidate;
};
MGE_API std::vector<NamedCandidate> list_candidates(KernelList list, const Problem& problem);

}  // namespace mge
