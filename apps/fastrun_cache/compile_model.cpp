// SPDX-License-Identifier: Apache-2.0
#include "apps/fastrun_cache/compile_model.h"

#include <CLI/CLI.hpp>

#include "apps/cli/options/batch_size.h"
#include "apps/cli/options/device_option.h"
#include "apps/cli/options/numbers.h"
#include "libmge/base/threads/threads.h"

namespace mge::fastrun_cache {

void add_variants(CLI::App& command, Variants& variants) {
    command.add_option("--batch", variants.batches, "Batch sizes of all inputs (default: the model's)")
        ->delimiter(',')
        ->check(cli::whole_number(1, 1u << 31))
        ->type_name("N,...");
    cli::add_dimension_option(command, variants.dimensions);
    command
        .add_option("--threads", variants.threads,
                    "Numbers of threads (default: all that this machine allows)")
        ->delimiter(',')
        ->check(cli::whole_number(1, 1024))
        ->type_name("N,...");
    cli::add_device_option(command, variants.device, "Run the models");
}

std::vector<Variant> all_variants(const Variants& variants) {
    auto batches = variants.batches.empty() ? std::vector<int64_t>{0} : variants.batches;
    auto threads = variants.threads.empty() ? std::vector{default_threads()} : variants.threads;
    DeviceId device = cli::device_of(variants.device);
    std::vector<Variant> all;
    for (int64_t batch : batches)
        for (int count : threads) all.push_back({batch, variants.dimensions, count, device});
    return all;
}

std::shared_ptr<const Program> compile_variant(const Model& model, const Variant& variant,
                                               SelectOptions select, WorkObserver progress) {
    TensorSpecs specs = variant.dimensions.specs(model.graph);
    if (variant.batch) specs = cli::with_batch(model.graph, specs, variant.batch, "--batch");
    variant.dimensions.require(model.graph, specs);
    CompileOptions options;
    options.threads = variant.threads;
    options.device = variant.device;
    options.select = std::move(select);
    options.progress = std::move(progress);
    set_default_threads(variant.threads);
    return Program::compile(model.graph, specs, options);
}

}  // namespace mge::fastrun_cache
