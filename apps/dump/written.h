// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "apps/cli/tool.h"
#include "libmge/model/model.h"

namespace mge::dump {

// Names of the values for people and files: the model's own where it has one; else "v7", made unique.
std::vector<std::string> value_names(const Graph& graph);

// Writes the model and says so: one line, and the figures for the report.
cli::Json write_and_describe(const std::string& path, const Model& model);
// Of a file that holds the model already.
cli::Json describe_written(const std::string& path, const Model& model);

}  // namespace mge::dump
