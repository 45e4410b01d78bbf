// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options that a model carries in its metadata: what whoever wrote it asked for, a layout, or what --fitting
// or --layout-transform found out, down to the algorithm of each step, so that a later run without options is
// as fast at once and searches nothing. Those in the info of a packed model are read too.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libmge/compile/options/option_list.h"
#include "libmge/compile/program.h"
#include "libmge/model/model.h"

namespace mge {

struct StoredOptions {
    std::vector<std::pair<const OptionInfo*, OptionValue>> values;
    std::string inputs;                   // the specs for which
    int threads = 0;                      // and the number of threads for which
    std::vector<std::string> algorithms;  // these are the algorithms of the steps
};

// What the options say that a model may carry and that differs from their defaults, into the model's
// metadata.
MGE_API void store_options(Model& model, const CompileOptions& options);
// How the program was compiled: the algorithms of its steps and the layout of its images as well.
MGE_API void store_options(Model& model, const CompileOptions& options, const Program& program);

// A model that was optimised for the shapes that its inputs have: it runs at no others.
MGE_API void store_const_shape(Model& model);
MGE_API bool has_const_shape(const Model& model);

// ModelError when the model has options that cannot be read; nullopt when it has none. Names that this
// version does not know are passed over.
MGE_API std::optional<StoredOptions> stored_options(const Model& model);

// The options with the stored ones in them.
MGE_API CompileOptions with_stored(const CompileOptions& options, const StoredOptions& stored);
// The algorithms too when inputs and threads are those they were found for.
MGE_API CompileOptions with_stored(const CompileOptions& options, const StoredOptions& stored,
                                   const TensorSpecs& inputs);

}  // namespace mge
