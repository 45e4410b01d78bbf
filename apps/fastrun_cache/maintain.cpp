// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/options/numbers.h"
#include "apps/cli/output/table.h"
#include "apps/fastrun_cache/commands.h"

namespace mge::fastrun_cache {
namespace {

int verify(const cli::Invocation& invocation, const CacheArgument& argument) {
    auto cache = argument.open_to_read();
    auto& path = argument.path;
    auto faults = cache->verify();
    size_t rows = faults.empty() ? cache->rows().size() : 0;
    cli::Json result{{"cache", path}, {"intact", faults.empty()}, {"rows", rows}, {"faults", faults}};
    for (auto& fault : faults) std::cout << fault << '\n';
    if (!faults.empty())
        return cli::finish(
            invocation, result, ErrorCode::model,
            text("fast-run cache '", path, "' is damaged (", cli::counted(faults.size(), "fault"),
                 "); mge-fastrun-cache prune --damaged removes the damaged rows"));
    std::cout << path << ": " << cli::counted(rows, "row") << ", all intact\n";
    return cli::finish(invocation, result);
}

struct MergeJob {
    CacheArgument out;
    std::vector<std::string> in;
};

int merge(const cli::Invocation& invocation, const MergeJob& job) {
    // Read all caches before anything is written.
    std::vector<CacheRow> rows;
    for (auto& path : job.in) {
        // Encrypted inputs use the key of the output cache.
        auto more = cli::open_cache(path, job.out.key, cli::CacheUse::read, false)->rows();
        rows.insert(rows.end(), more.begin(), more.end());
    }
    auto damaged = std::ranges::count_if(rows, [](auto& row) { return !row.is_intact; });
    auto cache = job.out.open_to_write();
    size_t changed = cache->merge(rows), total = cache->rows().size();
    std::cout << job.out.path << ": " << cli::counted(changed, "row") << " added or renewed, " << total
              << " in all";
    if (damaged) std::cout << "; " << cli::counted(size_t(damaged), "damaged one") << " left out";
    std::cout << '\n';
    return cli::finish(
        invocation,
        {{"cache", job.out.path}, {"changed", changed}, {"rows", total}, {"damaged_left_out", damaged}});
}

struct PruneJob {
    CacheArgument cache;
    RowFilter filter;
    double older_than_days = -1;
    bool other_machines = false, damaged = false, doubtful = false, dry_run = false;
    int keep_fastest = 0;

    bool has_criterion() const {
        return older_than_days >= 0 || other_machines || damaged || doubtful || keep_fastest ||
               !filter.is_empty();
    }
};

// Rows are ordered by machine, problem and time.
std::vector<CacheRow> beyond_the_fastest(const std::vector<CacheRow>& rows, int keep) {
    std::vector<CacheRow> slow;
    int rank = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        bool same = i && rows[i].machine == rows[i - 1].machine && rows[i].problem == rows[i - 1].problem;
        rank = same ? rank + 1 : 0;
        if (rank >= keep) slow.push_back(rows[i]);
    }
    return slow;
}

std::vector<CacheRow> rows_to_prune(const PruneJob& job, FastrunCache& cache) {
    auto rows = cache.rows();
    // The fastest of all rows, not of those that meet the other criteria.
    if (job.keep_fastest) rows = beyond_the_fastest(rows, job.keep_fastest);
    rows = job.filter.select(std::move(rows));
    if (job.older_than_days >= 0) {
        auto limit = int64_t(std::time(nullptr)) - int64_t(job.older_than_days * 86400);
        std::erase_if(rows, [=](auto& row) { return row.measured_at > limit; });
    }
    if (job.other_machines)
        std::erase_if(rows, [here = machines_here(job.filter.libraries)](auto& row) {
            return here.contains(row.machine);
        });
    if (job.damaged) std::erase_if(rows, [](auto& row) { return row.is_intact; });
    if (job.doubtful) std::erase_if(rows, [](auto& row) { return row.measured.doubts == 0; });
    return rows;
}

int prune(const cli::Invocation& invocation, const PruneJob& job) {
    if (!job.has_criterion())
        throw cli::UsageError(
            "prune: no criterion for removal is given",
            "give --older-than, --other-machines, --damaged, --doubtful, --keep-fastest or a filter");
    auto cache = job.cache.open_to_read();
    if (!job.dry_run) cache = job.cache.open_to_write();
    auto rows = rows_to_prune(job, *cache);
    if (!job.dry_run && cache->remove(rows)) cache->compact();
    std::cout << cli::counted(rows.size(), "row") << (job.dry_run ? " would be removed" : " removed") << '\n';
    cli::Json removed = cli::Json::array();
    for (auto& row : rows) removed.push_back(to_json(row));
    return cli::finish(invocation, {{"cache", job.cache.path},
                                    {"dry_run", job.dry_run},
                                    {"removed", removed},
                                    {"rows", cache->rows().size()}});
}

}  // namespace

void add_verify(cli::App& app) {
    auto cache = std::make_shared<CacheArgument>();
    auto& command = app.command("verify", "Check the file and every row; damage ends with exit code 5",
                                [=, &app] { return verify(app.invocation(), *cache); });
    add_cache(command, *cache);
}

void add_merge(cli::App& app) {
    auto job = std::make_shared<MergeJob>();
    auto& command =
        app.command("merge", "Merge caches, also of other machines; of equal rows the newer is kept",
                    [=, &app] { return merge(app.invocation(), *job); });
    add_cache(command, job->out, "Cache file to add to; created if it does not exist", "out");
    command.add_option("in", job->in, "Caches to merge")->required()->type_name("FILE");
}

void add_prune(cli::App& app) {
    auto job = std::make_shared<PruneJob>();
    auto& command = app.command("prune", "Remove the rows that meet all given criteria",
                                [=, &app] { return prune(app.invocation(), *job); });
    add_cache(command, job->cache);
    command.add_option("--older-than", job->older_than_days, "Rows measured at least this many days ago")
        ->check(cli::real_number(0, 1e6))
        ->type_name("DAYS");
    command.add_flag("--other-machines", job->other_machines,
                     "Rows of other processors, instruction sets or library versions");
    command.add_flag("--damaged", job->damaged, "Damaged rows");
    command.add_flag("--doubtful", job->doubtful,
                     "Rows measured while the machine was busy, which are not trusted");
    command.add_option("--keep-fastest", job->keep_fastest, "All rows but the N fastest of each problem")
        ->check(cli::whole_number(1, 1'000'000))
        ->type_name("N");
    command.add_flag("--dry-run", job->dry_run, "Only report what would be removed");
    add_filter(command, job->filter);
}

}  // namespace mge::fastrun_cache
