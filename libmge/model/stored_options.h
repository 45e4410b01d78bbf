// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options stored in a model's metadata: those requested by its author, a layout, or results of --fitting or
// --layout-transform, including the algorithm of each step, so that a later run without options is as fast
// without a search. Those in the info of a packed model are read, too.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libmge/compat/megengine_options.h"
#include "libmge/compile/program.h"
#include "libmge/model/model.h"

namespace mge {

struct StoredOptions {
    std::vector<std::pair<const compat::NamedOption*, OptionValue>> values;
    std::string inputs;                   // the specs for which
    int threads = 0;                      // and the number of threads for which
    std::vector<std::string> algorithms;  // these are the algorithms of the steps
};

// The layout of images in a program, as the option that requests it.
MGE_API std::string image_layout(const Program& program);

// Stores the options that a model may contain and that differ from their defaults in the model's metadata.
MGE_API void store_options(Model& model, const CompileOptions& options);
// How the program was compiled, including the algorithms of its steps and the layout of its images.
MGE_API void store_options(Model& model, const CompileOptions& options, const Program& program);

// A model that was optimised for the shapes that its inputs have: it runs at no others.
MGE_API void store_const_shape(Model& model);
MGE_API bool has_const_shape(const Model& model);

// ModelError if the model has options that cannot be read; nullopt if it has none. Names unknown to this
// version are ignored.
MGE_API std::optional<StoredOptions> stored_options(const Model& model);

// The options with the stored ones in them.
MGE_API CompileOptions with_stored(const CompileOptions& options, const StoredOptions& stored);
// Including the algorithms if inputs and threads are the same.
MGE_API CompileOptions with_stored(const CompileOptions& options, const StoredOptions& stored,
                                   const TensorSpecs& inputs);

}  // namespace mge
