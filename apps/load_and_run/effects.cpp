// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/effects.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/cli/stored_options.h"
#include "libmge/compile/first_run_check.h"

namespace mge::load_and_run {

void note_options_without_effect(Job& job, Test& test) {
    if (test.index > 0) return;
    auto& o = job.options.graph;
    for (auto& format : o.layout.formats)
        if (!cli::uses_layout(*test.program, format))
            job.ignore_option(cli::layout_flag(format),
                              "no kernel of this device works on this model in that layout");
    bool is_dynamic = std::ranges::any_of(
        test.program->values(), [](auto& value) { return value.place == ValueReport::Place::dynamic; });
    if (o.record_level() == 1 && is_dynamic)
        job.ignore_option("--record-comp-seq", "the model finds out shapes at run time");
}

// A plan takes the place of what chooses algorithms.
void note_options_behind_a_plan(Job& job, Test& test) {
    if (test.index > 0 || job.options.checks.replay_plan.empty()) return;
    auto& o = job.options.algorithms;
    auto note = [&](bool is_given, const char* option) {
        if (is_given) job.ignore_option(option, "the plan says which algorithms run");
    };
    note(o.fast_run, "--fast-run");
    note(o.full_run, "--full-run");
    note(o.workspace_limit != UINT64_MAX, "--workspace-limit");
}

void check_sanity(Job& job, Test& test) {
    if (test.index > 0) return;
    if (job.options.graph.no_sanity_check) {
        job.report["sanity_check"] = {{"skipped", true}};
        return;
    }
    FirstRunCheck check(*test.program);
    test.context->observe(&check);
    try {
        test.context->run();
    } catch (...) {
        test.context->observe(nullptr);
        throw;
    }
    test.context->observe(nullptr);
    job.report["sanity_check"] = {{"values", check.values()}};
}

}  // namespace mge::load_and_run
