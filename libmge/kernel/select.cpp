// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/select.h"

#include <algorithm>

#include "libmge/base/log.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/kernel/measure.h"

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
        Choice choice = finish(*it, problem, constants, source, m.milliseconds);
        // A cache may say anything.
        if (choice.prepared.workspace() <= options.workspace_limit) return choice;
    }
    return std::nullopt;
}

// The problem with another batch: the first extent of whatever has the batch of the result and is no
// constant. The operand specs live here.
class OtherBatch {
public:
    OtherBatch(const Problem& problem, int64_t batch)
        : inputs_(problem.inputs.begin(), problem.inputs.end()),
          outputs_(problem.outputs.begin(), problem.outputs.end()),
          problem_(problem) {
        int64_t own = outputs_.at(0).shape[0];
        auto change = [&](TensorSpec& spec) {
            if (!spec.is_absent() && spec.shape.rank() > 0 && spec.shape[0] == own) spec.shape[0] = batch;
        };
        for (size_t i = 0; i < inputs_.size(); ++i)
            if (!problem.is_constant(i)) change(inputs_[i]);
        for (auto& spec : outputs_) change(spec);
        problem_.inputs = inputs_;
        problem_.outputs = outputs_;
    }
    OtherBatch(const OtherBatch&) = delete;
    const Problem& problem() const { return problem_; }

    // Operators whose algorithms differ much in speed and whose parameters hold no batch.
    static bool is_for(const Problem& problem) {
        bool is_heavy = problem.op.starts_with("conv") || problem.op == "matmul" ||
                        problem.op.find("pool") != std::string_view::npos;
        return is_heavy && problem.outputs[0].shape.is_known() && problem.outputs[0].shape.rank() > 1;
    }

private:
    std::vector<TensorSpec> inputs_, outputs_;
    Problem problem_;
};

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
    if (options.shared_batch_size == 0 || !OtherBatch::is_for(problem))
        return choose_profiled(list, candidates, problem, problem, constants, options);
    OtherBatch other(problem, options.shared_batch_size);
    return choose_profiled(list, candidates, problem, other.problem(), constants, options);
}

Choice choose_forced(KernelList list, const std::vector<NamedCandidate>& candidates, const Problem& problem,
                     std::span<const void* const> constants, const std::string& name) {
    auto it = std::find_if(candidates.begin(), candidates.end(),
                           [&](const NamedCandidate& c) { return c.candidate.name == name; });
    if (it == candidates.end())
        throw DeviceError(text("algorithm '", name, "' cannot compute ", problem.key(), ": ",
                               why_missing(list, candidates, problem, name)));
    return finish(*it, problem, constants, ChoiceSource::plan, 0);
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
    auto candidates = list_candidates(list, problem);
    if (!wanted.forced.empty()) return choose_forced(list, candidates, problem, constants, wanted.forced);
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
    if (!choice) throw_none(list, problem);
    if (log_enabled(LogChannel::dispatch))
        log_line(LogChannel::dispatch,
                 text(problem.key(), ": ", choice->candidate.name, " [", name_of(choice->source), ']'));
    return std::move(*choice);
}

}  // namespace mge
