// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/compile/program.h"

namespace mge {

// Position and lifetime of a program's values, in MegEngine's two files about the memory of a graph,
// graph.json and StaticMemoryInfo.json. The folder and its parents are created. UserError if that fails, or a
// file cannot be written.
MGE_API void write_static_memory_info(const std::string& folder, const Program& program);

}  // namespace mge
