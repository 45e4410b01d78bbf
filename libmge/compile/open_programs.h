// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "libmge/compile/open_graph.h"
#include "libmge/compile/program.h"

namespace mge {

// A program for all sizes of some axes of its inputs.
struct OpenProgram {
    std::shared_ptr<const Program> program;
    std::shared_ptr<const OpenGraph> open;  // without its graph
};

// Compiles open programs of one graph. Not thread-safe.
class MGE_API OpenPrograms {
public:
    // Compiles for all sizes of the axes in which inputs of `earlier` runs differ from `inputs`, for the
    // smallest set of such axes. Returns nullopt if the options or the graph do not allow it, and for a set
    // that was refused before. The program accepts `inputs`, which are on `places`.
    std::optional<OpenProgram> compile(const Graph& graph, std::span<const TensorSpecs* const> earlier,
                                       const TensorSpecs& inputs, std::span<const DeviceId> places,
                                       const CompileOptions& options);

private:
    std::vector<OpenAxes> refused_;
};

}  // namespace mge
