// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "apps/cli/tool.h"
#include "libmge/model/model.h"

namespace mge::dump {

// Returns unique names of the values: the model's own, else "v7".
std::vector<std::string> value_names(const Graph& graph);

// Writes the model, prints a line about it and returns figures for the report.
cli::Json write_and_describe(const std::string& path, const Model& model);
// Describes a file that was written already.
cli::Json describe_written(const std::string& path, const Model& model);

}  // namespace mge::dump
