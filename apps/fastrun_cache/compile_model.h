// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles a model for several batch sizes and thread counts on one device.

#include <string>
#include <vector>

#include "apps/cli/options/dimension_option.h"
#include "libmge/compile/program.h"
#include "libmge/model/model.h"

namespace CLI {
class App;
}

namespace mge::fastrun_cache {

struct Variants {
    std::vector<int64_t> batches;  // empty: the model's own
    cli::DimensionOption dimensions;
    std::vector<int> threads;  // empty: all that the machine allows
    std::string device;        // empty: the first CPU
};
void add_variants(CLI::App& command, Variants& variants);

struct Variant {
    int64_t batch = 0;  // 0: the model's own
    cli::DimensionOption dimensions;
    int threads = 1;
    DeviceId device;
};
// Throws UserError or DeviceError for an unknown device. Libraries that provide devices must be loaded
// before.
std::vector<Variant> all_variants(const Variants& variants);

// Compiles for a variant with the given selection of algorithms. Throws UserError if the model does not
// accept the sizes. Reports progress to the observer.
std::shared_ptr<const Program> compile_variant(const Model& model, const Variant& variant,
                                               SelectOptions select, WorkObserver progress = {});

}  // namespace mge::fastrun_cache
