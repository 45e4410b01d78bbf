// SPDX-License-Identifier: Apache-2.0
#include "apps/fastrun_cache/commands.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "libmge/device/device.h"
#include "libmge/device/kinds.h"

namespace mge::fastrun_cache {

std::regex compiled(const std::string& option, const std::string& expression) {
    try {
        return std::regex(expression, std::regex::ECMAScript | std::regex::optimize);
    } catch (const std::regex_error& e) {
        throw cli::UsageError(text(option, ": '", expression, "' is not a regular expression: ", e.what()),
                              "write ECMAScript's syntax; escape ( ) [ ] . * + ? with a backslash");
    }
}

namespace {

cli::Json attribute_names(const Attributes& a) {
    cli::Json names = cli::Json::array();
    if (a.reproducible) names.push_back("reproducible");
    if (a.naive) names.push_back("naive");
    if (a.accuracy_depends_on_batch) names.push_back("accuracy_depends_on_batch");
    if (a.usable_depends_on_shape) names.push_back("usable_depends_on_shape");
    if (a.locks) names.push_back("locks");
    return names;
}

}  // namespace

std::vector<CacheRow> RowFilter::select(std::vector<CacheRow> rows) const {
    drop_unless_found(rows, "--machine", machine, [](auto& row) { return row.machine; });
    drop_unless_found(rows, "--problem", problem, [](auto& row) { return row.problem; });
    drop_unless_found(rows, "--algorithm", algorithm, [](auto& row) { return row.measured.name; });
    if (only_here)
        std::erase_if(rows,
                      [here = machines_here(libraries)](auto& row) { return !here.contains(row.machine); });
    return rows;
}

std::set<std::string> machines_here(const cli::OperatorLibraries& libraries) {
    cli::load(libraries);
    std::set<std::string> machines{FastrunCache::machine()};
    for (auto& kind : added_device_kinds())
        for (int i = 0; i < kind.count; ++i)
            machines.insert(FastrunCache::machine(parse_device(text(kind.name, i))));
    return machines;
}

void add_filter(CLI::App& command, RowFilter& filter) {
    command.add_option("--machine", filter.machine, "Only machines that match this")->type_name("RE");
    command
        .add_option("--problem", filter.problem,
                    "Only problems that match this; a problem begins with its operator")
        ->type_name("RE");
    command.add_option("--algorithm", filter.algorithm, "Only algorithms that match this")->type_name("RE");
    command.add_flag("--here", filter.only_here, "Only measurements of machines like this one");
    cli::add_operator_libraries(command, filter.libraries);
}

std::unique_ptr<FastrunCache> CacheArgument::open_to_read() const {
    return cli::open_cache(path, key, cli::CacheUse::read, key.are_given());
}

std::unique_ptr<FastrunCache> CacheArgument::open_to_write() const {
    return cli::open_cache(path, key, cli::CacheUse::write, key.are_given());
}

void add_cache(CLI::App& command, CacheArgument& cache, const char* description, const char* name) {
    command.add_option(name, cache.path, description)->required()->type_name("FILE");
    cli::add_key_options(command, cache.key, "the key of an encrypted cache");
}

cli::Json to_json(const CacheRow& row) {
    auto& m = row.measured;
    return {{"machine", row.machine},
            {"problem", row.problem},
            {"algorithm", m.name},
            {"milliseconds", m.milliseconds},
            {"workspace", m.workspace},
            {"attributes", attribute_names(m.attributes)},
            {"measured_at", row.measured_at},
            {"doubts", m.doubts},
            {"intact", row.is_intact}};
}

}  // namespace mge::fastrun_cache
