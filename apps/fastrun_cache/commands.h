// SPDX-License-Identifier: Apache-2.0
#pragma once
// The commands of mge-fastrun-cache, one file each, and their common parts.

#include <cstdint>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "apps/cli/app.h"
#include "apps/cli/options/cache_file.h"
#include "apps/cli/options/operator_options.h"
#include "libmge/base/pattern.h"

namespace mge::fastrun_cache {

void add_build(cli::App& app);
void add_list(cli::App& app);
void add_show(cli::App& app);
void add_explain(cli::App& app);
void add_verify(cli::App& app);
void add_merge(cli::App& app);
void add_prune(cli::App& app);
void add_export(cli::App& app);
void add_import(cli::App& app);
void add_models(cli::App& app);

// The day of a time in seconds since 1970; "-" for 0.
std::string date_of(int64_t seconds);

// Throws UsageError that names the option if the expression is invalid.
std::regex compiled(const std::string& option, const std::string& expression);

// Removes the rows in whose text nothing matches; an empty expression keeps all.
template <class Row, class Text>
void drop_unless_found(std::vector<Row>& rows, const char* option, const std::string& expression,
                       Text text_of) {
    if (expression.empty()) return;
    std::regex wanted = compiled(option, expression);
    std::erase_if(rows, [&](auto& row) { return !is_found(wanted, text_of(row)); });
}

// Selects rows: regular expressions that must match a part of the text.
struct RowFilter {
    std::string machine, problem, algorithm;
    bool only_here = false;            // only rows of this machine
    cli::OperatorLibraries libraries;  // may provide devices of this machine
    bool is_empty() const { return machine.empty() && problem.empty() && algorithm.empty() && !only_here; }
    std::vector<CacheRow> select(std::vector<CacheRow> rows) const;
};
void add_filter(CLI::App& command, RowFilter& filter);

// Returns the machine names of rows measured here, for the CPU and all other devices.
std::set<std::string> machines_here(const cli::OperatorLibraries& libraries);

// Prefix of the flags for model keys; those of the cache have no prefix. Models without a key of their own
// use that of the cache.
inline constexpr const char* model_key_prefix = "model-";

// The cache of a command and its key. With a key, a new cache is encrypted, and an existing one must be.
struct CacheArgument {
    std::string path;
    cli::KeyOptions key;

    // Throws UserError (exit code 2) if the cache does not exist.
    std::unique_ptr<FastrunCache> open_to_read() const;
    // Creates a missing cache.
    std::unique_ptr<FastrunCache> open_to_write() const;
};
void add_cache(CLI::App& command, CacheArgument& cache, const char* description = "The cache",
               const char* name = "cache");

cli::Json to_json(const CacheRow& row);

}  // namespace mge::fastrun_cache
