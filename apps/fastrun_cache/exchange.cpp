// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/options/output_option.h"
#include "apps/cli/output/json_number.h"
#include "apps/cli/output/table.h"
#include "apps/fastrun_cache/commands.h"
#include "libmge/base/files/file.h"
#include "libmge/base/files/file_limit.h"
#include "libmge/base/json_depth.h"
#include "libmge/model/import/megengine/fastrun_cache.h"

namespace mge::fastrun_cache {
namespace {

constexpr int format_version = 1;

struct ExportJob {
    CacheArgument cache;
    std::string out;
    RowFilter filter;
};

int export_rows(const cli::Invocation& invocation, const ExportJob& job) {
    auto rows = job.filter.select(job.cache.open_to_read()->rows());
    std::erase_if(rows, [](auto& row) { return !row.is_intact; });
    cli::Json list = cli::Json::array();
    for (auto& row : rows) {
        list.push_back(to_json(row));
        list.back().erase("intact");
    }
    cli::Json file{{"format", "mge-fastrun-cache"}, {"version", format_version}, {"rows", std::move(list)}};
    cli::write_output(invocation, job.out, [&](std::ostream& stream) {
        stream << file.dump(1, ' ', false, cli::Json::error_handler_t::replace) << '\n';
    });
    if (job.out != "-") std::cout << job.out << ": " << cli::counted(rows.size(), "row") << '\n';
    return cli::finish(invocation, {{"cache", job.cache.path}, {"out", job.out}, {"rows", rows.size()}});
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
    throw ModelError(text("'", path, "' is not a file of mge-fastrun-cache export: ", what));
}

Attributes attributes_of(const cli::Json& names) {
    Attributes a{.reproducible = false};
    for (auto& name : names) {
        a.reproducible |= name == "reproducible";
        a.naive |= name == "naive";
        a.accuracy_depends_on_batch |= name == "accuracy_depends_on_batch";
        a.usable_depends_on_shape |= name == "usable_depends_on_shape";
        a.locks |= name == "locks";
    }
    return a;
}

CacheRow row_of(const cli::Json& j) {
    CacheRow row;
    j.at("machine").get_to(row.machine);
    j.at("problem").get_to(row.problem);
    j.at("algorithm").get_to(row.measured.name);
    j.at("milliseconds").get_to(row.measured.milliseconds);
    row.measured_at = cli::whole_number<int64_t>(j.at("measured_at"));
    row.measured.workspace = size_t(cli::whole_number<int64_t>(j.at("workspace")));
    row.measured.attributes = attributes_of(j.at("attributes"));
    // Earlier versions did not record the load of the machine.
    row.measured.doubts = j.contains("doubts") ? cli::whole_number<int>(j["doubts"]) : 1;
    return row;
}

bool is_possible(const CacheRow& row) {
    auto& m = row.measured;
    return std::isfinite(m.milliseconds) && m.milliseconds >= 0 && m.workspace <= size_t(INT64_MAX) &&
           !m.name.empty() && m.doubts >= 0;
}

std::vector<CacheRow> parse_export(std::string_view bytes, const std::string& path) {
    std::vector<CacheRow> rows;
    try {
        FileBudget(path, bytes.size()).take(bytes.size(), memory_per_byte_of_text);
        if (is_too_deep(bytes)) fail(path, text("it is nested more than ", deepest_json, " deep"));
        auto file = cli::Json::parse(bytes, nullptr, false);
        if (file.is_discarded()) fail(path, "it is not JSON");
        if (file.at("format") != "mge-fastrun-cache") fail(path, "its format is not mge-fastrun-cache");
        if (file.at("version") != format_version) fail(path, "its version is " + file.at("version").dump());
        for (auto& j : file.at("rows")) {
            rows.push_back(row_of(j));
            if (!is_possible(rows.back()))
                fail(path, text("row ", rows.size() - 1, " has impossible values"));
        }
    } catch (const cli::Json::exception&) {
        fail(path, text("a field is missing or has another type, at row ", rows.size()));
    }
    return rows;
}

struct ImportJob {
    CacheArgument cache;
    std::vector<std::string> files;
};

std::vector<CacheRow> read_foreign(const std::string& path) {
    auto file = MappedFile::open(path);
    auto bytes = file->bytes();
    std::string_view characters(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return characters.starts_with('{') ? parse_export(characters, path)
                                       : megengine::parse_fastrun_cache(bytes, path);
}

int import_rows(const cli::Invocation& invocation, const ImportJob& job) {
    std::vector<CacheRow> rows;
    for (auto& path : job.files) {
        auto more = read_foreign(path);
        rows.insert(rows.end(), more.begin(), more.end());
    }
    auto cache = job.cache.open_to_write();
    size_t changed = cache->merge(rows);
    std::cout << job.cache.path << ": " << cli::counted(rows.size(), "row") << " read, " << changed
              << " added or renewed\n";
    return cli::finish(invocation, {{"cache", job.cache.path},
                                    {"read", rows.size()},
                                    {"changed", changed},
                                    {"rows", cache->rows().size()}});
}

}  // namespace

void add_export(cli::App& app) {
    auto job = std::make_shared<ExportJob>();
    auto& command = app.command("export", "Write rows as JSON",
                                [=, &app] { return export_rows(app.invocation(), *job); });
    add_cache(command, job->cache);
    cli::add_written_file(command, "out", job->out, "File to write, or - for stdout");
    add_filter(command, job->filter);
}

void add_import(cli::App& app) {
    auto job = std::make_shared<ImportJob>();
    auto& command = app.command(
        "import",
        "Add the rows of exported files or of MegEngine's caches (listed only: their algorithms are not "
        "MGE's)",
        [=, &app] { return import_rows(app.invocation(), *job); });
    add_cache(command, job->cache, "Cache file to add to; created if it does not exist");
    command.add_option("files", job->files, "Files to import")->required()->type_name("FILE");
}

}  // namespace mge::fastrun_cache
