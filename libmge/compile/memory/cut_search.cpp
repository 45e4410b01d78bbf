// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/memory/cut_search.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "libmge/base/log.h"
#include "libmge/base/threads/first_failure.h"
#include "libmge/base/threads/start_thread.h"
#include "libmge/base/threads/threads.h"

namespace mge {
namespace {

// Shorter segments would separate the values of one operator.
constexpr size_t smallest_threshold = 1024;

// Returns point n of a low-discrepancy sequence in [0, 1), so that more tries include those of fewer.
double even_point(unsigned n) {
    double result = 0, digit = 0.5;
    for (; n > 0; n /= 2, digit /= 2) result += digit * (n % 2);
    return result;
}

bool is_better(const CutSearch::Found& a, const CutSearch::Found& b) {
    return a.peak != b.peak ? a.peak < b.peak : a.cuts.count() < b.cuts.count();
}

}  // namespace

size_t Cuts::segment_of(NodeId node) const {
    return size_t(std::lower_bound(ends_.begin(), ends_.end(), node) - ends_.begin());
}

size_t Cuts::count_repeated() const { return size_t(std::ranges::count(repeats_, true)); }

Cuts CutSearch::cut(size_t threshold) const {
    std::vector<NodeId> ends;
    size_t sum = 0;
    for (size_t i = 0; i + 1 < bytes.size(); ++i) {
        sum += bytes[i];
        if (sum <= threshold || !may_end[i]) continue;
        ends.push_back(NodeId(i));
        sum = 0;
    }
    return Cuts(std::move(ends));
}

std::vector<size_t> CutSearch::evaluate(const std::vector<Cuts>& candidates) const {
    std::vector<size_t> peaks(candidates.size());
    std::atomic<size_t> next{0};
    FirstFailure failure;
    auto evaluate_next = [&] {
        for (size_t i = next++; i < candidates.size(); i = next++) peaks[i] = peak_of(candidates[i]);
    };
    auto workers = std::min(size_t(std::clamp(config.workers, 1, usable_cpus())), candidates.size());
    std::vector<std::thread> others;
    others.reserve(workers);
    failure.guard([&] {
        for (size_t i = 1; i < workers; ++i)
            others.push_back(start_thread([&] { failure.guard(evaluate_next); }));
        evaluate_next();
    });
    for (auto& thread : others) thread.join();
    failure.rethrow();
    return peaks;
}

void CutSearch::try_thresholds(const std::vector<size_t>& thresholds, std::vector<Found>& found) const {
    std::vector<Cuts> candidates;
    for (size_t threshold : thresholds) candidates.push_back(cut(threshold));
    auto peaks = evaluate(candidates);
    for (size_t i = 0; i < thresholds.size(); ++i) {
        if (log_level > 1)
            log_line(LogChannel::memory,
                     text("recomputation: threshold ", thresholds[i], " bytes: ", candidates[i].count(),
                          " segments, ", peaks[i], " bytes alive at once"));
        found.push_back({std::move(candidates[i]), peaks[i]});
    }
}

// A genetic search: children are mutations of one of the best candidates, or combine two of them.
void CutSearch::mutate(std::vector<Found>& pool) const {
    std::vector<NodeId> legal;
    for (size_t i = 0; i + 1 < bytes.size(); ++i)
        if (may_end[i] && bytes[i]) legal.push_back(NodeId(i));
    if (legal.empty()) return;
    std::mt19937 random(1);
    auto draw = [&](size_t n) { return size_t(random() % n); };
    auto size = size_t(config.pool);
    auto keep_best = [&] {
        std::ranges::stable_sort(pool, is_better);
        if (pool.size() > size) pool.erase(pool.begin() + long(size), pool.end());
    };
    keep_best();
    for (int round = 0; round < config.rounds; ++round) {
        std::vector<Cuts> children;
        for (size_t i = 0; i < size; ++i) {
            auto &a = pool[draw(pool.size())].cuts.ends(), &b = pool[draw(pool.size())].cuts.ends();
            NodeId seam = legal[draw(legal.size())];
            std::set<NodeId> ends;
            for (NodeId id : a)
                if (id < seam) ends.insert(id);
            for (NodeId id : b)
                if (id >= seam) ends.insert(id);
            for (size_t changes = 1 + draw(3); changes > 0; --changes) {
                NodeId id = legal[draw(legal.size())];
                if (!ends.erase(id)) ends.insert(id);
            }
            children.emplace_back(std::vector<NodeId>(ends.begin(), ends.end()));
        }
        auto peaks = evaluate(children);
        for (size_t i = 0; i < children.size(); ++i) pool.push_back({std::move(children[i]), peaks[i]});
        keep_best();
    }
}

// Last segments first, because their values are needed first.
void CutSearch::repeat_less(Found& found, size_t bound) const {
    size_t limit = std::max(found.peak, bound);
    for (size_t i = found.cuts.count(); i-- > 0;) {
        Cuts fewer = found.cuts;
        fewer.set_repeated(i, false);
        size_t peak = peak_of(fewer);
        if (peak > limit) continue;
        found = {std::move(fewer), peak};
    }
}

std::optional<CutSearch::Found> CutSearch::run(size_t plain_peak, size_t bound) const {
    size_t total = std::accumulate(bytes.begin(), bytes.end(), size_t(0));
    if (total == 0) return std::nullopt;
    std::vector<size_t> halves;
    for (size_t threshold = total; threshold >= smallest_threshold; threshold /= 2)
        halves.push_back(threshold);
    if (halves.empty()) halves.push_back(total / 2);
    std::vector<Found> found;
    try_thresholds(halves, found);
    size_t best = size_t(std::ranges::min_element(found, is_better) - found.begin());
    std::vector<size_t> around;
    for (int i = 0; i < config.tries; ++i)
        around.push_back(size_t(double(halves[best]) * (0.5 + 1.5 * even_point(unsigned(i) + 1))));
    try_thresholds(around, found);
    if (config.rounds > 0) mutate(found);
    Found result = *std::ranges::min_element(found, is_better);
    if (result.peak >= plain_peak) return std::nullopt;
    repeat_less(result, bound);
    return result;
}

}  // namespace mge
