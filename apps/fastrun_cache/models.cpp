// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/output/table.h"
#include "apps/fastrun_cache/commands.h"
#include "libmge/kernel/packed_weight_cache.h"

namespace mge::fastrun_cache {
namespace {

int models(const cli::Invocation& invocation, bool is_cleared) {
    auto* cache = PackedWeightCache::of_user();
    if (!cache) {
        std::cout << "the model cache is off\n";
        return cli::finish(invocation, {{"cache", ""}, {"is_on", false}});
    }
    auto entries = cache->entries();
    uint64_t bytes = 0;
    for (auto& entry : entries) bytes += entry.bytes;
    std::cout << cache->folder() << ": " << cli::counted(entries.size(), "packed weight") << ", "
              << cli::format_bytes(double(bytes)) << " of at most "
              << cli::format_bytes(double(PackedWeightCache::default_limit));
    if (!entries.empty())
        std::cout << ", used " << date_of(entries.front().used_at) << " to "
                  << date_of(entries.back().used_at);
    size_t removed = is_cleared ? cache->clear() : 0;
    if (is_cleared) std::cout << "; " << removed << " removed";
    std::cout << '\n';
    return cli::finish(invocation, {{"cache", cache->folder()},
                                    {"is_on", true},
                                    {"packed_weights", entries.size()},
                                    {"bytes", bytes},
                                    {"limit", PackedWeightCache::default_limit},
                                    {"cleared", removed}});
}

}  // namespace

void add_models(cli::App& app) {
    auto is_cleared = std::make_shared<bool>(false);
    auto& command = app.command("models", "Shows or empties the model cache: packed weights of earlier runs",
                                [is_cleared, &app] { return models(app.invocation(), *is_cleared); });
    command.add_flag("--clear", *is_cleared, "Remove all packed weights");
}

}  // namespace mge::fastrun_cache
