// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <variant>

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/variant.h>

#include "libmge/model/model.h"

namespace mge::python {

// A model file's content, or its path.
using ModelArgument = std::variant<nanobind::bytes, std::filesystem::path>;

// Reads the model without the interpreter's lock. Throws like open_model().
Model open_argument(const ModelArgument& given);

}  // namespace mge::python
