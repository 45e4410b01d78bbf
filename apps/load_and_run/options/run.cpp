// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/options/run.h"

#include <CLI/CLI.hpp>

#include "apps/cli/options/numbers.h"
#include "apps/cli/options/output_option.h"
#include "apps/load_and_run/measure/verdict.h"
#include "libmge/base/error.h"

namespace mge::load_and_run {
namespace {

constexpr double default_percentiles[] = {50, 90, 99};

void add_timing(CLI::App& app, RunOptions& o) {
    app.add_option("--iter", o.iterations, "Timed runs")
        ->check(cli::whole_number(1, 100'000'000))
        ->capture_default_str();
    app.add_option("--warmup-iter", o.warmup_iterations, "Runs before timing starts")
        ->check(cli::whole_number(0, 1'000'000))
        ->capture_default_str();
    app.add_option("--duration", o.duration, "Keep timing for at least this many seconds")
        ->check(cli::real_number(0, 86400));
    o.percentiles.assign(std::begin(default_percentiles), std::end(default_percentiles));
    app.add_option("--percentile", o.percentiles, "Percentiles of the latency (default: 50,90,99)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(cli::real_number(0, 100))
        ->type_name("P,...");
    app.add_option("--rate", o.rate,
                   "Let requests arrive at random, this many per second on average, whether or not the last "
                   "is done; latency counts from the arrival")
        ->check(cli::real_number(1e-3, 1e7));
    app.add_option("--thread", o.loads, "Threads that each load, compile and run the model by themselves")
        ->check(cli::whole_number(1, 1024))
        ->capture_default_str();
    app.add_flag("--startup", o.startup,
                 "Say how long reading, verifying, compiling, preparing and the first run take");
}

void add_verdict(CLI::App& app, RunOptions& o) {
    app.add_option("--baseline", o.baseline, "Report (--json) of an earlier run to compare the times with")
        ->type_name("FILE.json");
    app.add_option(
           "--baseline-tool", o.baseline_tool,
           "With --baseline: let this load_and_run run the baseline's command again, in turns with this "
           "one, and compare those times")
        ->type_name("PROGRAM");
    app.add_flag("--serve-rounds", o.serve_rounds, "Time rounds on request from stdin")->group("");
    app.add_option(
           "--fail-if", o.fail_if,
           "Exit with 3 when a figure is surely worse than the baseline's, as in 'p50>+3%' (mean, min, "
           "pNN)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("FIGURE>+PERCENT%");
    app.add_option("--plant-slowdown", o.planted_slowdown,
                   "Make every run this many per cent slower: for testing --fail-if")
        ->check(cli::real_number(0, 1000))
        ->group("");
    app.add_flag("--fitting", o.fitting,
                 "Try every set of options that can be right here and name the fastest");
    app.add_flag("--dry-run", o.dry_run, "With --fitting: print the sets of options, and try none");
    cli::written(
        app.add_option("--fitting-state", o.fitting_state,
                       "With --fitting: keep the figures here; an interrupted search goes on from them"))
        ->type_name("FILE.json");
    auto* fitted = app.add_option(
        "--dump-fitting-model", o.dump_fitting_model,
        "With --fitting: write the model with the winner's options, which later runs use by default");
    cli::replaces(cli::written(fitted), "model")->type_name("FILE.mge");
}

}  // namespace

void add(CLI::App& app, RunOptions& o) {
    add_timing(app, o);
    add_verdict(app, o);
    app.add_flag("--share-param-mem", o.share_param_mem,
                 "Read the file into one buffer that the weights share, instead of mapping it");
    app.add_flag("--lite", o.lite, "Load, compile and run the model by way of MegEngine Lite's interface");
    app.add_flag("--mdl", o.mdl,
                 "Load, compile and run the model as a graph, as is done without --lite, too");
    app.add_flag("--wait-gdb", o.wait_gdb, "Print the process id and wait for a character on stdin");
    app.option_defaults()->group("Own operators");
    cli::add_model_options(app, o.model);
}

void check(const RunOptions& o) {
    auto fail = [](const char* option, const char* what) { throw_value_error(option, what); };
    if (o.lite && o.mdl) fail("--lite", "contradicts --mdl; give one of them");
    if (!o.dump_fitting_model.empty() && !o.fitting) fail("--dump-fitting-model", "needs --fitting");
    if (o.dry_run && !o.fitting) fail("--dry-run", "needs --fitting");
    if (!o.fitting_state.empty() && !o.fitting) fail("--fitting-state", "needs --fitting");
    for (auto& condition : o.fail_if) parse_condition(condition);
    if (!o.baseline.empty()) check_baseline(o.baseline);
    if (!o.fail_if.empty() && o.baseline.empty()) fail("--fail-if", "needs --baseline FILE.json");
    if (!o.baseline_tool.empty() && o.baseline.empty()) fail("--baseline-tool", "needs --baseline FILE.json");
    if (!o.baseline_tool.empty() && o.fitting)
        fail("--baseline-tool",
             "does not repeat --fitting; write the fitted model with --dump-fitting-model "
             "and compare that");
    if (!o.baseline_tool.empty() && (o.loads > 1 || o.streams > 1 || o.rate > 0))
        fail("--baseline-tool", "times one context at a time; drop --thread, --streams and --rate");
    if (o.loads > 1 && o.streams > 1)
        fail("--thread", "contradicts --streams: either N loads or N contexts on one program");
    if (o.fitting && (o.loads > 1 || o.streams > 1 || o.rate > 0))
        fail("--fitting", "times one context at a time; drop --thread, --streams and --rate");
}

}  // namespace mge::load_and_run
