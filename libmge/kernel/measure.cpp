// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <tuple>

#include "libmge/base/log.h"
#include "libmge/device/device.h"

namespace mge {
namespace {

// Caches see this much foreign data between two runs of a candidate, as they would inside a network.
constexpr size_t eviction_bytes = size_t(4) << 20;
constexpr int finalists_runs = 7;
constexpr double finalist_factor = 1.5;  // survivors of the first stage: within this factor of the best
constexpr double hopeless_factor = 4;    // two runs this much slower than the best: no more
constexpr double absurd_factor = 40;     // one run this much slower: no second one

double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

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
    void evict() {
        if (!evictor_) evictor_ = device({}).allocate(eviction_bytes);
        std::memset(evictor_->data, 1, eviction_bytes);
    }
    double time(const Algorithm& algorithm, const Prepared& prepared, const Problem& problem) {
        if (prepared.workspace() > workspace_bytes_) {
            workspace_ = device(problem.device).allocate(prepared.workspace());
            workspace_bytes_ = prepared.workspace();
        }
        Launch launch{inputs_, outputs_, workspace_ ? workspace_->data : nullptr, problem.threads};
        auto start = std::chrono::steady_clock::now();
        algorithm.run(prepared, launch);
        return milliseconds_since(start);
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
    std::vector<double> times;
    // The lower quartile: what else runs on the machine only ever makes a run slower.
    double typical() const {
        auto sorted = times;
        size_t quarter = sorted.size() / 4;
        std::nth_element(sorted.begin(), sorted.begin() + long(quarter), sorted.end());
        return sorted[quarter];
    }
};

CostSource cold_cost(Scratch& scratch) {
    return [&scratch](const Problem& problem, const Algorithm& algorithm, const Prepared& prepared,
                      double best) -> std::optional<double> {
        scratch.evict();
        double first = scratch.time(algorithm, prepared, problem);
        if (first > absurd_factor * best) return std::nullopt;
        scratch.evict();
        double faster = std::min(first, scratch.time(algorithm, prepared, problem));
        if (faster > hopeless_factor * best) return std::nullopt;
        return faster;
    };
}

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

}  // namespace

std::vector<Measurement> measure_candidates(const std::vector<NamedCandidate>& candidates,
                                            const Problem& problem, std::span<const void* const> constants,
                                            const SelectOptions& options) {
    auto contestants = prepare_all(candidates, problem, constants, options, false);
    if (contestants.empty()) contestants = prepare_all(candidates, problem, constants, options, true);
    Scratch scratch(problem, constants);
    CostSource measure = options.measure ? options.measure : cold_cost(scratch);

    double best = std::numeric_limits<double>::infinity();
    for (auto& c : contestants)
        if (auto time = measure(problem, *c.named->algorithm, c.prepared, best)) {
            c.times.push_back(*time);
            best = std::min(best, *time);
        }
    std::erase_if(contestants, [&](auto& c) { return c.times.empty(); });
    bool injected = bool(options.measure);
    for (int run = 0; run < finalists_runs && !injected; ++run)
        for (auto& c : contestants) {
            if (c.times.front() > finalist_factor * best) continue;
            scratch.evict();
            c.times.push_back(scratch.time(*c.named->algorithm, c.prepared, problem));
        }

    std::vector<Measurement> result;
    for (auto& c : contestants)
        result.push_back(
            {c.named->candidate.name, c.typical(), c.prepared.workspace(), c.named->candidate.attributes});
    // Equal times in the cache's order, so that what is found there is what was measured.
    std::ranges::sort(result, {}, [](const Measurement& m) { return std::tie(m.milliseconds, m.name); });
    if (log_enabled(LogChannel::fastrun))
        for (auto& m : result)
            log_line(LogChannel::fastrun, text(problem.key(), ": ", m.name, ' ', m.milliseconds, " ms"));
    return result;
}

}  // namespace mge
