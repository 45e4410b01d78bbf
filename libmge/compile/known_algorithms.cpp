// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/known_algorithms.h"

namespace mge {

CompileOptions with_known_algorithms(const CompileOptions& options, const Program& first) {
    CompileOptions result = options;
    result.select.profile = result.measure_layouts = false;
    result.select.heuristic = true;
    for (auto& step : first.steps()) {
        KnownAlgorithm known{step.op, {}, step.algorithm};
        for (auto& source : step.sources) known.sources.push_back(source.id);
        if (!step.problem.empty()) result.known_algorithms.push_back(std::move(known));
    }
    return result;
}

}  // namespace mge
