// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/cli/files/model_file.h"
#include "apps/cli/options/numbers.h"
#include "apps/cli/output/table.h"
#include "apps/cli/output/terminal.h"
#include "apps/fastrun_cache/commands.h"
#include "apps/fastrun_cache/compile_model.h"
#include "libmge/device/device.h"
#include "libmge/kernel/explain_miss.h"

namespace mge::fastrun_cache {
namespace {

struct ExplainJob {
    CacheArgument cache;
    cli::ModelFile model;
    Variants variants;
    SelectOptions select;
};

// Returns the lookups of a run with this cache that would miss, for one variant.
cli::Json misses_of(const Program& program, const std::vector<CacheRow>& rows, const std::string& machine,
                    const SelectOptions& select) {
    cli::Json misses = cli::Json::array();
    for (size_t i = 0; i < program.steps().size(); ++i) {
        auto& step = program.steps()[i];
        if (step.problem.empty()) continue;
        auto miss = explain_miss(rows, machine, step.problem, select);
        if (!miss) continue;
        cli::Json entry{{"step", i},
                        {"op", step.op},
                        {"name", step.name},
                        {"problem", step.problem},
                        {"reason", name_of(miss->reason)},
                        {"detail", miss->detail},
                        {"nearest", nullptr}};
        if (miss->nearest) entry["nearest"] = to_json(*miss->nearest);
        misses.push_back(std::move(entry));
    }
    return misses;
}

void print_indented(const std::string& line) {
    constexpr size_t indent = 4;
    size_t width = cli::text_width();
    for (auto& part : cli::wrapped(printable(line), width > 2 * indent ? width - indent : width))
        std::cout << std::string(indent, ' ') << part << '\n';
}

// Prints the fields that differ from the nearest entry; --verbose prints both problems in full.
void print(const cli::Json& miss, bool verbose) {
    std::string name = miss["name"], detail = miss["detail"];
    std::cout << "  step " << miss["step"] << ", " << miss["op"].get<std::string>()
              << (name.empty() ? "" : printable(" '" + name + "'")) << ": "
              << miss["reason"].get<std::string>() << '\n';
    print_indented(detail);
    if (!verbose) return;
    print_indented("here: " + miss["problem"].get<std::string>());
    if (auto& nearest = miss["nearest"]; !nearest.is_null())
        print_indented(text("nearest: ", nearest["problem"].get<std::string>(), " on ",
                            nearest["machine"].get<std::string>()));
}

void print_run(const cli::Json& run, bool verbose) {
    auto& misses = run["misses"];
    size_t lookups = run["lookups"];
    std::cout << "batch " << (run["batch"] == 0 ? "of the model" : run["batch"].dump()) << ", "
              << cli::counted(run["threads"], "thread") << ": " << run["hits"] << " of "
              << cli::counted(lookups, "step") << (lookups == 1 ? " is" : " are") << " known\n";
    std::map<std::string, int> reasons;
    for (auto& miss : misses) ++reasons[miss["reason"]];
    for (auto& [reason, count] : reasons) std::cout << "  " << count << " x " << reason << '\n';
    for (auto& miss : misses) print(miss, verbose);
}

int explain(const cli::Invocation& invocation, const ExplainJob& job) {
    auto cache = job.cache.open_to_read();
    auto rows = cache->rows();
    Model model = job.model.read(&job.cache.key);
    cli::Json runs = cli::Json::array();
    auto variants = all_variants(job.variants);
    std::string machine = FastrunCache::machine(variants.at(0).device);
    for (auto& variant : variants) {
        SelectOptions select = job.select;
        select.profile = true;  // with the heuristic: uses the cache without measuring
        select.cache = cache.get();
        auto program = compile_variant(model, variant, select);
        auto lookups = std::ranges::count_if(program->steps(), [](auto& s) { return !s.problem.empty(); });
        cli::Json misses = misses_of(*program, rows, machine, job.select);
        auto hits = lookups - std::ptrdiff_t(misses.size());
        runs.push_back({{"batch", variant.batch},
                        {"threads", variant.threads},
                        {"device", physical_name(variant.device)},
                        {"lookups", lookups},
                        {"hits", hits},
                        {"misses", std::move(misses)}});
        print_run(runs.back(), invocation.verbose);
    }
    return cli::finish(
        invocation,
        {{"cache", job.cache.path}, {"model", job.model.path}, {"machine", machine}, {"runs", runs}});
}

}  // namespace

void add_explain(cli::App& app) {
    auto job = std::make_shared<ExplainJob>();
    auto& command = app.command(
        "explain", "Explain for each step of a model why the cache has no entry, and show the nearest entry",
        [job, &app] { return explain(app.invocation(), *job); });
    add_cache(command, job->cache);
    cli::add_model_file(command, job->model, "model", model_key_prefix);
    add_variants(command, job->variants);
    command
        .add_option_function<std::string>(
            "--workspace-limit",
            [job](const std::string& bytes) {
                job->select.workspace_limit = cli::parse_bytes("--workspace-limit", bytes, 0);
            },
            "Workspace limit of the run: 65536, 1MiB")
        ->type_name("BYTES");
    command.add_flag("--reproducible", job->select.reproducible, "Explain a run with --reproducible");
}

}  // namespace mge::fastrun_cache
