// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/measure.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>

#include "libmge/base/log.h"
#include "libmge/device/device.h"
#include "libmge/kernel/contest.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/launch.h"
#include "libmge/kernel/lookups.h"

namespace mge {
namespace {

// Caches see this much foreign data between two runs of a candidate, as they would inside a network.
constexpr int64_t eviction_bytes = int64_t(4) << 20;

// Operands with plausible data: random floats in [-1, 1), zeros for the rest (valid as indices).
class Scratch {
public:
    Scratch(const Problem& problem, std::span<const void* const> constants)
        : problem_(problem), queue_(queue_of(problem.device)) {
        for (size_t i = 0; i < problem.inputs.size(); ++i) {
            const void* constant = i < constants.size() ? constants[i] : nullptr;
            inputs_.push_back(!problem.has_input(i) ? Tensor{}
                              : constant            ? borrowed(problem.inputs[i], constant)
                                                    : filled(problem.inputs[i]));
        }
        for (auto& spec : problem.outputs) outputs_.push_back(zeros(spec, problem.output_device));
    }
    // By all threads: each has caches of its own, and none sleeps when the next run begins. Another device's
    // caches are left as they are.
    void evict() {
        if (!problem_.device.is_host()) return;
        if (!evictor_) evictor_ = queue_.allocate(size_t(eviction_bytes));
        constexpr int64_t page = 4096;
        auto* bytes = static_cast<char*>(evictor_->data);
        par_for(problem_.threads, eviction_bytes / page, 1, [&](int64_t begin, int64_t end) {
            std::memset(bytes + begin * page, 1, size_t((end - begin) * page));
        });
    }
    // Its pages are touched before a run is timed.
    void take_workspace(size_t bytes) {
        if (bytes <= workspace_bytes_) return;
        workspace_ = queue_.allocate(bytes);
        workspace_bytes_ = bytes;
        queue_.fill(workspace_->data, 0, bytes);
    }
    void run(const Algorithm& algorithm, const Prepared& prepared) {
        auto begin = queue_.record_time();
        launch(algorithm, prepared,
               {queue_, problem_.threads, nullptr, workspace_ ? workspace_->data : nullptr}, inputs_,
               outputs_);
        auto end = begin ? queue_.record_time() : nullptr;
        queue_.wait();
        own_milliseconds_ = end ? std::optional(end->milliseconds_since(*begin)) : std::nullopt;
    }
    // Of the last run, by the device's clock if it has one.
    std::optional<double> own_milliseconds() const { return own_milliseconds_; }

private:
    Tensor borrowed(const TensorSpec& spec, const void* data) const {
        return Tensor(spec, borrow_storage(data, spec.bytes(), nullptr), 0, problem_.device);
    }
    static Tensor zeros(const TensorSpec& spec, DeviceId device) {
        Tensor tensor = empty_tensor(spec, device);
        queue_of(device).fill(tensor.address(), 0, spec.bytes());
        return tensor;
    }
    Tensor filled(const TensorSpec& spec) {
        if (spec.dtype != DType::f32) return zeros(spec, problem_.device);
        std::vector<float> values(spec.bytes() / sizeof(float));
        uint32_t state = 12345;
        for (float& value : values) {
            state = state * 1664525u + 1013904223u;
            value = float(int32_t(state)) * 0x1p-31f;
        }
        return tensor_from_host(spec, values.data(), problem_.device);
    }

    const Problem& problem_;
    Queue& queue_;
    Tensors inputs_, outputs_;
    StorageRef workspace_, evictor_;
    size_t workspace_bytes_ = 0;
    std::optional<double> own_milliseconds_;
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
        Prepared prepared = named.algorithm->prepare({problem, named.candidate, constants, &options});
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
        scratch.take_workspace(contestants[i].prepared.workspace());
        scratch.evict();
    };
    auto run = [&](size_t i) { scratch.run(*contestants[i].named->algorithm, contestants[i].prepared); };
    auto own = [&] { return scratch.own_milliseconds(); };
    auto results = contest({contestants.size(), ready, run, own}, witness);
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
