// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/select.h"

#include <algorithm>

#include "libmge/base/log.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/kernel/measure.h"
#include "libmge/kernel/other_batch.h"

namespace mge {
namespace {

[[noreturn]] void throw_none(KernelList list, const Problem& problem) {
    std::string reasons;
    for (auto& algorithm : list) {
        Support support = algorithm.supports(problem);
        reasons += text(reasons.empty() ? "" : "; ", algorithm.name, ": ",
                        support ? "refused by the options (attributes or workspace limit)" : support.reason);
    }
    if (list.empty()) reasons = "it has none for this device";
    throw DeviceError(
        text("[", problem.op, "] no algorithm can compute ", problem.key(), " (", reasons, ")"));
}

// Why there is no such candidate: the one entry that could have offered it knows best.
std::string why_missing(KernelList list, const std::vector<NamedCandidate>& candidates,
                        const Problem& problem, const std::string& name) {
    for (auto& algorithm : list) {
        if (!name.starts_with(algorithm.name)) continue;
        if (Support support = algorithm.supports(problem); !support) return support.reason;
    }
    std::string offered;
    for (auto& named : candidates) offered += (offered.empty() ? "" : ", ") + named.candidate.name;
    return text("it is not offered here; there are: ", offered.empty() ? "none" : offered);
}

Choice finish(const NamedCandidate& named, const Problem& problem, std::span<const void* const> constants,
              ChoiceSource source, double milliseconds) {
    Choice choice{named.algorithm, named.candidate, {}, source, milliseconds, problem.key()};
    choice.prepared = named.algorithm->prepare({problem, choice.candidate, constants});
    return choice;
}

std::optional<Choice> choose_first(const std::vector<NamedCandidate>& candidates, const Problem& problem,
                                   std::span<const void* const> constants, const SelectOptions& options) {
    for (auto& named : candidates) {
        if (!options.accepts(named.candidate.attributes)) continue;
        Choice choice = finish(named, problem, constants, ChoiceSource::heuristic, 0);
        if (choice.prepared.workspace() <= options.workspace_limit) return choice;
        if (log_enabled(LogChannel::dispatch))
            log_line(LogChannel::dispatch, text(problem.op, ": skip ", named.candidate.name, " (workspace ",
                                                choice.prepared.workspace(), " over the limit)"));
    }
    return std::nullopt;
}

// The fastest of `measured` that still exists, fits and has the wanted attributes.
std::optional<Choice> choose_measured(const std::vector<Measurement>& measured,
                                      const std::vector<NamedCandidate>& candidates, const Problem& problem,
                                      std::span<const void* const> constants, const SelectOptions& options,
                                      ChoiceSource source) {
    for (auto& m : measured) {
        if (!options.accepts(m.attributes) || m.workspace > options.workspace_limit) continue;
        auto it = std::find_if(candidates.begin(), candidates.end(),
                               [&](const NamedCandidate& c) { return c.candidate.name == m.name; });
        if (it == candidates.end()) {
            log_line(LogChannel::fastrun,
                     text(problem.key(), ": cached '", m.name, "' does not exist here any more"));
            continue;
        }
        // A cache may say anything.
        if (!options.accepts(it->candidate.attributes)) continue;
        Choice choice = finish(*it, problem, constants, source, m.milliseconds);
        if (choice.prepared.workspace() <= options.workspace_limit) return choice;
    }
    return std::nullopt;
}

// Operators whose algorithms differ much in speed: only these are measured with a shared batch.
bool is_heavy(const Problem& problem) {
    return problem.op.starts_with("conv") || problem.op == "matmul" ||
           problem.op.find("pool") != std::string_view::npos;
}

// `candidates` are those of `problem`; what is looked up and measured is `asked`, which differs in its batch
// at most.
std::optional<Choice> choose_profiled(KernelList list, const std::vector<NamedCandidate>& candidates,
                                      const Problem& problem, const Problem& asked,
                                      std::span<const void* const> constants, const SelectOptions& options) {
    if (options.cache)
        if (auto stored = options.cache->find(asked))
            if (auto choice =
                    choose_measured(*stored, candidates, problem, constants, options, ChoiceSource::cache))
                return choice;
    if (options.heuristic) return std::nullopt;
    auto measured = measure_candidates(&asked == &problem ? candidates : list_candidates(list, asked), asked,
                                       constants, options);
    if (options.cache && !measured.empty()) options.cache->store(asked, measured);
    return choose_measured(measured, candidates, problem, constants, options, ChoiceSource::measured);
}

std::optional<Choice> choose_profiled(KernelList list, const std::vector<NamedCandidate>& candidates,
                                      const Problem& problem, std::span<const void* const> constants,
                                      const SelectOptions& options) {
    auto operands = options.shared_batch_size && is_heavy(problem) ? batch_operands(problem) : std::nullopt;
    if (!operands) return choose_profiled(list, candidates, problem, problem, constants, options);
    OtherBatch other(problem, *operands, options.shared_batch_size);
    return choose_profiled(list, candidates, problem, other.problem(), constants, options);
}

Choice choose_forced(KernelList list, const std::vector<NamedCandidate>& candidates, const Problem& problem,
                     std::span<const void* const> constants, const std::string& name) {
    if (auto operands = batch_operands(problem); operands && name.starts_with(each_item_prefix)) {
        OtherBatch one(problem, *operands, 1);
        return each_item(choose_forced(list, list_candidates(list, one.problem()), one.problem(), constants,
                                       name.substr(each_item_prefix.size())),
                         problem, *operands);
    }
    auto it = std::find_if(candidates.begin(), candidates.end(),
                           [&](const NamedCandidate& c) { return c.candidate.name == name; });
    if (it == candidates.end())
        throw DeviceError(text("algorithm '", name, "' cannot compute ", problem.key(), ": ",
                               why_missing(list, candidates, problem, name)));
    return finish(*it, problem, constants, ChoiceSource::plan, 0);
}

Choice choose(KernelList list, const Problem& problem, std::span<const void* const> constants,
              const SelectOptions& wanted) {
    auto candidates = list_candidates(list, problem);
    SelectOptions options = wanted;
    if (options.reference) {
        options.profile = options.optimized = false;
        std::reverse(candidates.begin(), candidates.end());
    }
    // "Optimized" is a preference: an operator that has nothing but its reference still runs.
    options.optimized &= !std::all_of(candidates.begin(), candidates.end(),
                                      [](auto& c) { return c.candidate.attributes.naive; });
    std::optional<Choice> choice;
    if (options.profile) choice = choose_profiled(list, candidates, problem, constants, options);
    if (!choice) choice = choose_first(candidates, problem, constants, options);
    if (!choice && options.optimized) {  // nor does one whose other algorithms need too much memory fail
        options.optimized = false;
        choice = choose_first(candidates, problem, constants, options);
    }
    if (!choice) throw_none(list, problem);
    return std::move(*choice);
}

// What a batch of one takes: the same algorithm for all at once where that is known to make no difference,
// else item by item. So neither the kernel nor its choice depends on the batch.
Choice choose_for_any_batch(KernelList list, const Problem& problem, const BatchOperands& operands,
                            std::span<const void* const> constants, const SelectOptions& wanted) {
    OtherBatch one(problem, operands, 1);
    // Alone an item is no part of a batch: what depends on it still comes before the reference.
    SelectOptions options = wanted;
    auto candidates = list_candidates(list, one.problem());
    options.same_between_batches = std::any_of(candidates.begin(), candidates.end(), [](auto& c) {
        auto& attributes = c.candidate.attributes;
        return !attributes.naive && !attributes.accuracy_depends_on_batch;
    });
    Choice of_one = choose(list, one.problem(), constants, options);
    if (operands.batch == 1) return of_one;
    for (auto& named : list_candidates(list, problem)) {
        if (named.candidate.name != of_one.candidate.name ||
            named.candidate.attributes.accuracy_depends_on_batch)
            continue;
        Choice choice = finish(named, problem, constants, of_one.source, of_one.milliseconds);
        if (choice.prepared.workspace() <= options.workspace_limit) return choice;
    }
    return each_item(std::move(of_one), problem, operands);
}

// Operators that do not compute items apart have one algorithm worth the name, or learn: for them only what
// does not depend on times.
SelectOptions without_measuring(SelectOptions options) {
    options.profile = false;
    options.heuristic = true;
    return options;
}

}  // namespace

std::string_view name_of(ChoiceSource source) {
    constexpr std::string_view names[] = {"heuristic", "cache", "measured", "plan"};
    return names[size_t(source)];
}

std::vector<NamedCandidate> list_candidates(KernelList list, const Problem& problem) {
    std::vector<NamedCandidate> result;
    for (auto& algorithm : list) {
        if (Support support = algorithm.supports(problem); !support) {
            if (log_enabled(LogChannel::dispatch))
                log_line(LogChannel::dispatch,
                         text(problem.op, ": skip ", algorithm.name, " (", support.reason, ")"));
            continue;
        }
        if (!algorithm.candidates) {
            result.push_back({&algorithm, {algorithm.name, 0, algorithm.attributes}});
            continue;
        }
        for (auto& candidate : algorithm.candidates(problem))
            result.push_back({&algorithm, std::move(candidate)});
    }
    return result;
}

Choice select(KernelList list, const Problem& problem, std::span<const void* const> constants,
              const SelectOptions& wanted) {
    if (!wanted.forced.empty())
        return choose_forced(list, list_candidates(list, problem), problem, constants, wanted.forced);
    auto operands = wanted.same_between_batches ? batch_operands(problem) : std::nullopt;
    Choice choice =
        operands && operands->batch > 0 ? choose_for_any_batch(list, problem, *operands, constants, wanted)
        : wanted.same_between_batches   ? choose(list, problem, constants, without_measuring(wanted))
                                        : choose(list, problem, constants, wanted);
    if (log_enabled(LogChannel::dispatch))
        log_line(LogChannel::dispatch,
                 text(problem.key(), ": ", choice.candidate.name, " [", name_of(choice.source), ']'));
    return choice;
}

}  // namespace mge
