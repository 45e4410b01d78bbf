// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/select.h"

#include <algorithm>
#include <utility>

#include "libmge/base/joined.h"
#include "libmge/base/log.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/kernel/lookups.h"
#include "libmge/kernel/measure/measure.h"
#include "libmge/kernel/other_batch.h"
#include "libmge/kernel/packed_copies.h"

namespace mge {
namespace {

[[noreturn]] void throw_no_candidate(KernelList list, const Problem& problem) {
    auto reasons = joined(list, "; ", [&](const Algorithm& algorithm) {
        Support support = algorithm.supports(problem);
        return text(algorithm.name, ": ",
                    support ? "refused by the options (attributes or workspace limit)" : support.reason);
    });
    if (list.empty()) reasons = "it has none for this device";
    throw DeviceError(
        text("[", problem.op, "] no algorithm can compute ", problem.key(), " (", reasons, ")"));
}

// The reason why there is no such candidate: from the one entry that could have offered it.
std::string why_missing(KernelList list, const std::vector<NamedCandidate>& candidates,
                        const Problem& problem, const std::string& name) {
    for (auto& algorithm : list) {
        if (!name.starts_with(algorithm.name)) continue;
        if (Support support = algorithm.supports(problem); !support) return support.reason;
    }
    auto offered = joined(candidates, ", ", [](auto& named) { return named.candidate.name; });
    return text("it is not offered here; there are: ", offered.empty() ? "none" : offered);
}

Choice finish(const NamedCandidate& named, const Problem& problem, std::span<const void* const> constants,
              ChoiceSource source, const Measurement& measured, const SelectOptions& options) {
    Choice choice{named.algorithm,
                  named.candidate,
                  {},
                  source,
                  measured.milliseconds,
                  measured.doubts > 0,
                  problem.key() + neighbourhood_of(problem, options).key()};
    choice.prepared = named.algorithm->prepare({problem, choice.candidate, constants, &options});
    return choice;
}

// The problem for look-ups and measurements, and the known information about it: in this compilation, or for
// this choice.
class SelectQuery {
public:
    SelectQuery(KernelList list, const Problem& problem, const SelectOptions& options)
        : list_(list), problem_(problem), known_(known_of(problem, options, own_)) {
        auto operands = options.shared_batch_size ? batch_operands(problem) : std::nullopt;
        if (!operands || !operands->shares_times) return;
        other_.emplace(problem, *operands, options.shared_batch_size);
        other_known_ = &known_of(other_->problem(), options, own_other_);
    }
    SelectQuery(const SelectQuery&) = delete;
    SelectQuery& operator=(const SelectQuery&) = delete;

    KernelList list() const { return list_; }
    // Those of the problem itself.
    const std::vector<NamedCandidate>& candidates() { return known_.listed(list_, problem_); }

    // It may differ from the problem only in its batch.
    bool is_other() const { return other_.has_value(); }
    const Problem& measured_problem() const { return other_ ? other_->problem() : problem_; }
    Lookups::Known& measured() { return other_ ? *other_known_ : known_; }

private:
    static Lookups::Known& known_of(const Problem& problem, const SelectOptions& options,
                                    Lookups::Known& own) {
        return options.lookups ? options.lookups->of(problem) : own;
    }
    KernelList list_;
    const Problem& problem_;
    Lookups::Known own_, own_other_;
    Lookups::Known& known_;
    std::optional<OtherBatch> other_;
    Lookups::Known* other_known_ = nullptr;
};

bool is_measurable(const std::vector<NamedCandidate>& candidates) {
    return std::ranges::none_of(candidates, [](auto& c) { return c.candidate.attributes.unmeasured; });
}

// An output without elements takes no relevant time, and loops over empty rows may be long.
bool writes_nothing(const Problem& problem) {
    return !problem.outputs.empty() && std::ranges::all_of(problem.outputs, [](auto& spec) {
        return spec.shape.is_known() && spec.numel() == 0;
    });
}

bool has_only_naive(const std::vector<NamedCandidate>& candidates) {
    return std::ranges::all_of(candidates, [](auto& c) { return c.candidate.attributes.naive; });
}

// The limit selects among kernels. An algorithm that is never measured has no alternatives, and the limit
// applies to the kernels of its inner programs.
bool fits(const Choice& choice, const SelectOptions& options) {
    return choice.candidate.attributes.unmeasured || choice.prepared.workspace() <= options.workspace_limit;
}

std::optional<Choice> choose_first(const std::vector<NamedCandidate>& candidates, const Problem& problem,
                                   std::span<const void* const> constants, const SelectOptions& options) {
    for (auto& named : candidates) {
        if (!options.accepts(named.candidate.attributes)) continue;
        Choice choice = finish(named, problem, constants, ChoiceSource::heuristic, {}, options);
        if (fits(choice, options)) return choice;
        if (log_enabled(LogChannel::dispatch))
            log_line(LogChannel::dispatch, text(problem.op, ": skip ", named.candidate.name, " (workspace ",
                                                choice.prepared.workspace(), " over the limit)"));
    }
    return std::nullopt;
}

bool fits(const Measurement& m, const SelectOptions& options) {
    return options.accepts(m.attributes) && m.workspace <= options.workspace_limit;
}

Cost cost_of(const Measurement& m) { return {m.milliseconds, m.doubts ? m.milliseconds : 0}; }

// A measured candidate that exists here.
struct Known {
    const Measurement* measured;
    const NamedCandidate* named;
};

// Candidates that the options accept, in order of choice: the heuristic's preference is kept unless another
// is surely faster.
std::vector<Known> in_order(const std::vector<Measurement>& measured,
                            const std::vector<NamedCandidate>& candidates, const Problem& problem,
                            const SelectOptions& options) {
    std::vector<Known> known;
    for (auto& m : measured) {
        if (!fits(m, options)) continue;
        auto it = std::ranges::find(
            candidates, m.name, [](auto& c) -> auto& { return c.candidate.name; });
        if (it == candidates.end())
            log_line(LogChannel::fastrun,
                     text(problem.key(), ": cached '", m.name, "' does not exist here any more"));
        else if (options.accepts(it->candidate.attributes))  // a cache may say anything
            known.push_back({&m, &*it});
    }
    auto preferred = std::ranges::min_element(known, {}, &Known::named);
    if (preferred != known.end() &&
        !is_surely_faster(cost_of(*known.front().measured), cost_of(*preferred->measured)))
        std::rotate(known.begin(), preferred, preferred + 1);
    return known;
}

std::optional<Choice> choose_measured(const Lookups::Times& times,
                                      const std::vector<NamedCandidate>& candidates, const Problem& problem,
                                      std::span<const void* const> constants, const SelectOptions& options) {
    for (auto& [measured, named] : in_order(times.measured, candidates, problem, options)) {
        Choice choice = finish(*named, problem, constants, times.source, *measured, options);
        if (fits(choice, options)) return choice;
    }
    return std::nullopt;
}

bool may_measure(const SelectOptions& options) { return !options.heuristic; }

// A file may say any number.
constexpr int most_doubts = 1000;

// The trusted one of two times is kept. If both are doubted, the smaller one, because disturbances only slow
// runs down; the doubts are added up.
void join_doubts(std::vector<Measurement>& measured, const std::vector<Measurement>& before) {
    for (auto& m : measured) {
        if (!m.doubts) continue;
        auto it = std::ranges::find(before, m.name, &Measurement::name);
        if (it == before.end()) continue;
        if (!it->doubts) {
            m = *it;
            continue;
        }
        m.doubts = std::min(it->doubts, most_doubts - 1) + 1;
        m.milliseconds = std::min(m.milliseconds, it->milliseconds);
    }
    sort_by_time(measured);
}

// Besides the names of algorithms a cache contains those of a family's members, and this marks that it does:
// an older writer may have omitted them.
std::string members_mark(const Algorithm& family) { return text(family.name, '*'); }

std::vector<std::string> names_considered(KernelList list, const std::vector<NamedCandidate>& candidates) {
    std::vector<std::string> names;
    const Algorithm* last = nullptr;
    for (auto& algorithm : list) names.emplace_back(algorithm.name);
    for (auto& [algorithm, candidate] : candidates) {
        if (!algorithm->candidates) continue;
        if (std::exchange(last, algorithm) != algorithm) names.push_back(members_mark(*algorithm));
        names.push_back(candidate.name);
    }
    return names;
}

const Lookups::Times& measure(SelectQuery& query, std::span<const void* const> constants,
                              const SelectOptions& options, const std::vector<Measurement>& before) {
    auto& known = query.measured();
    auto& problem = query.measured_problem();
    if (options.lookups) options.lookups->begin_measuring();
    auto measured = measure_candidates(known.listed(query.list(), problem), problem, constants, options);
    join_doubts(measured, before);
    if (options.cache && !measured.empty())
        options.cache->store(problem, measured,
                             names_considered(query.list(), known.listed(query.list(), problem)),
                             neighbourhood_of(problem, options));
    if (options.lookups) return options.lookups->keep_measured(known, std::move(measured));
    return known.times.emplace(Lookups::Times{std::move(measured), ChoiceSource::measured});
}

// An algorithm for the problem that was not there yet when its times were measured.
bool has_newcomer(KernelList list, const Problem& problem, const std::vector<Measurement>& measured,
                  const SelectOptions& options) {
    std::vector<const Algorithm*> unmeasured;
    for (auto& algorithm : list)
        if (!algorithm.attributes.naive &&
            std::ranges::none_of(measured, [&](auto& m) { return m.name.starts_with(algorithm.name); }))
            unmeasured.push_back(&algorithm);
    auto considered = unmeasured.empty()
                          ? std::nullopt
                          : options.cache->considered(problem, neighbourhood_of(problem, options));
    return considered && std::ranges::any_of(unmeasured, [&](auto* algorithm) {
               return std::ranges::find(*considered, algorithm->name) == considered->end() &&
                      algorithm->supports(problem);
           });
}

// The same of a member of a family.
bool has_new_member(const std::vector<NamedCandidate>& candidates, const Problem& problem,
                    const std::vector<Measurement>& measured, const SelectOptions& options) {
    std::vector<const NamedCandidate*> unmeasured;
    for (auto& named : candidates)
        if (named.algorithm->candidates && !named.candidate.attributes.naive &&
            options.accepts(named.candidate.attributes) &&
            std::ranges::find(measured, named.candidate.name, &Measurement::name) == measured.end())
            unmeasured.push_back(&named);
    auto considered = unmeasured.empty()
                          ? std::nullopt
                          : options.cache->considered(problem, neighbourhood_of(problem, options));
    auto is_in = [&](const std::string& name) {
        return std::ranges::find(*considered, name) != considered->end();
    };
    return considered && std::ranges::any_of(unmeasured, [&](auto* named) {
               return !is_in(named->candidate.name) && is_in(members_mark(*named->algorithm));
           });
}

// The known times: in this compilation, or in the cache. Doubted times, or those that new algorithms might
// beat, are measured again if allowed; missing ones are measured.
const Lookups::Times& find_times(SelectQuery& query, std::span<const void* const> constants,
                                 const SelectOptions& options) {
    auto& known = query.measured().times;
    if (known && (!known->measured.empty() || !may_measure(options))) return *known;
    auto& problem = query.measured_problem();
    Lookups::Times times;
    if (options.cache)
        if (auto stored = options.cache->find(problem, neighbourhood_of(problem, options)))
            times.measured = std::move(*stored);
    bool is_absent = times.measured.empty();
    auto is_outdated = [&] {
        return is_doubtful(times.measured) || has_newcomer(query.list(), problem, times.measured, options);
    };
    if (may_measure(options) &&
        (is_absent || (options.lookups && is_outdated() &&
                       options.lookups->may_measure_again(times.measured, problem.threads))))
        return measure(query, constants, options, times.measured);
    return known.emplace(std::move(times));
}

// The same for callers that list the candidates anyway, which takes longer than a look-up: it includes family
// members that were added later, and algorithms whose times were only checked for existence
// (is_known_to_work); once per compilation.
const Lookups::Times& find_times_of_listed(SelectQuery& query, std::span<const void* const> constants,
                                           const SelectOptions& options) {
    auto& times = find_times(query, constants, options);
    auto& known = query.measured();
    auto& problem = query.measured_problem();
    if (times.source != ChoiceSource::cache || !may_measure(options) || !options.cache || !options.lookups ||
        std::exchange(known.has_sought_newcomers, true))
        return times;
    bool is_outdated = has_newcomer(query.list(), problem, times.measured, options) ||
                       has_new_member(known.listed(query.list(), problem), problem, times.measured, options);
    if (!is_outdated || !options.lookups->may_measure_again(times.measured, problem.threads)) return times;
    return measure(query, constants, options, times.measured);
}

std::optional<Choice> choose_profiled(SelectQuery& query, const Problem& problem,
                                      std::span<const void* const> constants, const SelectOptions& options) {
    auto& times = find_times_of_listed(query, constants, options);
    auto choice = choose_measured(times, query.candidates(), problem, constants, options);
    if (choice || !may_measure(options)) return choice;
    // Measured under other limits.
    return choose_measured(measure(query, constants, options, times.measured), query.candidates(), problem,
                           constants, options);
}

Choice choose_forced(KernelList list, const std::vector<NamedCandidate>& candidates, const Problem& problem,
                     std::span<const void* const> constants, const std::string& name,
                     const SelectOptions& options) {
    if (auto operands = batch_operands(problem); operands && name.starts_with(each_item_prefix)) {
        OtherBatch one(problem, *operands, 1);
        return each_item(choose_forced(list, list_candidates(list, one.problem()), one.problem(), constants,
                                       name.substr(each_item_prefix.size()), options),
                         problem, *operands);
    }
    auto it = std::find_if(candidates.begin(), candidates.end(),
                           [&](const NamedCandidate& c) { return c.candidate.name == name; });
    if (it == candidates.end())
        throw DeviceError(text("algorithm '", name, "' cannot compute ", problem.key(), ": ",
                               why_missing(list, candidates, problem, name)));
    return finish(*it, problem, constants, ChoiceSource::plan, {}, options);
}

Choice choose(KernelList list, const Problem& problem, std::span<const void* const> constants,
              const SelectOptions& wanted) {
    SelectQuery query(list, problem, wanted);
    SelectOptions options = wanted;
    std::vector<NamedCandidate> reversed;
    if (options.reference) {
        options.profile = options.optimized = false;
        reversed.assign(query.candidates().rbegin(), query.candidates().rend());
    }
    auto& candidates = options.reference ? reversed : query.candidates();
    // "Optimized" is a preference: an operator with only its reference still runs.
    options.optimized &= !has_only_naive(candidates);
    std::optional<Choice> choice;
    if (options.profile && is_measurable(candidates) && !writes_nothing(problem))
        choice = choose_profiled(query, problem, constants, options);
    if (!choice) choice = choose_first(candidates, problem, constants, options);
    if (!choice && options.optimized) {  // an operator whose other algorithms need too much memory does not
                                         // fail either
        options.optimized = false;
        choice = choose_first(candidates, problem, constants, options);
    }
    if (!choice) throw_no_candidate(list, problem);
    return std::move(*choice);
}

// The choice of a batch of one: the same algorithm for all items at once if that is known to make no
// difference, otherwise item by item. So neither the kernel nor its choice depends on the batch.
Choice choose_for_any_batch(KernelList list, const Problem& problem, const BatchOperands& operands,
                            std::span<const void* const> constants, const SelectOptions& wanted) {
    OtherBatch one(problem, operands, 1);
    // A single item does not belong to a batch: algorithms that depend on the batch still precede the
    // reference.
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
        Choice choice = finish(named, problem, constants, of_one.source, {}, options);
        choice.milliseconds = of_one.milliseconds;
        choice.is_doubtful = of_one.is_doubtful;
        if (fits(choice, options)) return choice;
    }
    return each_item(std::move(of_one), problem, operands);
}

// Operators with dependent items have a single useful algorithm, or are for training: for them only
// algorithms whose choice does not depend on times.
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

bool is_surely_faster(const Cost& a, const Cost& than) {
    constexpr double gain = 0.03, doubt = 0.1;
    return a.milliseconds + doubt * a.doubtful < (1 - gain) * (than.milliseconds - doubt * than.doubtful);
}

std::optional<Cost> find_cost(KernelList list, const Problem& problem, std::span<const void* const> constants,
                              const SelectOptions& options) {
    SelectQuery query(list, problem, options);
    for (auto& m : find_times(query, constants, options).measured)
        if (fits(m, options)) return cost_of(m);
    return std::nullopt;
}

std::optional<size_t> find_heuristic_workspace(KernelList list, const Problem& problem,
                                               const SelectOptions& wanted) {
    SelectQuery query(list, problem, wanted);
    if (wanted.reference || query.is_other()) return std::nullopt;
    auto& candidates = query.candidates();
    SelectOptions options = wanted;
    options.heuristic = true;  // nothing is measured
    options.optimized &= !has_only_naive(candidates);
    auto& times = find_times(query, {}, options);
    for (auto& named : candidates) {
        if (!options.accepts(named.candidate.attributes)) continue;
        auto it = std::ranges::find(times.measured, named.candidate.name, &Measurement::name);
        if (it == times.measured.end()) return std::nullopt;
        if (it->workspace <= options.workspace_limit) return it->workspace;
    }
    return std::nullopt;
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
        return choose_forced(list, list_candidates(list, problem), problem, constants, wanted.forced, wanted);
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

Packing packing_of(const PrepareContext& context) {
    if (!context.select) return {};
    return {context.select->packed_copies, context.select->weight_cache};
}

}  // namespace mge
