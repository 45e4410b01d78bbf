// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "apps/cli/layout_options.h"

namespace CLI {
class App;
}

namespace mge::load_and_run {

// What is done to the graph before and while it is compiled.
struct GraphOptions {
    cli::LayoutOptions layout;
    std::string layout_transform_dump;
    bool enable_ioc16 = false, enable_io16xc32 = false;

    // Unset: the engine decides.
    std::optional<bool> fuse_preprocess, fuse_grain, weight_preprocess;
    std::optional<bool> fuse_conv_bias_nonlinearity, fuse_conv_bias_with_z;
    std::optional<bool> jit, jit_fuse_dimshuffle, jit_fuse_reduce;
    std::optional<int> jit_level;
    int optimization_level = 2;

    bool optimize_for_inference = false;
    bool const_shape = false;
    bool fake_first = false, no_sanity_check = false;
    bool record_comp_seq = false, record_comp_seq2 = false;
    bool disable_mem_opt = false;

    int record_level() const { return record_comp_seq ? 1 : record_comp_seq2 ? 2 : 0; }
};

void add(CLI::App& app, GraphOptions& options);
void check(const GraphOptions& options);

}  // namespace mge::load_and_run
