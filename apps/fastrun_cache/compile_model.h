// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs of a model for several batch sizes and numbers of threads, on one device.

#include <string>
#include <vector>

#include "libmge/compile/program.h"
#include "libmge/model/model.h"

namespace CLI {
class App;
}

namespace mge::fastrun_cache {

struct Variants {
    std::vector<int64_t> batches;  // empty: the model's own
    std::vector<int> threads;      // empty: what the machine allows
    std::string device;            // by name; empty: the first CPU
};
void add_variants(CLI::App& command, Variants& variants);

struct Variant {
    int64_t batch = 0;  // 0: the model's own
    int threads = 1;
    DeviceId device;
};
// UserError or DeviceError when there is no such device; libraries may bring devices: load them first.
std::vector<Variant> all_variants(const Variants& variants);

// Compiles for a variant with the given ways of choosing algorithms. UserError when the model does not take
// the batch. The observer is told how far it is.
std::shared_ptr<const Program> compile_variant(const Model& model, const Variant& variant,
                                               SelectOptions select, WorkObserver progress = {});

}  // namespace mge::fastrun_cache
