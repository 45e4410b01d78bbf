// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/options/options.h"

#include <array>
#include <cstdlib>

#include "libmge/base/error.h"
#include "libmge/compile/options/option_list.h"
#include "libmge/passes/pass.h"
#include "libmge/tensor/layout.h"

namespace mge {
namespace {

constexpr std::string_view own_choice = "auto";
using O = CompileOptions;

// Two options, by field, that cannot both be as they are.
struct Contradiction {
    std::string_view field, other;
    bool (*is_there)(const O&);
    std::string_view reason;
};

bool is_recorded(const O& o) { return o.comp_node_seq_record_level == 2; }

constexpr std::string_view compares_once =
    "below zero every value is compared once, so none may be computed again";
constexpr Contradiction no_fake_runs{"comp_node_seq_record_level", "fake_next_exec",
                                     [](const O& o) { return is_recorded(o) && o.fake_next_exec; },
                                     "at level 2, recording takes a run that computes"};
constexpr std::array contradictions{
    Contradiction{"switches.compute_half", "switches.store_half",
                  [](const O& o) { return o.switches.compute_half && o.switches.store_half; },
                  "give one of them"},
    Contradiction{"recompute.keeps_budget", "recompute.lowers_peak",
                  [](const O& o) { return o.recompute.keeps_budget && o.recompute.lowers_peak; },
                  "both give values up and compute them again"},
    Contradiction{"level", "recompute.keeps_budget",
                  [](const O& o) { return o.level < 0 && o.recompute.keeps_budget; }, compares_once},
    Contradiction{"level", "recompute.lowers_peak",
                  [](const O& o) { return o.level < 0 && o.recompute.lowers_peak; }, compares_once},
    Contradiction{"level", "weight_bits", [](const O& o) { return o.level < 0 && o.weight_bits > 0; },
                  "below zero every value is compared with what all bits of the weights give"},
    no_fake_runs,
    Contradiction{"comp_node_seq_record_level", "force_dynamic_alloc",
                  [](const O& o) { return is_recorded(o) && o.force_dynamic_alloc; },
                  "at level 2, addresses are fixed"},
    Contradiction{"comp_node_seq_record_level", "var_sanity_check_first_run",
                  [](const O& o) { return is_recorded(o) && o.var_sanity_check_first_run; },
                  "at level 2, and the check looks into a run; turn it off"},
    Contradiction{
        "force_output_use_user_specified_memory", "force_output_dynamic_alloc",
        [](const O& o) { return o.force_output_use_user_specified_memory && o.force_output_dynamic_alloc; },
        "outputs lie in one memory or the other"},
};

void refuse(const Contradiction& c, const O& o) {
    if (c.is_there(o))
        throw_value_error(named(o, c.field), "contradicts ", named(o, c.other), ": ", c.reason);
}

void check_bounds(const O& o) {
    for (auto& option : compile_option_list()) {
        if (option.type != OptionType::whole) continue;
        OptionValue value = option.get(o);
        auto* number = std::get_if<int64_t>(&value);
        if (number && (*number < option.least || *number > option.most))
            throw_value_error(named(o, option.field), *number, " is not between ", option.least, " and ",
                              option.most);
    }
}

}  // namespace

std::string named(const CompileOptions& options, std::string_view field) {
    return std::string(options.naming ? options.naming(field) : field);
}

void require_fake_runs(const CompileOptions& options) {
    CompileOptions requested = options;
    requested.fake_next_exec = true;
    refuse(no_fake_runs, requested);
}

void check(const CompileOptions& o) {
    check_bounds(o);
    for (auto& contradiction : contradictions) refuse(contradiction, o);
    if (o.layout != own_choice) Layout::named(o.layout);  // UserError for a name that does not exist
    if (o.weight_bits != 0 && o.weight_bits != 4 && o.weight_bits != 8)
        throw_value_error(named(o, "weight_bits"), "is 0, 4 or 8, not ", o.weight_bits);
    if (o.recompute.rounds > 0 && o.recompute.pool < 2)
        throw_value_error(named(o, "recompute.pool"), o.recompute.pool, " is too small for ",
                          named(o, "recompute.rounds"), ' ', o.recompute.rounds,
                          "; at least 2 survive a round");
    if (o.eager_evaluation)
        throw_value_error(
            named(o, "eager_evaluation"),
            "a graph whose values are computed as it grows is not compiled; apply the operators outside "
            "of a GraphBuilder");
    if (o.allreduce_pack_max_size > 0)
        throw Error(ErrorCode::device, ErrorClass::not_implemented,
                    text('[', named(o, "allreduce_pack_max_size"),
                         "] a collective of a graph sends one tensor: no gradients are packed; 0 packs "
                         "nothing"));
}

PassOptions pass_options(const CompileOptions& options) {
    PassOptions result{.passes = options.passes,
                       .level = std::abs(options.level),
                       .own_passes = options.own_passes,
                       .switches = options.switches,
                       .verify = options.verify_passes,
                       .layout = options.layout,
                       .select = options.select,
                       .threads = options.threads,
                       .precision = options.precision,
                       .weight_bits = options.weight_bits,
                       .log_level = options.log_level,
                       .progress = options.progress};
    if (options.measure_layouts) {
        result.select.profile = true;
        result.select.heuristic = false;
    }
    return result;
}

}  // namespace mge
