// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/cli/options/numbers.h"
#include "apps/cli/output/table.h"
#include "apps/fastrun_cache/commands.h"
#include "libmge/base/utf8.h"
#include "libmge/kernel/packed_weight_cache.h"

namespace mge::fastrun_cache {
namespace {

using Table = std::vector<std::vector<std::string>>;

struct ModelsJob {
    std::string model;  // a regular expression; empty: all
    double older_than_days = -1;
    bool is_cleared = false, is_removed = false;
    bool has_filter() const { return !model.empty() || older_than_days >= 0; }
};

struct Weight {
    PackedWeightCache::Entry entry;
    PackedWeightCache::Label label;
};

// The weights that were first packed for one model.
struct ModelRow {
    std::string model;
    size_t weights = 0;
    uint64_t bytes = 0;
    int64_t used_at = 0;
};

std::vector<Weight> selected(const PackedWeightCache& cache, const ModelsJob& job) {
    std::vector<Weight> weights;
    for (auto& entry : cache.entries()) weights.push_back({entry, PackedWeightCache::label_of(entry)});
    drop_unless_found(weights, "--model", job.model, [](auto& weight) { return weight.label.model; });
    if (job.older_than_days >= 0) {
        auto limit = int64_t(std::time(nullptr)) - int64_t(job.older_than_days * 86400);
        std::erase_if(weights, [=](auto& weight) { return weight.entry.used_at > limit; });
    }
    return weights;
}

// The one that was used last comes first.
std::vector<ModelRow> by_model(const std::vector<Weight>& weights) {
    std::map<std::string, ModelRow> rows;
    for (auto& weight : weights) {
        auto& row = rows[weight.label.model];
        row.model = weight.label.model;
        ++row.weights;
        row.bytes += weight.entry.bytes;
        row.used_at = std::max(row.used_at, weight.entry.used_at);
    }
    std::vector<ModelRow> sorted;
    for (auto& [model, row] : rows) sorted.push_back(row);
    std::ranges::stable_sort(sorted, std::greater(), &ModelRow::used_at);
    return sorted;
}

std::string shown(const std::string& words) { return words.empty() ? "-" : printable(words); }

void print_rows(const std::vector<Weight>& weights, bool each_weight) {
    if (weights.empty()) return;
    Table table{{"model", "packed weights", "size", "last use"}};
    if (each_weight) table[0] = {"fingerprint", "size", "last use", "made for", "model"};
    if (each_weight)
        for (auto& weight : weights)
            table.push_back({weight.entry.key(), cli::format_bytes(double(weight.entry.bytes)),
                             date_of(weight.entry.used_at), shown(weight.label.purpose),
                             shown(weight.label.model)});
    else
        for (auto& row : by_model(weights))
            table.push_back({shown(row.model), std::to_string(row.weights),
                             cli::format_bytes(double(row.bytes)), date_of(row.used_at)});
    cli::print_table(std::cout, table, {"last use", "packed weights"});
}

cli::Json models_json(const std::vector<Weight>& weights) {
    cli::Json list = cli::Json::array();
    for (auto& row : by_model(weights))
        list.push_back({{"model", row.model},
                        {"packed_weights", row.weights},
                        {"bytes", row.bytes},
                        {"used_at", row.used_at}});
    return list;
}

cli::Json weights_json(const std::vector<Weight>& weights) {
    cli::Json list = cli::Json::array();
    for (auto& weight : weights)
        list.push_back({{"fingerprint", weight.entry.key()},
                        {"model", weight.label.model},
                        {"made_for", weight.label.purpose},
                        {"bytes", weight.entry.bytes},
                        {"used_at", weight.entry.used_at}});
    return list;
}

size_t remove(const std::vector<Weight>& weights) {
    std::vector<PackedWeightCache::Entry> entries;
    for (auto& weight : weights) entries.push_back(weight.entry);
    return PackedWeightCache::remove(entries);
}

int models(const cli::Invocation& invocation, const ModelsJob& job) {
    if (job.is_removed && !job.has_filter())
        throw cli::UsageError("models: --remove needs --model or --older-than",
                              "--clear removes all packed weights");
    if (job.is_cleared && job.has_filter())
        throw cli::UsageError("models: --clear removes all packed weights", "give --remove with filters");
    auto* cache = PackedWeightCache::of_user();
    if (!cache) {
        std::cout << "the model cache is off\n";
        return cli::finish(invocation, {{"cache", ""}, {"is_on", false}});
    }
    auto weights = selected(*cache, job);
    uint64_t bytes = 0;
    for (auto& weight : weights) bytes += weight.entry.bytes;
    print_rows(weights, invocation.verbose);
    std::cout << cache->folder() << ": " << cli::counted(weights.size(), "packed weight") << ", "
              << cli::format_bytes(double(bytes));
    if (!job.has_filter())
        std::cout << " of at most " << cli::format_bytes(double(PackedWeightCache::default_limit));
    size_t removed = job.is_cleared || job.is_removed ? remove(weights) : 0;
    if (job.is_cleared || job.is_removed) std::cout << "; " << removed << " removed";
    std::cout << '\n';
    return cli::finish(invocation, {{"cache", cache->folder()},
                                    {"is_on", true},
                                    {"packed_weights", weights.size()},
                                    {"bytes", bytes},
                                    {"limit", PackedWeightCache::default_limit},
                                    {"models", models_json(weights)},
                                    {"weights", weights_json(weights)},
                                    {"cleared", removed}});
}

}  // namespace

void add_models(cli::App& app) {
    auto job = std::make_shared<ModelsJob>();
    auto& command = app.command("models", "Lists or removes packed weights of earlier runs: the model cache",
                                [job, &app] { return models(app.invocation(), *job); });
    command.add_option("--model", job->model, "Only those of models whose path matches anywhere")
        ->type_name("REGEX");
    command.add_option("--older-than", job->older_than_days, "Only those not used for so many days")
        ->check(cli::real_number(0, 1e6))
        ->type_name("DAYS");
    command.add_flag("--remove", job->is_removed, "Remove the selected ones");
    command.add_flag("--clear", job->is_cleared, "Remove all");
}

}  // namespace mge::fastrun_cache
