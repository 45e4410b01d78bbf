// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/options/options.h"

#include <CLI/CLI.hpp>

#include "apps/cli/app.h"

namespace mge::load_and_run {
namespace {

cli::Manual manual() {
    return {
        .description =
            "Runs a model on this machine, checks its test cases, and reports its speed and memory.",
        .footer = R"(Inputs (--input "name:value;name:value"; without a name: the only input):
  file.npy            one array           file.npz            arrays by input name
  [[1,2],[3,4]]       literal numbers     {1,3,224,224}       a shape, every byte 1
  #rand(min,max,shape...)                 random numbers; without a shape: the model's
Option names may be written with underscores, as in --fast_run. Options kept for compatibility have no effect, or
name a backend that this build does not have.
Exit codes: 0 ok, 1 internal error, 2 usage, 3 regression, 4 device, 5 bad model or data file, 6 crypto,
7 a result differs, 8 memory.)",
        .examples =
            {{"load_and_run model.mge", "Runs its test cases, or random inputs, and times them"},
             {"load_and_run model.mge --fast-run --duration 3",
              "Measures which algorithms are fastest, keeps that in the cache, and times three seconds"},
             {"load_and_run model.mge --compare-with reference --first-diff",
              "Names the first operator that differs from the reference kernels"},
             {"load_and_run model.mge --json before.json", "Keeps the times as a baseline"},
             {"load_and_run model.mge --baseline before.json --fail-if 'p50>+50%'",
              "Ends with 3 when the median has surely risen by more than that"},
             {"load_and_run model.mge --profile run.json",
              "Records when each step began and ended, for mge-profile"}},
        .files = {{"$XDG_CACHE_HOME/mge/fastrun.sqlite",
                   "The fast-run cache that --fast-run fills and reads"}},
        .first_options = {{"--threads", "Threads of each operator"},
                          {"--streams", "Contexts that run at the same time"},
                          {"--precision", "strict is f32; the others may round to bf16"},
                          {"--format", "Print a row per run, for scripts"},
                          {"--iter", "Timed runs (10)"},
                          {"--duration", "Keep timing for this many seconds"},
                          {"--hint", "Choose streams and threads"},
                          {"--baseline", "Compare the times with an earlier report"},
                          {"--fail-if", "Exit with 3 when that is surely worse"},
                          {"--fitting", "Find the fastest set of options"},
                          {"--device", "cpu0, gpu0, ... (--list-devices)"},
                          {"--input", "Files, numbers or #rand(min,max)"},
                          {"--batch-size", "First dimension of every input"},
                          {"--dim", "Size of an open dimension"},
                          {"--fast-run", "Measure algorithms and keep the fastest"},
                          {"--compare-with", "reference, precision=strict, threads=1, ..."},
                          {"--first-diff", "Name the first operator that differs"},
                          {"--check-finite", "Fail on infinities and NaN"},
                          {"--profile", "Record the steps for mge-profile"},
                          {"--json", "Write a report with everything"}},
    };
}

// Every group of options with its heading: the command line is their sum.
void for_each_group(Options& options, auto visit) {
    visit("Runs and times", options.run);
    visit("Device", options.device);
    visit("Inputs", options.input);
    visit("Algorithms", options.algorithms);
    visit("Graph", options.graph);
    visit("Output", options.output);
    visit("Accuracy", options.checks);
    visit("Profile", options.profile);
}

// Accepted for compatibility: scripts for MegEngine's tool pass them. No layout, device or fallback of this
// program corresponds to them; docs/tools/load_and_run.md describes each.
constexpr const char* accepted_for_compatibility[] = {"--c-opr-lib-with-param",
                                                      "--enable-nchw4",
                                                      "--enable-chwn4",
                                                      "--enable-nchw32",
                                                      "--enable-nchw44",
                                                      "--enable-nchw44-dot",
                                                      "--enable-nchw64",
                                                      "--enable-nhwcd4",
                                                      "--mdl",
                                                      "--opencl",
                                                      "--tensorrt",
                                                      "--tensorrt-cache"};

}  // namespace

Options parse_options(cli::Invocation& invocation) {
    Options options;
    cli::App app(invocation, manual());
    auto under = [&](const char* heading, auto& group) {
        app.root().option_defaults()->group(heading);
        add(app.root(), group);
    };
    under("Lists (several values: one row per run)", options.sweep);
    under("Runs and times", options.hint);
    for_each_group(options, under);
    for (auto* flag : accepted_for_compatibility)
        app.root().get_option(flag)->group("Kept for compatibility");
    app.parse();
    check_sweep(app.root(), options.sweep);
    check_hint(app.root(), options.hint);
    check_walk(app.root(), options.checks);
    take_single_values(options);
    for_each_group(options, [](const char*, auto& group) { check(group); });
    auto& run = options.run;
    if (options.input.round_robin && (run.streams > 1 || run.loads > 1 || run.rate > 0))
        throw_value_error("--round-robin",
                          "times one context at a time; drop --streams, --thread and --rate");
    bool needs_model = !options.device.list_devices;
    if (needs_model && options.run.model.path.empty())
        throw cli::UsageError("a model is missing", "usage: load_and_run MODEL [options]; --help lists them");
    return options;
}

}  // namespace mge::load_and_run
