// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/lookups.h"

#include <algorithm>
#include <ctime>

#include "libmge/kernel/fastrun_cache.h"
#include "libmge/kernel/measure/witness.h"

namespace mge {
namespace {

// Slower ones do not affect a choice.
constexpr double contender_factor = 1.5;

// Doubted once: ten minutes later; then after four times as long each time, up to a month.
constexpr int64_t first_wait_s = 600;
constexpr int most_doublings = 6;

// More is large, whatever the operands of a step are.
constexpr int64_t most_program_bytes = int64_t(1) << 40;

}  // namespace

Lookups::Lookups() : Lookups(nullptr, [] { return int64_t(std::time(nullptr)); }) {}
Lookups::Lookups(std::unique_ptr<Witness> witness, std::function<int64_t()> now)
    : given_(std::move(witness)), now_(std::move(now)) {}
Lookups::~Lookups() = default;

const std::vector<NamedCandidate>& Lookups::Known::listed(KernelList list, const Problem& problem) {
    if (!candidates) candidates = list_candidates(list, problem);
    return *candidates;
}

const Lookups::Times& Lookups::keep_measured(Known& known, std::vector<Measurement> measured) {
    ++measured_;
    return known.times.emplace(Times{std::move(measured), ChoiceSource::measured});
}

Witness& Lookups::witness(int threads) {
    if (given_) return *given_;
    auto& witness = witnesses_[threads];
    if (!witness) witness = system_witness(threads);
    return *witness;
}

bool Lookups::may_measure_again(const std::vector<Measurement>& doubted, int threads) {
    for (auto& m : doubted) {
        if (!m.doubts) continue;
        // A time in the future, from a wrong clock or an untrusted file, counts as old.
        int64_t wait = first_wait_s << 2 * std::clamp(m.doubts - 1, 0, most_doublings);
        if (m.doubted_at <= now() && m.doubted_at > now() - wait) return false;
    }
    auto it = is_quiet_.find(threads);
    if (it == is_quiet_.end()) it = is_quiet_.emplace(threads, is_quiet(witness(threads))).first;
    return it->second;
}

Neighbourhood Lookups::neighbourhood(const Problem& problem) const {
    if (!problem.device.is_host() || program_bytes_ > most_program_bytes) return {};
    int64_t own = 0;
    for (auto* specs : {&problem.inputs, &problem.outputs})
        for (auto& spec : *specs)
            if (spec.shape.is_known()) own += int64_t(spec.bytes());
    return Neighbourhood::of_bytes(std::max<int64_t>(program_bytes_ - own, 0));
}

Neighbourhood neighbourhood_of(const Problem& problem, const SelectOptions& options) {
    // Times of one batch serve programs of all batches, which touch more or less.
    if (!options.lookups || options.shared_batch_size) return {};
    return options.lookups->neighbourhood(problem);
}

bool is_known_to_work(const Problem& problem, const SelectOptions& options) {
    if (!options.profile || !options.cache || !options.lookups || options.shared_batch_size) return false;
    auto& times = options.lookups->of(problem).times;
    if (!times) {
        auto stored = options.cache->find(problem, options.lookups->neighbourhood(problem));
        // A doubtful time may be measured again when it is needed.
        if (!stored || is_doubtful(*stored)) return false;
        times.emplace(Lookups::Times{std::move(*stored)});
    }
    return std::ranges::any_of(times->measured, [&](auto& m) {
        return !m.attributes.naive && options.accepts(m.attributes) && m.workspace <= options.workspace_limit;
    });
}

bool is_doubtful(const std::vector<Measurement>& measured) {
    if (measured.empty()) return false;
    double limit = contender_factor * measured.front().milliseconds;
    return std::ranges::any_of(measured, [&](auto& m) { return m.doubts > 0 && m.milliseconds <= limit; });
}

}  // namespace mge
