// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/measure/measure.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "libmge/base/files/file.h"
#include "libmge/base/log.h"
#include "libmge/device/device.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/launch.h"
#include "libmge/kernel/lookups.h"
#include "libmge/kernel/measure/contest.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge {
namespace {

// A CPU's caches see this much foreign data between two runs of a candidate, as they would inside a large
// network.
constexpr int64_t large_eviction_bytes = int64_t(4) << 20;

// Operands with plausible data: random floats in [-1, 1), zeros for the rest (valid as indices).
class Scratch {
public:
    Scratch(const Problem& problem, std::span<const void* const> constants, Neighbourhood beside)
        : problem_(problem), queue_(queue_of(problem.device)), beside_(beside) {
        for (size_t i = 0; i < problem.inputs.size(); ++i) {
            const void* constant = i < constants.size() ? constants[i] : nullptr;
            inputs_.push_back(!problem.has_input(i) ? Tensor{}
                              : constant            ? borrowed(problem.inputs[i], constant)
                                                    : filled(problem.inputs[i]));
        }
        for (auto& spec : problem.outputs) outputs_.push_back(zeros(spec, problem.output_device));
    }
    // Sets the caches to their state before the candidate runs in the program: the part of its operands and
    // packed weights that was not evicted since the last run. On a CPU with all threads: each has its own
    // caches, and none sleeps when the next run begins.
    void set_caches(const Algorithm& algorithm, const Prepared& prepared) {
        if (!beside_.is_large()) run(algorithm, prepared);
        evict();
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
    // Duration of the last run by the device's clock, if it has one.
    std::optional<double> own_milliseconds() const { return own_milliseconds_; }

private:
    void evict() {
        bool is_host = problem_.device.is_host();
        int64_t wanted = !is_host             ? int64_t(device(problem_.device).eviction_bytes())
                         : beside_.is_large() ? large_eviction_bytes
                                              : beside_.bytes;
        if (!wanted) return;
        if (!evictor_) evictor_ = queue_.allocate(size_t(wanted));
        if (!is_host) return queue_.fill(evictor_->data, 1, size_t(wanted));
        constexpr int64_t page = 4096;
        auto* bytes = static_cast<char*>(evictor_->data);
        par_for(problem_.threads, wanted / page, 1, [&](int64_t begin, int64_t end) {
            std::memset(bytes + begin * page, 1, size_t((end - begin) * page));
        });
    }
    Tensor borrowed(const TensorSpec& spec, const void* data) const {
        return Tensor(spec, borrow_storage(data, spec.bytes(), nullptr), 0, problem_.device);
    }
    static Tensor zeros(const TensorSpec& spec, DeviceId device) {
        Tensor tensor = empty_tensor(spec, device);
        queue_of(device).fill(tensor.address(), 0, spec.bytes());
        return tensor;
    }
    Tensor filled(const TensorSpec& spec) {
        if (!is_float(spec.dtype)) return zeros(spec, problem_.device);
        Tensor tensor = empty_tensor(spec, host_device);
        dispatch_dtype(
            spec.dtype, Types<Half, BFloat16, float, double>{}, [&]<class T>(std::type_identity<T>) {
                uint32_t state = 12345;
                for (T& value : std::span(static_cast<T*>(tensor.data()), spec.bytes() / sizeof(T))) {
                    state = state * 1664525u + 1013904223u;
                    value = T(float(int32_t(state)) * 0x1p-31f);
                }
            });
        return to_device(tensor, problem_.device);
    }

    const Problem& problem_;
    Queue& queue_;
    Neighbourhood beside_;
    Tensors inputs_, outputs_;
    StorageRef workspace_, evictor_;
    size_t workspace_bytes_ = 0;
    std::optional<double> own_milliseconds_;
};

// Copies of weights kept at once; candidates beyond this make theirs whenever they run.
constexpr size_t kept_copies = size_t(64) << 20;
// If an allocator caches this many unused bytes, they are returned to the system after a measurement, because
// the next blocks have other sizes.
constexpr size_t kept_unused = size_t(4) << 20;
constexpr size_t page_bytes = 4096;

struct PreparedCandidate {
    const NamedCandidate* named;
    size_t workspace = 0;
    Prepared prepared;
    bool is_prepared = false;
    std::optional<ContestResult> result;
};

size_t packed_bytes(const Prepared& prepared) {
    size_t bytes = 0;
    for (auto& piece : prepared.packed().pieces) bytes += piece.bytes;
    return bytes;
}

// The candidates that the options accept, each with its prepared state, as far as their copies of the weights
// fit: for a large layer they would be several times the network.
class Contestants {
public:
    Contestants(const std::vector<NamedCandidate>& candidates, const Problem& problem,
                std::span<const void* const> constants, const SelectOptions& options, bool naive)
        : problem_(problem), constants_(constants), options_(options) {
        list_.reserve(candidates.size());
        bool is_limited = options.workspace_limit != SelectOptions{}.workspace_limit;
        size_t copies = 0, largest = 0;
        for (auto& named : candidates) {
            if (named.candidate.attributes.naive != naive) continue;
            PreparedCandidate c{&named};
            bool may_fit = copies + largest <= kept_copies;
            if (may_fit || is_limited) prepare(c);
            if (c.workspace > options.workspace_limit) continue;
            size_t bytes = packed_bytes(c.prepared);
            largest = std::max(largest, bytes);
            bool fits = copies + bytes <= kept_copies;
            if (fits) copies += bytes;
            list_.push_back(std::move(c));
            if (fits || !list_.back().is_prepared) continue;
            // A candidate that is prepared already comes first, unless others are prepared for their
            // workspace.
            if (is_limited)
                release(list_.back());
            else
                extra_ = &list_.back();
        }
    }
    std::vector<PreparedCandidate>& list() { return list_; }
    bool all_fit() const { return std::ranges::all_of(list_, &PreparedCandidate::is_prepared) && !extra_; }
    ~Contestants() {
        list_.clear();
        release_read_pages(~0u);
    }
    Contestants(const Contestants&) = delete;
    Contestants& operator=(const Contestants&) = delete;
    // Candidates that do not fit are prepared one at a time.
    PreparedCandidate& ready(size_t i) {
        PreparedCandidate& c = list_[i];
        if (c.is_prepared) return c;
        if (extra_) release(*std::exchange(extra_, nullptr));
        prepare(c);
        extra_ = &c;
        return c;
    }
    // Loads the pages of a mapped file that its run reads before it is timed.
    void load_pages(const PreparedCandidate& c) const {
        for_constants(~c.prepared.packed().inputs, [](std::span<const std::byte> bytes) {
            if (!is_mapped(bytes.data())) return;
            for (auto page = whole_pages(bytes); !page.empty(); page = page.subspan(page_bytes))
                static_cast<void>(*static_cast<volatile const std::byte*>(page.data()));
        });
    }

private:
    void prepare(PreparedCandidate& c) {
        c.prepared = c.named->algorithm->prepare({problem_, c.named->candidate, constants_, &options_});
        c.workspace = c.prepared.workspace();
        c.is_prepared = true;
        release_read_pages(c.prepared.packed().inputs);
    }
    // For a mapped file: a candidate that has packed a constant does not read it again, and neither do
    // candidates with a known time.
    void release_read_pages(uint32_t inputs) const {
        for_constants(inputs, [](std::span<const std::byte> bytes) { release_pages(bytes); });
    }
    template <class Fn>
    void for_constants(uint32_t inputs, Fn fn) const {
        for (size_t i = 0; i < constants_.size() && i < 32; ++i)
            if (constants_[i] && inputs >> i & 1)
                fn(std::span(static_cast<const std::byte*>(constants_[i]), problem_.inputs[i].bytes()));
    }
    void release(PreparedCandidate& c) {
        c.prepared = {};
        c.is_prepared = false;
        device(problem_.device).release_cached();
    }

    const Problem& problem_;
    std::span<const void* const> constants_;
    const SelectOptions& options_;
    std::vector<PreparedCandidate> list_;
    PreparedCandidate* extra_ = nullptr;
};

void feed_costs(Contestants& contestants, const Problem& problem, const CostSource& source) {
    double best = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < contestants.list().size(); ++i) {
        auto& c = contestants.ready(i);
        if (auto time = source(problem, *c.named->algorithm, c.prepared, best)) {
            c.result = {*time};
            best = std::min(best, *time);
        }
    }
}

// An operator may refuse operands that are made up, such as weights below 0. A candidate that does has no
// time.
void time_accepted(Contestants& contestants, const Problem& problem, std::span<const void* const> constants,
                   Neighbourhood beside, Witness& witness) {
    if (contestants.list().empty()) return;
    Scratch scratch(problem, constants, beside);
    // The first run of a kernel on a GPU waits until its code is there, which may take longer than all
    // others.
    std::vector<bool> has_code(contestants.list().size(), problem.device.is_host());
    auto ready = [&](size_t i) {
        auto& c = contestants.ready(i);
        scratch.take_workspace(c.workspace);
        contestants.load_pages(c);
        if (!has_code[i]) scratch.run(*c.named->algorithm, c.prepared);
        has_code[i] = true;
        scratch.set_caches(*c.named->algorithm, c.prepared);
    };
    auto run = [&](size_t i) {
        auto& c = contestants.ready(i);
        scratch.run(*c.named->algorithm, c.prepared);
    };
    auto own = [&] { return scratch.own_milliseconds(); };
    std::vector<size_t> left(contestants.list().size());  // those that have not refused
    std::iota(left.begin(), left.end(), size_t(0));
    while (!left.empty()) {
        size_t at = 0;  // the one that runs
        auto ready_left = [&](size_t i) { ready(left[at = i]); };
        auto run_left = [&](size_t i) { run(left[i]); };
        try {
            auto results = contest({left.size(), !contestants.all_fit(), ready_left, run_left, own}, witness);
            for (size_t i = 0; i < results.size(); ++i) contestants.list()[left[i]].result = results[i];
            return;
        } catch (const UserError& e) {
            if (log_enabled(LogChannel::fastrun))
                log_line(LogChannel::fastrun,
                         text(problem.key(), ": ", contestants.list()[left[at]].named->candidate.name,
                              " cannot be measured: ", e.what()));
            left.erase(left.begin() + std::ptrdiff_t(at));
        }
    }
}

void release_unused(DeviceId id) {
    auto memory = device(id).memory();
    if (memory.reserved >= memory.allocated + kept_unused) device(id).release_cached();
}

}  // namespace

void sort_by_time(std::vector<Measurement>& measured) {
    std::ranges::sort(measured, {}, [](const Measurement& m) { return std::tie(m.milliseconds, m.name); });
}

std::vector<Measurement> measure_candidates(const std::vector<NamedCandidate>& candidates,
                                            const Problem& problem, std::span<const void* const> constants,
                                            const SelectOptions& options) {
    Neighbourhood beside = neighbourhood_of(problem, options);
    std::optional<Contestants> contestants;
    contestants.emplace(candidates, problem, constants, options, false);
    if (contestants->list().empty()) contestants.emplace(candidates, problem, constants, options, true);
    if (options.measure)
        feed_costs(*contestants, problem, options.measure);
    else if (options.lookups)
        time_accepted(*contestants, problem, constants, beside, options.lookups->witness(problem.threads));
    else
        time_accepted(*contestants, problem, constants, beside, *system_witness(problem.threads));

    std::vector<Measurement> result;
    for (auto& c : contestants->list()) {
        if (!c.result) continue;
        bool is_doubtful = c.result->is_doubtful;
        result.push_back({c.named->candidate.name, c.result->milliseconds, c.workspace,
                          c.named->candidate.attributes, is_doubtful ? 1 : 0,
                          is_doubtful ? int64_t(std::time(nullptr)) : 0});
    }
    contestants.reset();
    release_unused(problem.device);
    sort_by_time(result);
    if (log_enabled(LogChannel::fastrun))
        for (auto& m : result)
            log_line(LogChannel::fastrun, text(problem.key(), beside.key(), ": ", m.name, ' ', m.milliseconds,
                                               " ms", m.doubts ? ", doubtful: the machine is busy" : ""));
    return result;
}

}  // namespace mge
