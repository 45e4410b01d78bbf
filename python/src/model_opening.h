// SPDX-License-Identifier: Apache-2.0
#pragma once
// Opens models without the interpreter's lock. The functions throw like open_model().

#include <filesystem>

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>

#include "libmge/model/model.h"

namespace mge::python {

Model open_path(const std::filesystem::path& path);
Model open_content(const nanobind::bytes& content);

}  // namespace mge::python
