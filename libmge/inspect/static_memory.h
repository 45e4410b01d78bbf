// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/compile/program.h"

namespace mge {

// Where the values of a program lie and when, as MegEngine's two files about the memory of a graph,
// graph.json and StaticMemoryInfo.json. The folder is made, with those around it. UserError when it cannot
// be, or a file cannot be written.
MGE_API void write_static_memory_info(const std::string& folder, const Program& program);

}  // namespace mge
