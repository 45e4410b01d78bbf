// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/options.h"

#include <CLI/CLI.hpp>

#include "apps/cli/app.h"

namespace mge::load_and_run {
namespace {

constexpr const char* description =
    "Runs a model on this machine, checks its test cases, and says how fast it is and what it needs.";

constexpr const char* footer = R"(Inputs (--input "name:value;name:value"; without a name: the only input):
  file.npy            one array           file.npz            arrays by input name
  [[1,2],[3,4]]       literal numbers     {1,3,224,224}       a shape, every byte 1
  #rand(min,max,shape...)                 random numbers; without a shape: the model's
Option names may be written with underscores, as in --fast_run.
Exit codes: 0 ok, 1 internal error, 2 usage, 4 device, 5 bad model or data file, 7 a test case differs, 8 memory.)";

void add_options(CLI::App& app, Options& o) {
    app.add_option("model", o.model, "Model file (.mge)")->required();
    app.add_option("--input", o.input, "Values of the inputs, see below")->type_name("NAME:VALUE;...");
    app.add_option("--batch-size", o.batch_size,
                   "Replace the first extent of every input; data is repeated to fill it")
        ->check(CLI::Range(int64_t(1), int64_t(1) << 31));
    app.add_option("--seed", o.seed, "Seed of random inputs")->capture_default_str();
    app.add_option("--iter", o.iterations, "Timed runs")
        ->check(CLI::Range(1, 100'000'000))
        ->capture_default_str();
    app.add_option("--warmup-iter", o.warmup_iterations, "Runs before timing starts")
        ->check(CLI::Range(0, 1'000'000))
        ->capture_default_str();
    app.add_option("--duration", o.duration, "Keep timing for at least this many seconds")
        ->check(CLI::Range(0.0, 86400.0));
    app.add_option("--threads", o.threads, "Threads an operator may use (default: affinity and cgroup quota)")
        ->check(CLI::Range(1, 1024));
    app.add_flag("--cpu", o.cpu, "Run on the CPU (the only device of this build)");
    app.add_flag("--fast-run", o.fast_run,
                 "Measure every algorithm of every step and take the fastest; kept in the cache");
    app.add_option("--fast-run-algo-policy", o.algorithm_cache,
                   "Cache of measured algorithms (default: $XDG_CACHE_HOME/mge/fastrun.sqlite). Without "
                   "--fast-run an "
                   "existing cache is read and nothing is measured")
        ->type_name("FILE");
    app.add_flag("--model-info", o.model_info, "Print the table of inputs and outputs");
    app.add_option("--dump-outputs", o.dump_outputs, "Write the outputs, by name")->type_name("FILE.npz");
}

}  // namespace

Options parse_options(cli::Invocation& invocation) {
    Options options;
    cli::App app(invocation, description, footer);
    add_options(app.root(), options);
    app.parse();
    options.verbose = invocation.verbose;
    return options;
}

}  // namespace mge::load_and_run
