// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/effects.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/cli/layout_options.h"
#include "libmge/compile/first_run_check.h"

namespace mge::load_and_run {

// Those that compiling found and warned about, by their flags.
void note_options_without_effect(Job& job, Test& test) {
    if (test.index > 0) return;
    auto& o = job.options.graph;
    auto& list = job.options_without_effect;
    for (auto& ignored : test.program->options_without_effect()) {
        bool is_layout = ignored.option == "layout" && !o.layout.formats.empty();
        if (is_layout) list.push_back(cli::layout_flag(ignored.given));
        if (ignored.option == "comp_node_seq_record_level") list.push_back("--record-comp-seq");
    }
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
