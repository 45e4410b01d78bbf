// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of the report from the checks of this folder.

#include <nlohmann/json.hpp>

#include "apps/cli/tool.h"
#include "libmge/inspect/compare.h"
#include "libmge/inspect/elements.h"
#include "libmge/inspect/guards.h"
#include "libmge/inspect/reproducible.h"

namespace mge::load_and_run {

cli::Json to_json(const Comparison& comparison, const Shape& shape);
cli::Json to_json(const TensorFigures& figures);
cli::Json to_json(const GuardFinding& finding);
cli::Json to_json(const Reproducibility& result);
cli::Json to_json(const Tolerance& tolerance);
// "float32(1, 3)" apart: {"dtype", "shape"}; an unknown shape is null.
cli::Json to_json(const TensorSpec& spec);

}  // namespace mge::load_and_run
