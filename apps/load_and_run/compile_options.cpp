// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/compile_options.h"

#include <nlohmann/json.hpp>

#include "libmge/base/threads/threads.h"
#include "libmge/compat/megengine_options.h"

namespace mge::load_and_run {
namespace {

void set_algorithms(const AlgorithmOptions& o, FastrunCache* cache, CompileOptions& result) {
    auto& select = result.select;
    select.cache = cache;
    select.profile = cache != nullptr;
    select.heuristic = !o.measures();
    select.optimized = o.fast_run;
    select.same_between_batches = o.binary_equal_between_batch;
    select.reproducible = o.binary_equal_between_batch;
    select.shared_batch_size = o.shared_batch_size;
    if (o.workspace_limit < SIZE_MAX) select.workspace_limit = o.workspace_limit;
}

void set_checks(const CheckOptions& o, SelectOptions& select) {
    select.reproducible = select.reproducible || o.reproducible;
    if (!o.require_cache) return;
    select.profile = select.heuristic = true;  // cached choices, without measuring
    select.optimized = false;
}

// Dumps and guards look at the weights that the steps read, as they were before they were packed.
bool reads_weights(const CheckOptions& o) {
    return !o.io_dump.empty() || o.io_dump_stdout || o.io_dump_stderr || !o.bin_io_dump.empty() ||
           o.check_finite || o.range > 0;
}

}  // namespace

CompileOptions make_compile_options(const Options& options, FastrunCache* cache) {
    CompileOptions result = with_graph_options(options.graph);
    result.device = options.device.place();
    result.threads = default_threads();  // set_threads() decides it when all flags have been read
    set_algorithms(options.algorithms, cache, result);
    set_checks(options.checks, result.select);
    result.keeps_weights = reads_weights(options.checks);
    return result;
}

cli::Json to_json(const OptionValue& value) {
    return std::visit(
        [](auto& given) -> cli::Json {
            constexpr bool is_set = !std::is_same_v<decltype(given), const std::monostate&>;
            if constexpr (is_set)
                return given;
            else
                return "unset";
        },
        value);
}

cli::Json to_json(const CompileOptions& options) {
    cli::Json result = cli::Json::object();
    for (auto& option : compat::named_options()) result[option.name] = to_json(option.get(options));
    auto& select = options.select;
    bool measures = select.profile && !select.heuristic;
    result["measures_algorithms"] = measures;
    result["all_algorithms"] = measures && !select.optimized;
    return result;
}

std::vector<ProfileRecording::Option> changed_options(const CompileOptions& options) {
    std::vector<ProfileRecording::Option> changed;
    const CompileOptions defaults;
    for (auto& option : compat::named_options())
        if (auto value = option.get(options); value != option.get(defaults))
            changed.push_back({std::string(option.name), to_text(value)});
    auto& select = options.select;
    if (select.profile && !select.heuristic)
        changed.push_back({"measures_algorithms", select.optimized ? "true" : "all"});
    return changed;
}

}  // namespace mge::load_and_run
