// SPDX-License-Identifier: Apache-2.0
#pragma once
// The commands of mge-fastrun-cache, one file each, and what they share.

#include <set>
#include <string>
#include <vector>

#include "apps/cli/app.h"
#include "apps/cli/options/cache_file.h"
#include "apps/cli/options/operator_options.h"

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

// Which rows a command is about: regular expressions that have to be found in the text.
struct RowFilter {
    std::string machine, problem, algorithm;
    bool only_here = false;            // rows of this machine
    cli::OperatorLibraries libraries;  // which may bring devices to it
    bool is_empty() const { return machine.empty() && problem.empty() && algorithm.empty() && !only_here; }
    std::vector<CacheRow> select(std::vector<CacheRow> rows) const;
};
void add_filter(CLI::App& command, RowFilter& filter);

// What rows that were measured on this machine say, on its CPU or another of its devices.
std::set<std::string> machines_here(const cli::OperatorLibraries& libraries);

// Of the flags for the keys of models: those for the cache have none. Without a key of their own models are
// opened by the cache's.
inline constexpr const char* model_key_prefix = "model-";

// The cache of a command and its key. With a key it has to be encrypted, or is when it is made.
struct CacheArgument {
    std::string path;
    cli::KeyOptions key;

    // UserError (exit code 2) when it does not exist.
    std::unique_ptr<FastrunCache> open_to_read() const;
    // Made when it does not exist.
    std::unique_ptr<FastrunCache> open_to_write() const;
};
void add_cache(CLI::App& command, CacheArgument& cache, const char* description = "The cache",
               const char* name = "cache");

cli::Json to_json(const CacheRow& row);

}  // namespace mge::fastrun_cache
