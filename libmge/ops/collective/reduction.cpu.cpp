// SPDX-License-Identifier: Apache-2.0
// Buffer of a reduction: the elements of each parameter, then two numbers for each: 1 and 0 if this process
// has a gradient for it, else 0 and 1. Their sums show whether processes disagree, and cost no exchange.
#include "libmge/ops/collective/reduction.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "libmge/base/number_text.h"
#include "libmge/base/threads/per_process.h"
#include "libmge/device/queue.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/collective/exchange_queue.h"
#include "libmge/ops/collective/host_exchange.h"
#include "libmge/ops/effect/on_host.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

using ReductionParams = BeginReduction::Params;

// The reductions whose names are equal up to the last slash are those of one backward pass. Each begins with
// a vote. So all processes see the same errors of one of them, and leave out the later ones.
struct ReductionPass {
    uint64_t count = 0;        // how often it has begun
    std::exception_ptr error;  // used by the thread of the queue
};

// A reduction of a name, which is used again in each step.
struct GradientReduction {
    ReductionParams params;
    std::shared_ptr<ReductionPass> pass;
    std::vector<std::byte> buffer;
    bool is_mean_of_sums = false;
    bool is_aborted = false;
    std::shared_ptr<ExchangeQueue::Job> job;
};

class GradientReductions {
public:
    static GradientReductions& of_process() {
        static PerProcess<GradientReductions> all;
        return all.get();
    }
    std::shared_ptr<GradientReduction> find_or_make(const std::string& name) {
        std::lock_guard lock(mutex_);
        auto& found = by_name_[name];
        if (found) return found;
        auto& pass = passes_[name.substr(0, name.rfind('/') + 1)];
        if (!pass) pass = std::make_shared<ReductionPass>();
        found = std::make_shared<GradientReduction>(
            GradientReduction{.params = {}, .pass = pass, .buffer = {}, .job = {}});
        return found;
    }
    std::shared_ptr<GradientReduction> find(const std::string& name) {
        std::lock_guard lock(mutex_);
        auto found = by_name_.find(name);
        return found == by_name_.end() ? nullptr : found->second;
    }
    void forget(std::string_view prefix) {
        std::lock_guard lock(mutex_);
        auto is_forgotten = [&](auto& entry) { return entry.first.starts_with(prefix); };
        std::erase_if(by_name_, is_forgotten);
        std::erase_if(passes_, is_forgotten);
    }

private:
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<GradientReduction>> by_name_;
    std::map<std::string, std::shared_ptr<ReductionPass>> passes_;
};

size_t element_count_of(const ReductionParams& p) {
    return size_t(std::reduce(p.sizes.begin(), p.sizes.end(), int64_t(0)));
}

int64_t process_count(const ReductionParams& p) { return int64_t(p.ranks.size()); }

// Calls fn(position among the given gradients, offset in the buffer, elements) for each.
void for_each_present(const ReductionParams& p, auto&& fn) {
    size_t begin = 0, i = 0;
    for (size_t at = 0; at < p.sizes.size(); begin += size_t(p.sizes[at++]))
        if (i < p.present.size() && size_t(p.present[i]) == at) fn(i++, begin, size_t(p.sizes[at]));
}

template <class From, class To>
void convert_all(const From* from, size_t count, To* to, float divisor) {
    using C = ComputedAs<To>;
    if constexpr (std::is_same_v<From, To>)
        if (divisor == 1) return void(std::copy_n(from, count, to));
    if (divisor == 1)
        for (size_t i = 0; i < count; ++i) to[i] = To(C(from[i]));
    else
        for (size_t i = 0; i < count; ++i) to[i] = To(C(from[i]) / C(divisor));
}

void convert_all(DType from_type, const void* from, size_t count, DType to_type, void* to, float divisor) {
    dispatch_dtype(from_type, FloatTypes{}, [&](auto source) {
        dispatch_dtype(to_type, FloatTypes{}, [&](auto target) {
            convert_all(static_cast<const typename decltype(source)::type*>(from), count,
                        static_cast<typename decltype(target)::type*>(to), divisor);
        });
    });
}

std::string line_of(const std::string& lines, size_t number) {
    size_t begin = 0;
    for (; number; --number) begin = lines.find('\n', begin) + 1;
    return lines.substr(begin, lines.find('\n', begin) - begin);
}

// The work of a reduction on the thread of the queue.
class ReductionWork {
public:
    explicit ReductionWork(GradientReduction& reduction) : reduction_(reduction), p_(reduction.params) {}

    void run() {
        auto& error = reduction_.pass->error;
        if (p_.first) error = nullptr;
        if (error) std::rethrow_exception(error);
        try {
            exchange_gradients();
        } catch (...) {
            error = std::current_exception();
            throw;
        }
    }

private:
    void exchange_gradients() {
        if (!take_votes()) return;
        auto& buffer = reduction_.buffer;
        exchange_on_host(exchange(CollectiveMode::all_reduce_sum, p_.dtype, "", buffer.size()), buffer,
                         buffer);
        dispatch_dtype(p_.dtype, FloatTypes{}, [&](auto type) {
            using T = typename decltype(type)::type;
            auto* flags = reinterpret_cast<const T*>(reduction_.buffer.data()) + element_count_of(p_);
            for (size_t i = 0; i < p_.sizes.size(); ++i)
                if (float(flags[2 * i]) != 0 && float(flags[2 * i + 1]) != 0) return throw_disagreement();
        });
    }

    HostExchange exchange(CollectiveMode mode, DType dtype, std::string_view purpose, size_t bytes) const {
        return {
            {mode, p_.ranks, p_.rank},
            dtype,
            std::make_shared<const ExchangeInfo>(ExchangeInfo::Parts{
                .operation = text("gradients of ", p_.reduction, ", pass ", reduction_.pass->count, purpose),
                .dtype = text(dtype),
                .shape = {int64_t(bytes / size_of(dtype))},
                .group = {p_.ranks.begin(), p_.ranks.end()},
                .bytes = bytes})};
    }

    enum class Vote : uint8_t { has_none, has_gradients, has_failed };

    // False if there is nothing to exchange.
    bool take_votes() {
        auto mine = reduction_.is_aborted ? Vote::has_failed
                    : p_.has_gradients    ? Vote::has_gradients
                                          : Vote::has_none;
        auto votes = gather({std::byte(mine)}, ", vote");
        if (auto ranks = ranks_with(votes, Vote::has_failed); !ranks.empty())
            throw UserError(text("the backward pass has failed in process ", ranks));
        auto ranks = ranks_with(votes, Vote::has_none);
        if (!p_.first || ranks.empty()) return true;
        if (std::ranges::count(votes, std::byte(Vote::has_none)) == process_count(p_)) return false;
        throw UserError(
            text("the backward pass gave no gradient at all in process ", ranks,
                 ", but gradients in others; the loss of each process must depend on the parameters"));
    }

    std::string ranks_with(const std::vector<std::byte>& votes, Vote vote) const {
        std::string ranks;
        for (size_t i = 0; i < votes.size(); ++i)
            if (votes[i] == std::byte(vote)) ranks += text(ranks.empty() ? "" : ", ", p_.ranks[i]);
        return ranks;
    }

    std::vector<std::byte> gather(std::vector<std::byte> mine, std::string_view purpose) {
        std::vector<std::byte> all(mine.size() * p_.ranks.size());
        exchange_on_host(exchange(CollectiveMode::all_gather, DType::u8, purpose, mine.size()), mine, all);
        return all;
    }

    // All processes throw it, because all have the same sums.
    [[noreturn]] void throw_disagreement() {
        size_t n = p_.sizes.size();
        std::vector<std::byte> mine(n);
        for (auto at : p_.present) mine[size_t(at)] = std::byte(1);
        auto all = gather(mine, ", which differ");
        std::string list;
        size_t count = 0;
        constexpr size_t most = 8;
        for (size_t i = 0; i < n; ++i) {
            std::string have, lack;
            for (size_t process = 0; process < p_.ranks.size(); ++process) {
                auto& ranks = all[process * n + i] == std::byte(1) ? have : lack;
                ranks += text(ranks.empty() ? "" : ", ", p_.ranks[process]);
            }
            if (have.empty() || lack.empty() || ++count > most) continue;
            list += text(list.empty() ? "" : "; ", line_of(p_.parameters, i), " in process ", have,
                         ", not in ", lack);
        }
        if (count > most) list += text("; and ", count - most, " more");
        throw UserError(text("parameters have gradients only in some processes: ", list,
                             ". The loss of each process must depend on the same parameters"));
    }

    GradientReduction& reduction_;
    const ReductionParams& p_;
};

struct BeginState {
    ReductionParams params;
    DType dtype;  // dtype of the gradients
    DeviceId device;
};

Prepared prepare_begin(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& p = problem.as<ReductionParams>();
    DType dtype = problem.inputs.empty() ? p.dtype : problem.inputs[0].dtype;
    return Prepared::make(BeginState{p, dtype, problem.device});
}

void pack_gradients(const BeginState& state, const Launch& launch, GradientReduction& reduction) {
    auto& p = state.params;
    size_t n = element_count_of(p), element = size_of(p.dtype);
    reduction.buffer.resize((n + 2 * p.sizes.size()) * element);
    std::byte* to = reduction.buffer.data();
    bool divides_first = p.mean && p.dtype != state.dtype;
    reduction.is_mean_of_sums = p.mean && !divides_first;
    float divisor = divides_first ? float(process_count(p)) : 1.0f;
    std::vector<float> flags;
    for (size_t at = 0; at < p.sizes.size(); ++at) {
        bool is_present = std::ranges::binary_search(p.present, int64_t(at));
        flags.insert(flags.end(), {is_present ? 1.0f : 0.0f, is_present ? 0.0f : 1.0f});
    }
    if (p.present.size() < p.sizes.size()) std::fill_n(to, n * element, std::byte(0));
    for_each_present(p, [&](size_t i, size_t begin, size_t count) {
        OnHost grad(state.device, launch, i, count * size_of(state.dtype));
        convert_all(state.dtype, grad.data(), count, p.dtype, to + begin * element, divisor);
    });
    convert_all(DType::f32, flags.data(), flags.size(), p.dtype, to + n * element, 1);
}

std::shared_ptr<GradientReduction> prepare_reduction(const ReductionParams& params) {
    auto reduction = GradientReductions::of_process().find_or_make(params.reduction);
    // The buffers of a backward pass that has failed may still be in use.
    if (params.first || reduction->job) ExchangeQueue::of_process().wait_for_all();
    reduction->params = params;
    reduction->is_aborted = false;
    if (params.first) ++reduction->pass->count;
    return reduction;
}

void push_reduction(const std::shared_ptr<GradientReduction>& reduction) {
    reduction->job = ExchangeQueue::of_process().push([reduction] { ReductionWork(*reduction).run(); });
}

void run_begin(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<BeginState>();
    auto reduction = prepare_reduction(state.params);
    pack_gradients(state, launch, *reduction);
    push_reduction(reduction);
}

struct EndState {
    EndReduction::Params params;
    std::vector<size_t> bytes;  // bytes of each output
    DeviceId device;
};

Prepared prepare_end(const PrepareContext& context) {
    auto& problem = context.problem;
    EndState state{problem.as<EndReduction::Params>(), {}, problem.device};
    for (auto& sum : problem.outputs) state.bytes.push_back(sum.bytes());
    return Prepared::make(std::move(state));
}

void run_end(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<EndState>();
    auto reduction = GradientReductions::of_process().find(state.params.reduction);
    if (!reduction || !reduction->job)
        throw_user(EndReduction::name, text("the reduction '", state.params.reduction, "' has not begun"));
    ExchangeQueue::of_process().wait(std::exchange(reduction->job, nullptr));
    auto& p = reduction->params;
    if (p.present.size() != state.bytes.size())
        throw_user(EndReduction::name, text("the reduction has ", counted(p.present.size(), "gradient"),
                                            ", requested are ", state.bytes.size()));
    float divisor = reduction->is_mean_of_sums ? float(process_count(p)) : 1.0f;
    DType dtype = state.params.dtype;
    for_each_present(p, [&](size_t i, size_t begin, size_t count) {
        if (count * size_of(dtype) != state.bytes[i])
            throw_user(EndReduction::name, text("sum ", i, " has ", counted(count, "element")));
        const std::byte* from = reduction->buffer.data() + begin * size_of(p.dtype);
        if (state.device.is_host())
            return convert_all(p.dtype, from, count, dtype, launch.outputs[i], divisor);
        std::vector<std::byte> sum(state.bytes[i]);
        convert_all(p.dtype, from, count, dtype, sum.data(), divisor);
        launch.queue->copy_from_host(launch.outputs[i], sum.data(), sum.size());
    });
}

}  // namespace

void abort_reduction(const ReductionParams& next) {
    auto reduction = prepare_reduction(next);
    reduction->is_aborted = true;
    push_reduction(reduction);
}

void forget_reductions(std::string_view prefix) { GradientReductions::of_process().forget(prefix); }

KernelList kernels(Cpu, BeginReduction) {
    return one_algorithm<prepare_begin, run_begin>("through_the_host", {.unmeasured = true});
}

KernelList kernels(Cpu, EndReduction) {
    return one_algorithm<prepare_end, run_end>("through_the_host", {.unmeasured = true});
}

}  // namespace mge::ops
