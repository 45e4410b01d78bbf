// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/measure.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>
#include <tuple>

#include "libmge/base/log.h"
#include "libmge/device/device.h"
#include "libmge/kernel/contest.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/lookups.h"

namespace mge {
namespace {

// Caches see this much foreign data between two runs of a candidate, as they would inside a network.
constexpr int64_t eviction_bytes = int64_t(4) << 20;

// Buffers filled with plausible data: random floats in [-1, 1), zeros for integers (valid as indices).
class Scratch {
public:
    Scratch(const Problem& problem, std::span<const void* const> constants) {
        for (size_t i = 0; i < problem.inputs.size(); ++i) {
            const void* constant = i < constants.size() ? constants[i] : nullptr;
            inputs_.push_back(constant ? constant : problem.has_input(i) ? fill(problem.inputs[i]) : nullptr);
        }
        for (auto& spec : problem.outputs) outputs_.push_back(buffer(spec.bytes()));
    }
    // By all threads: each has caches of its own, and none sleeps when the next run begins.
    void evict(int threads) {
        if (!evictor_) evictor_ = device({}).allocate(size_t(eviction_bytes));
        constexpr int64_t page = 4096;
        auto* bytes = static_cast<char*>(evictor_->data);
        par_for(threads, eviction_bytes / page, 1, [&](int64_t begin, int64_t end) {
            std::memset(bytes + begin * page, 1, size_t((end - begin) * page));
        });
    }
    void prepare_for(const Prepared& prepared, const Problem& problem) {
        if (prepared.workspace() <= workspace_bytes_) return;
        workspace_ = device(problem.device).allocate(prepared.workspace());
        workspace_bytes_ = prepared.workspace();
    }
    void run(const Algorithm& algorithm, const Prepared& prepared, const Problem& problem) {
        algorithm.run(prepared,
                      {inputs_, outputs_, workspace_ ? workspace_->data : nullptr, problem.threads});
    }

private:
    void* buffer(size_t bytes) {
        StorageRef storage = device({}).allocate(bytes);
        std::memset(storage->data, 0, bytes);
        owned_.push_back(storage);
        return storage->data;
    }
    void* fill(const TensorSpec& spec) {
        void* data = buffer(spec.bytes());
        if (spec.dtype != DType::f32) return data;
        uint32_t state = 12345;
        for (float *p = static_cast<float*>(data), *end = p + spec.bytes() / 4; p < end; ++p) {
            state = state * 1664525u + 1013904223u;
            *p = float(int32_t(state)) * 0x1p-31f;
        }
        return data;
    }

    std::vector<StorageRef> owned_;
    std::vector<const void*> inputs_;
    std::vector<void*> outputs_;
    StorageRef workspace_, evictor_;
    size_t workspace_bytes_ = 0;
};

struct Contestant {
    const NamedCandidate* named;
    Prepared prepared;
    std::optional<ContestResult> result;
};

std::vector<Contestant> prepare_all(const std::vector<NamedCandidate>& candidates, const Problem& problem,
                                    std::span<const void* const> constants, const SelectOptions& options,
                                    bool naive) {
    std::vector<Contestant> result;
    for (auto& named : candidates) {
        if (named.candidate.attributes.naive != naive) continue;
        Prepared prepared = named.algorithm->prepare({problem, named.candidate, constants});
        if (prepared.workspace() <= options.workspace_limit)
            result.push_back({&named, std::move(prepared), {}});
    }
    return result;
}

void feed_costs(std::vector<Contestant>& contestants, const Problem& problem, const CostSource& source) {
    double best = std::numeric_limits<double>::infinity();
    for (auto& c : contestants)
        if (auto time = source(problem, *c.named->algorithm, c.prepared, best)) {
            c.result = {*time};
            best = std::min(best, *time);
        }
}

void time_all(std::vector<Contestant>& contestants, const Problem& problem,
              std::span<const void* const> constants, Witness& witness) {
    if (contestants.empty()) return;
    Scratch scratch(problem, constants);
    auto ready = [&](size_t i) {
        scratch.prepare_for(contestants[i].prepared, problem);
        scratch.evict(problem.threads);
    };
    auto run = [&](size_t i) {
        scratch.run(*contestants[i].named->algorithm, contestants[i].prepared, problem);
    };
    auto results = contest({contestants.size(), ready, run}, witness);
    for (size_t i = 0; i < results.size(); ++i) contestants[i].result = results[i];
}

}  // namespace

void sort_by_time(std::vector<Measurement>& measured) {
    std::ranges::sort(measured, {}, [](const Measurement& m) { return std::tie(m.milliseconds, m.name); });
}

std::vector<Measurement> measure_candidates(const std::vector<NamedCandidate>& candidates,
                                            const Problem& problem, std::span<const void* const> constants,
                                            const SelectOptions& options) {
    auto contestants = prepare_all(candidates, problem, constants, options, false);
    if (contestants.empty()) contestants = prepare_all(candidates, problem, constants, options, true);
    if (options.measure)
        feed_costs(contestants, problem, options.measure);
    else if (options.lookups)
        time_all(contestants, problem, constants, options.lookups->witness(problem.threads));
    else
        time_all(contestants, problem, constants, *system_witness(problem.threads));

    std::vector<Measurement> result;
    for (auto& c : contestants) {
        if (!c.result) continue;
        bool is_doubtful = c.result->is_doubtful;
        result.push_back({c.named->candidate.name, c.result->milliseconds, c.prepared.workspace(),
                          c.named->candidate.attributes, is_doubtful ? 1 : 0,
                          is_doubtful ? int64_t(std::time(nullptr)) : 0});
    }
    sort_by_time(result);
    if (log_enabled(LogChannel::fastrun))
        for (auto& m : result)
            log_line(LogChannel::fastrun, text(problem.key(), ": ", m.name, ' ', m.milliseconds, " ms",
                                               m.doubts ? ", doubtful: the machine is busy" : ""));
    return result;
}

}  // namespace mge
