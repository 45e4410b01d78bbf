// SPDX-License-Identifier: Apache-2.0
#pragma once
// The search for cuts of recompute.cpp.

#include <functional>
#include <optional>
#include <vector>

#include "libmge/compile/options/options.h"
#include "libmge/graph/graph.h"

namespace mge {

// Segments of the nodes before the turn.
class Cuts {
public:
    // `ends` are the last nodes of all segments except the last, ascending. Initially all segments are
    // repeated.
    explicit Cuts(std::vector<NodeId> ends) : ends_(std::move(ends)), repeats_(ends_.size() + 1, true) {}
    const std::vector<NodeId>& ends() const { return ends_; }
    bool repeats(NodeId node) const { return repeats_[segment_of(node)]; }
    // True if a segment ends at or after `from` and before `to`.
    bool is_crossed(NodeId from, NodeId to) const { return to > from && segment_of(from) != segment_of(to); }
    size_t count() const { return repeats_.size(); }
    size_t count_repeated() const;
    void set_repeated(size_t segment, bool on) { repeats_[segment] = on; }

private:
    size_t segment_of(NodeId node) const;
    std::vector<NodeId> ends_;
    std::vector<bool> repeats_;
};

struct CutSearch {
    struct Found {
        Cuts cuts;
        size_t peak;
    };
    const RecomputeOptions& config;
    int log_level;
    std::vector<size_t> bytes;                   // by node: bytes that it adds to a segment's values
    std::vector<bool> may_end;                   // by node: a segment may end with it
    std::function<size_t(const Cuts&)> peak_of;  // called from several threads

    // Returns nullopt if no cuts bring the peak below `plain_peak`. Segments are repeated only if that lowers
    // the peak, and not below `bound`.
    std::optional<Found> run(size_t plain_peak, size_t bound) const;

private:
    Cuts cut(size_t threshold) const;
    std::vector<size_t> evaluate(const std::vector<Cuts>& candidates) const;
    void try_thresholds(const std::vector<size_t>& thresholds, std::vector<Found>& found) const;
    void mutate(std::vector<Found>& pool) const;
    void repeat_less(Found& found, size_t bound) const;
};

}  // namespace mge
