// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/files/model_file.h"
#include "apps/cli/output/progress.h"
#include "apps/cli/output/table.h"
#include "apps/fastrun_cache/commands.h"
#include "apps/fastrun_cache/compile_model.h"
#include "libmge/device/device.h"

namespace mge::fastrun_cache {
namespace {

struct BuildJob {
    CacheArgument cache;
    std::vector<std::string> models;
    cli::ModelKeys model_keys;
    cli::OperatorLibraries operators;
    Variants variants;
};

// Counts the steps of a program that were measured now, that the cache had, and whose time is doubtful.
cli::Json tally(const Program& program) {
    int measured = 0, known = 0, doubtful = 0;
    for (auto& step : program.steps()) {
        measured += step.source == ChoiceSource::measured;
        known += step.source == ChoiceSource::cache;
        doubtful += step.is_doubtful;
    }
    return {{"steps", program.steps().size()},
            {"measured", measured},
            {"from_cache", known},
            {"doubtful", doubtful}};
}

cli::Json build_one(const Model& model, const Variant& variant, FastrunCache& cache, WorkObserver progress) {
    auto start = std::chrono::steady_clock::now();
    SelectOptions select;
    select.profile = select.optimized = true;
    select.heuristic = false;
    select.cache = &cache;
    cli::Json result = tally(*compile_variant(model, variant, select, std::move(progress)));
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    result["seconds"] = seconds.count();
    return result;
}

void print(const cli::Json& runs) {
    std::vector<std::vector<std::string>> rows{
        {"model", "batch", "threads", "steps", "measured", "from cache", "doubtful", "seconds"}};
    for (auto& run : runs)
        rows.push_back({run["model"], run["batch"] == 0 ? "its own" : run["batch"].dump(),
                        run["threads"].dump(), run["steps"].dump(), run["measured"].dump(),
                        run["from_cache"].dump(), run["doubtful"].dump(),
                        cli::format_number(run["seconds"], 2)});
    cli::print_table(std::cout, rows);
}

cli::Json build_all(const BuildJob& job, FastrunCache& cache) {
    load(job.operators);
    auto variants = all_variants(job.variants);
    cli::Progress progress("measuring", 0);
    size_t programs = job.models.size() * variants.size();
    cli::Json runs = cli::Json::array();
    for (auto& path : job.models) {
        Model model = cli::ModelFile{path, job.model_keys, job.operators}.read(&job.cache.key);
        for (auto& variant : variants) {
            cli::Json run{{"model", path},
                          {"batch", variant.batch},
                          {"threads", variant.threads},
                          {"device", physical_name(variant.device)}};
            std::string label = std::filesystem::path(path).filename().string();
            if (programs > 1) label += text(" (", runs.size() + 1, " of ", programs, ")");
            run.update(build_one(model, variant, cache, progress.observer(label)));
            runs.push_back(std::move(run));
        }
    }
    return runs;
}

int build(const cli::Invocation& invocation, const BuildJob& job) {
    auto cache = job.cache.open_to_write();
    cli::Json runs = build_all(job, *cache);
    print(runs);
    return cli::finish(invocation,
                       {{"cache", job.cache.path}, {"runs", runs}, {"rows", cache->rows().size()}});
}

}  // namespace

void add_build(cli::App& app) {
    auto job = std::make_shared<BuildJob>();
    auto& command =
        app.command("build",
                    "Measure all algorithms of models' steps. Each finished problem is saved at once, so an "
                    "interrupted run can be continued",
                    [job, &app] { return build(app.invocation(), *job); });
    add_cache(command, job->cache, "Cache file; created if it does not exist");
    command.add_option("models", job->models, "Model files of any readable format")
        ->required()
        ->type_name("FILE");
    cli::add_model_keys(command, job->model_keys, model_key_prefix);
    cli::add_operator_libraries(command, job->operators);
    add_variants(command, job->variants);
}

}  // namespace mge::fastrun_cache
