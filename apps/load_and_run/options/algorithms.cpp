// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/options/algorithms.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "apps/cli/options/numbers.h"
#include "apps/cli/options/output_option.h"
#include "libmge/base/error.h"
#include "libmge/compile/options/option_list.h"

namespace mge::load_and_run {

void add(CLI::App& app, AlgorithmOptions& o) {
    app.add_flag("--fast-run", o.fast_run,
                 "Measure the algorithms of every step and take the fastest; kept in the cache");
    app.add_flag("--full-run", o.full_run, "The same over all algorithms, the reference ones too");
    app.add_flag("--binary-equal-between-batch", o.binary_equal_between_batch,
                 doc_of("select.same_between_batches"));
    app.add_option("--fast-run-shared-batch-size", o.shared_batch_size, doc_of("select.shared_batch_size"))
        ->check(cli::whole_number(0, 1u << 31));
    auto* cache = app.add_option(
        "--fast-run-algo-policy", o.cache,
        "Cache of measured algorithms (default: $XDG_CACHE_HOME/mge/fastrun.sqlite). Without "
        "--fast-run or --full-run an existing cache is read and nothing is measured. An encrypted one "
        "stays so");
    cli::replaces(cli::written_with_folders(cache), "--pack-cache")->type_name("FILE");
    cli::add_key_options(app, o.cache_key, "the key of an encrypted cache (default: the model's)", "cache-");
    app.add_flag("--no-model-cache", o.no_model_cache,
                 "Pack the weights anew, and keep no copies for the next start (see MGE_MODEL_CACHE)");
    app.add_option_function<std::string>(
           "--workspace-limit",
           [&o](const std::string& bytes) {
               o.workspace_limit = cli::parse_bytes("--workspace-limit", bytes, 0);
           },
           doc_of("select.workspace_limit") + ": 65536, 1MiB")
        ->type_name("BYTES");
}

void check(const AlgorithmOptions& o) {
    // Lite reads it, too.
    if (o.no_model_cache) ::setenv("MGE_MODEL_CACHE", "0", 1);
    if (o.fast_run && o.full_run) throw_value_error("--fast-run", "contradicts --full-run; give one of them");
    if (o.shared_batch_size > 0 && !o.measures() && o.cache.empty())
        throw_value_error("--fast-run-shared-batch-size",
                          "needs --fast-run, --full-run or --fast-run-algo-policy FILE");
    if (o.cache_key.are_given() && o.cache.empty() && !o.measures())
        throw_value_error("--cache-key-...", "needs --fast-run-algo-policy FILE");
    std::error_code unknown;  // opening it reports a better error
    if (!o.cache.empty() && !o.measures() && !std::filesystem::exists(o.cache, unknown) && !unknown)
        throw_value_error("--fast-run-algo-policy", "'", o.cache,
                          "' does not exist; add --fast-run to fill it");
}

}  // namespace mge::load_and_run
