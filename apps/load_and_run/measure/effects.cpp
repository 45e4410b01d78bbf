// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/measure/effects.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/cli/options/arguments.h"
#include "apps/cli/options/layout_options.h"
#include "libmge/base/error.h"
#include "libmge/compat/megengine_options.h"
#include "libmge/compile/options/ignored_options.h"
#include "libmge/compile/run/first_run_check.h"

namespace mge::load_and_run {

// Options for which the compilation warned, by their flags.
void note_options_without_effect(Job& job, Test& test) {
    if (test.index > 0) return;
    for (auto& ignored : test.program->options_without_effect()) {
        bool is_layout = ignored.option == "layout";
        job.options_without_effect.push_back(is_layout ? cli::layout_flag(ignored.given)
                                                       : std::string(compat::flag_of(ignored.option)));
    }
}

// Compiling does not know whether a value that is the default was given.
void note_unread_options(Job& job, Test& test) {
    if (test.index > 0) return;
    for (auto& option : compat::named_options()) {
        auto why = why_unread(job.session->requested(), option);
        std::string flag(option.flag);
        if (!why || flag.empty() || cli::value_of(flag, job.invocation.arguments).empty()) continue;
        if (std::ranges::find(job.options_without_effect, flag) == job.options_without_effect.end())
            job.ignore_option(flag, *why);
    }
}

// A plan replaces the options that choose algorithms.
void note_options_ignored_by_plan(Job& job, Test& test) {
    if (test.index > 0 || job.options.checks.replay_plan.empty()) return;
    auto& o = job.options.algorithms;
    auto note = [&](bool is_given, const char* option) {
        if (is_given) job.ignore_option(option, "the plan determines which algorithms run");
    };
    note(o.fast_run, "--fast-run");
    note(o.full_run, "--full-run");
    note(o.workspace_limit != UINT64_MAX, "--workspace-limit");
}

// Outputs that a model stores are compared within a tolerance of the engine's, or of the test case.
void note_options_without_reference(Job& job, Test& test) {
    auto& o = job.options.checks;
    if (test.index > 0 || !o.compare.empty() || !o.compare_with.empty() || job.options.run.fitting) return;
    constexpr auto reason = "without --compare, --compare-with or --fitting nothing is compared";
    if (o.rtol) job.ignore_option("--rtol", reason);
    if (o.atol) job.ignore_option("--atol", reason);
    if (!o.metric.empty()) job.ignore_option("--metric", reason);
}

// The default may have been given, too.
void note_seed_without_random_values(Job& job, Test& test) {
    if (test.index > 0 || job.options.run.rate > 0) return;
    if (cli::value_of("--seed", job.invocation.arguments).empty()) return;
    if (std::ranges::none_of(job.tests, &Test::has_random_input))
        job.ignore_option("--seed", "no input is random, and without --rate runs do not arrive by chance");
}

void check_sanity(Job& job, Test& test) {
    if (test.index > 0) return;
    if (!job.session->requested().var_sanity_check_first_run) {
        job.report["sanity_check"] = {{"skipped", true}};
        return;
    }
    FirstRunCheck check(*test.program);
    test.context->observe(&check);
    try {
        test.context->run();
        test.context->wait();
    } catch (...) {
        test.context->observe(nullptr);
        throw;
    }
    test.context->observe(nullptr);
    job.report["sanity_check"] = {{"values", check.values()}};
}

}  // namespace mge::load_and_run
