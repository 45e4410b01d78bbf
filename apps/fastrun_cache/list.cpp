// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/output/table.h"
#include "apps/cli/output/terminal.h"
#include "apps/fastrun_cache/commands.h"

namespace mge::fastrun_cache {
namespace {

struct ListJob {
    CacheArgument cache;
    RowFilter filter;
};

// Width of list lines without a terminal. Problems may have several hundred characters.
constexpr size_t width_of_files = 120;

std::string remark_on(const CacheRow& row) {
    return !row.is_intact ? "damaged" : row.measured.doubts ? "doubtful" : "";
}

// Groups rows of one machine and problem, fastest first.
std::vector<std::vector<CacheRow>> by_problem(std::vector<CacheRow> rows) {
    std::vector<std::vector<CacheRow>> groups;
    for (auto& row : rows) {
        bool is_new = groups.empty() || groups.back().front().machine != row.machine ||
                      groups.back().front().problem != row.problem;
        if (is_new) groups.emplace_back();
        groups.back().push_back(std::move(row));
    }
    return groups;
}

int list(const cli::Invocation& invocation, const ListJob& job) {
    auto groups = by_problem(job.filter.select(job.cache.open_to_read()->rows()));
    std::vector<std::vector<std::string>> table{
        {"problem", "fastest", "ms", "algorithms", "measured", "", "machine"}};
    cli::Json problems = cli::Json::array();
    size_t rows = 0;
    for (auto& group : groups) {
        auto& best = group.front();
        rows += group.size();
        table.push_back({best.problem, best.measured.name, cli::format_number(best.measured.milliseconds, 4),
                         std::to_string(group.size()), date_of(best.measured_at), remark_on(best),
                         best.machine});
        problems.push_back({{"machine", best.machine},
                            {"problem", best.problem},
                            {"fastest", best.measured.name},
                            {"milliseconds", best.measured.milliseconds},
                            {"algorithms", group.size()},
                            {"measured_at", best.measured_at},
                            {"doubts", best.measured.doubts}});
    }
    if (cli::text_width() == SIZE_MAX && !invocation.wide) cli::limit_text_width(width_of_files);
    if (!groups.empty()) cli::print_table(std::cout, table, {"measured", "algorithms", "machine"});
    std::cout << cli::counted(groups.size(), "problem") << ", " << cli::counted(rows, "row") << " in "
              << job.cache.path << '\n';
    return cli::finish(invocation, {{"cache", job.cache.path}, {"problems", problems}, {"rows", rows}});
}

int show(const cli::Invocation& invocation, const ListJob& job) {
    auto groups = by_problem(job.filter.select(job.cache.open_to_read()->rows()));
    cli::Json rows = cli::Json::array();
    for (auto& group : groups) {
        std::cout << group.front().problem << "\n  on " << group.front().machine << '\n';
        std::vector<std::vector<std::string>> table{{"  algorithm", "ms", "workspace", "measured", ""}};
        for (auto& row : group) {
            rows.push_back(to_json(row));
            table.push_back({"  " + row.measured.name, cli::format_number(row.measured.milliseconds, 4),
                             cli::format_bytes(double(row.measured.workspace)), date_of(row.measured_at),
                             remark_on(row)});
        }
        cli::print_table(std::cout, table, {"measured", "workspace"});
        std::cout << '\n';
    }
    if (groups.empty()) std::cout << "no row matches\n";
    return cli::finish(invocation, {{"cache", job.cache.path}, {"rows", rows}});
}

using Body = int (*)(const cli::Invocation&, const ListJob&);

void add(cli::App& app, const char* name, const char* description, Body body) {
    auto job = std::make_shared<ListJob>();
    auto& command = app.command(name, description, [=, &app] { return body(app.invocation(), *job); });
    add_cache(command, job->cache);
    add_filter(command, job->filter);
}

}  // namespace

// Imported rows have no time, and files may have times outside of any calendar.
std::string date_of(int64_t seconds) {
    std::time_t time = seconds;
    std::tm parts{};
    if (seconds == 0 || !gmtime_r(&time, &parts)) return "-";
    char buffer[32];
    std::strftime(buffer, sizeof buffer, "%F", &parts);
    return buffer;
}

void add_list(cli::App& app) { add(app, "list", "List problems, each with its fastest algorithm", list); }
void add_show(cli::App& app) { add(app, "show", "Show all measurements of each problem", show); }

}  // namespace mge::fastrun_cache
