// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options that a model carries in its metadata: a layout, or what --fitting or --layout-transform found out,
// down to the algorithm of each step, so that a later run without options is as fast at once and searches
// nothing.

#include <optional>
#include <string>
#include <vector>

#include "libmge/compile/program.h"
#include "libmge/model/model.h"

namespace mge::cli {

struct StoredOptions {
    CompileOptions options;               // of these: level, graph_opt and layout
    std::string inputs;                   // the specs for which
    int threads = 0;                      // and the number of threads for which
    std::vector<std::string> algorithms;  // these are the algorithms of the steps
};

// How the program was compiled, into the model's metadata.
void store_options(Model& model, const CompileOptions& options, const Program& program);

// Only the layout that images shall have; everything else is left to the run.
void store_layout(Model& model, const std::string& layout);

// A model that was optimised for the shapes that its inputs have: it runs at no others.
void store_const_shape(Model& model);
bool has_const_shape(const Model& model);

// ModelError when the model has options that cannot be read; nullopt when it has none.
std::optional<StoredOptions> stored_options(const Model& model);

// The options with the stored ones in them; the algorithms too when inputs and threads are those they were
// found for.
CompileOptions with_stored(const CompileOptions& options, const StoredOptions& stored,
                           const TensorSpecs& inputs);

}  // namespace mge::cli
