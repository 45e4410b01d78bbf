// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "apps/load_and_run/checks/stages.h"
#include "apps/load_and_run/debugger.h"
#include "apps/load_and_run/devices.h"
#include "apps/load_and_run/fit.h"
#include "apps/load_and_run/hint.h"
#include "apps/load_and_run/measure/effects.h"
#include "apps/load_and_run/measure/rounds.h"
#include "apps/load_and_run/measure/turns.h"
#include "apps/load_and_run/measure/verdict.h"
#include "apps/load_and_run/profile.h"
#include "apps/load_and_run/report.h"
#include "apps/load_and_run/stages.h"
#include "apps/load_and_run/sweep.h"

namespace mge::load_and_run {
namespace {

struct TestStage {
    const char* name;
    void (*run)(Job&, Test&);
};

// The stages of each test. A stage that was not requested returns immediately.
constexpr std::array test_stages{
    TestStage{"compile", compile},
    TestStage{"note what has no effect", note_options_without_effect},
    TestStage{"note what is not read", note_unread_options},
    TestStage{"note what a plan overrides", note_options_ignored_by_plan},
    TestStage{"note what needs a reference", note_options_without_reference},
    TestStage{"note what needs random numbers", note_seed_without_random_values},
    TestStage{"watch its runs", watch},
    TestStage{"first run", run_first},
    TestStage{"end the dumps of the first run", end_dumps},
    TestStage{"compare with the model's outputs", compare},
    TestStage{"check that operators only write their results", check_sanity},
    TestStage{"watch the timed runs", watch_on},
    TestStage{"begin the profile", begin_profile},
    TestStage{"time", time_runs},
    TestStage{"write the profile", end_profile},
};

void run_tests(Job& job) {
    for (auto& test : job.tests) {
        for (auto& stage : test_stages) {
            job.activity.now(stage.name);
            guarded(job, test, stage.run);
        }
        // The next test has its own guards.
        if (test.context) test.context->observe(nullptr);
        // The first one stays for the stages to come, and all when they will be timed again.
        bool is_kept = test.index == 0 || job.options.run.serve_rounds || job.options.input.round_robin;
        if (!is_kept) test.context.reset();
    }
}

struct Stage {
    const char* name;
    void (*run)(Job&);
};

// The stages of a run, in this order.
constexpr std::array stages{
    Stage{"wait for a debugger", wait_for_debugger},
    Stage{"load operators", load_libraries},
    Stage{"list devices", list_devices},
    Stage{"require a device", require_device},
    Stage{"choose device and threads", choose_device},
    Stage{"open the checks", open_checks},
    Stage{"load the model and its inputs", load_model},
    Stage{"check that the reference fits", check_reference},
    Stage{"walk to the first difference", walk_to_first_difference},
    Stage{"find the fastest options", fit},
    Stage{"run the tests", run_tests},
    Stage{"time rounds for another process", serve_rounds},
    Stage{"time the tests by turns", time_by_turns},
    Stage{"check the model's test cases", check_stored_test_cases},
    Stage{"finish the checks", finish_checks},
    Stage{"print", print_results},
    Stage{"print the checks", print_checks},
    Stage{"compare with the baseline", compare_with_baseline},
    Stage{"write outputs", write_outputs},
};

// The stages of one run of a sweep.
constexpr std::array sweep_stages{
    Stage{"load operators", load_libraries},
    Stage{"require a device", require_device},
    Stage{"choose device and threads", choose_device},
    Stage{"open the checks", open_checks},
    Stage{"load the model and its inputs", load_model},
    Stage{"run the tests", run_tests},
};

void run_all(Job& job, std::span<const Stage> list) {
    for (auto& stage : list) {
        job.activity.now(stage.name);
        if (!job.is_done) stage.run(job);
    }
}

void run_stages(Job& job) { run_all(job, stages); }
void run_sweep_stages(Job& job) { run_all(job, sweep_stages); }

int run(cli::Invocation& invocation) {
    Options options = parse_options(invocation);
    if (options.sweep.is_requested()) return run_sweep(invocation, options, run_sweep_stages);
    cli::Json found = cli::Json::object();
    if (options.hint.is_given())
        found["hint"] = choose_streams_and_threads(invocation, options, run_sweep_stages);
    return run_and_report(invocation, options, std::move(found), run_stages);
}

}  // namespace
}  // namespace mge::load_and_run

int main(int argc, char** argv) {
    return mge::cli::run_tool("load_and_run", argc, argv, mge::load_and_run::run);
}
