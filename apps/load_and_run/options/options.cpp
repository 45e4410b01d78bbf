// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/options/options.h"

#include <CLI/CLI.hpp>

#include "apps/cli/app.h"

namespace mge::load_and_run {
namespace {

cli::Manual manual() {
    return {
        .description =
            "Runs a model on this machine, checks its test cases, and says how fast it is and what it needs.",
        .footer = R"(Inputs (--input "name:value;name:value"; without a name: the only input):
  file.npy            one array           file.npz            arrays by input name
  [[1,2],[3,4]]       literal numbers     {1,3,224,224}       a shape, every byte 1
  #rand(min,max,shape...)                 random numbers; without a shape: the model's
Option names may be written with underscores, as in --fast_run. Further flags of MegEngine's tool are accepted
for compatibility and do nothing, or name what is not here.
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
    };
}

// Every group of options: the command line is their sum.
void for_each_group(Options& options, auto visit) {
    visit(options.run);
    visit(options.device);
    visit(options.input);
    visit(options.algorithms);
    visit(options.graph);
    visit(options.output);
    visit(options.checks);
    visit(options.profile);
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
    for_each_group(options, [&](auto& group) { add(app.root(), group); });
    for (auto* flag : accepted_for_compatibility) app.root().get_option(flag)->group("");
    app.parse();
    for_each_group(options, [](auto& group) { check(group); });
    bool needs_model = !options.device.list_devices;
    if (needs_model && options.run.model.path.empty())
        throw cli::UsageError("a model is missing", "usage: load_and_run MODEL [options]; --help lists them");
    return options;
}

}  // namespace mge::load_and_run
