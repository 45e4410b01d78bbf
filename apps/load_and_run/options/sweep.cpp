// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/options/sweep.h"

#include <CLI/CLI.hpp>

#include "apps/cli/files/model_file.h"
#include "apps/cli/options/number_list.h"
#include "apps/cli/options/one_of.h"
#include "apps/load_and_run/options/compile_flags.h"
#include "apps/load_and_run/options/options.h"
#include "libmge/base/error.h"

namespace mge::load_and_run {
namespace {

// Options that compare, show or write one run.
constexpr const char* for_one_run[] = {"--baseline",
                                       "--bin-io-dump",
                                       "--bin-out-dump",
                                       "--compare",
                                       "--compare-with",
                                       "--dump-fitting-model",
                                       "--dump-outputs",
                                       "--fitting",
                                       "--get-static-mem-info",
                                       "--hint",
                                       "--io-dump",
                                       "--io-dump-stderr",
                                       "--io-dump-stdout",
                                       "--layout-transform-dump",
                                       "--list-devices",
                                       "--memory-timeline",
                                       "--model-dump",
                                       "--model-info",
                                       "--multithread",
                                       "--multithread-default",
                                       "--packed-model-dump",
                                       "--percentile",
                                       "--profile",
                                       "--profile-host",
                                       "--replay-plan",
                                       "--reproducible",
                                       "--round-robin",
                                       "--save-plan",
                                       "--serve-rounds",
                                       "--startup",
                                       "--thread",
                                       "--wait-gdb"};

constexpr size_t most_combinations = 10'000;

template <class T>
std::vector<T> or_one(const std::vector<T>& values, T otherwise) {
    return values.empty() ? std::vector<T>{otherwise} : values;
}

Options one(const Options& all, const std::string& model, const std::string& precision, int64_t threads,
            int64_t streams, int64_t batch) {
    Options result = all;
    result.sweep = {};
    result.run.model.path = model;
    if (!precision.empty()) set_precision(result.graph.compile, precision);
    result.device.threads = int(threads);
    result.run.streams = int(streams);
    result.input.batch_sizes.clear();
    if (batch) result.input.batch_sizes.push_back(batch);
    return result;
}

}  // namespace

void add(CLI::App& app, SweepOptions& o) {
    // Not required: some flags do not need a model.
    cli::add_model_files(app, o.models);
    cli::add_number_list(app, "--threads", o.threads,
                         "Threads an operator may use (default: affinity and cgroup quota)", 1, 1024);
    cli::add_number_list(app, "--streams", o.streams,
                         "Contexts that run one compiled program at the same time", 1, 1024)
        ->default_str("1");
    add_precision_flag(app, o.precisions);
    app.add_option("--format", o.format,
                   "Print a row per run, for several models, --batch, --threads, --streams or --precision")
        ->check(cli::one_of({"md", "csv", "jsonl", "sql"}));
}

void take_single_values(Options& o) {
    auto& sweep = o.sweep;
    if (!sweep.models.empty()) o.run.model.path = sweep.models[0];
    if (!sweep.threads.empty()) o.device.threads = int(sweep.threads[0]);
    if (!sweep.streams.empty()) o.run.streams = int(sweep.streams[0]);
    if (!sweep.precisions.empty()) set_precision(o.graph.compile, sweep.precisions[0]);
}

void check_sweep(const CLI::App& app, const SweepOptions& o) {
    if (!o.is_requested()) return;
    for (auto* name : for_one_run)
        if (app.get_option(name)->count() > 0)
            throw_value_error(name,
                              "acts on one run; several models or values, or --format, are a sweep of many");
    if (o.models.empty())
        throw cli::UsageError("a model is missing",
                              "usage: load_and_run MODEL... [options]; --help lists them");
}

std::vector<Options> combinations(const Options& o) {
    auto& sweep = o.sweep;
    std::vector<Options> result;
    size_t count = std::max<size_t>(sweep.models.size(), 1);
    for (size_t size :
         {sweep.precisions.size(), sweep.threads.size(), sweep.streams.size(), o.input.batch_sizes.size()})
        count *= std::max<size_t>(size, 1);
    if (count > most_combinations)
        throw cli::UsageError(text("the sweep has ", count, " runs, more than ", most_combinations),
                              "give fewer values");
    for (auto& model : sweep.models)
        for (auto& precision : or_one(sweep.precisions, std::string()))
            for (int64_t threads : or_one(sweep.threads, int64_t(o.device.threads)))
                for (int64_t streams : or_one(sweep.streams, int64_t(o.run.streams)))
                    for (int64_t batch : or_one(o.input.batch_sizes, int64_t(0)))
                        result.push_back(one(o, model, precision, threads, streams, batch));
    return result;
}

}  // namespace mge::load_and_run
