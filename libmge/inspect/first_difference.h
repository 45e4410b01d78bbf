// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the operator at which a model begins to differ from a reference: both are walked through layer by
// layer, each value is compared when it is made, and an operator whose result is beyond the tolerance is run
// once more with the inputs that the reference has. When it then agrees, its inputs had already drifted, each
// within the tolerance; the walk goes on to the first operator that differs by itself.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libmge/inspect/compare.h"
#include "libmge/inspect/elements.h"
#include "libmge/inspect/reference.h"

namespace mge {

struct OperatorDifference {
    size_t step = 0;
    std::string op, name, algorithm, output;
    std::vector<NodeId> sources;  // nodes of the model that the step computes
    TensorSpec spec;
    Comparison comparison;
    TensorFigures got;
    std::optional<TensorFigures> expected;  // absent: the reference does not hold the whole value
    // The same operator with the reference's inputs.
    struct Alone {
        int inputs = 0, from_reference = 0;  // constants do not count
        Comparison comparison;
        TensorFigures got;
    };
    std::optional<Alone> alone;
};

struct FirstDifference {
    size_t steps = 0, compared = 0;
    std::optional<OperatorDifference> first;  // the first result beyond the tolerance
    std::optional<OperatorDifference> cause;  // the first operator that differs although its inputs agree
};

// When each key is wanted for the last time by a walk: what walk_reference needs to know.
MGE_API std::map<std::string, size_t> last_uses(const LayerWalk& walk, bool by_name);

// `by_name`: keys are names (files, another model), else numbers of nodes (another form of the same model).
MGE_API FirstDifference find_first_difference(LayerWalk& walk, Reference& reference, bool by_name,
                                              const Tolerance& tolerance);

}  // namespace mge
