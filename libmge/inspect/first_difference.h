// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the operator at which a model begins to differ from a reference. Both are run layer by layer, and
// each value is compared when it is computed. An operator whose result exceeds the tolerance is run again
// with the inputs of the reference. If it then agrees, its inputs had already drifted, each within the
// tolerance, and the search continues to the first operator that differs by itself. A single operator is
// named only if all its inputs were compared and agree. Operators with inner graphs are searched, too.

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
    std::vector<SourceNode> sources;  // the model's operators that the step computes
    // The candidate steps for the difference, this one last: several if the results between them and the
    // values that agree could not be compared.
    std::vector<size_t> suspects;
    std::vector<std::string> suspect_texts;  // operator_text() of each
    std::vector<std::string> agreed;         // the values before the suspects: they agree, or are inputs
    TensorSpec spec;
    Comparison comparison;
    TensorFigures got;
    std::optional<TensorFigures> expected;  // absent: the reference does not have the whole value
    // The same operator with the reference's inputs.
    struct Alone {
        int inputs = 0, from_reference = 0;  // constants do not count
        Comparison comparison;
        TensorFigures got;
    };
    std::optional<Alone> alone;
    // For an operator with inner graphs, run with the reference's inputs: the first inner result that exceeds
    // the tolerance, by its path ("scan#1/body[3]/add#2"), in the first iterations of loops.
    struct Inside {
        std::string op, name, algorithm, output;
        TensorSpec spec;
        Comparison comparison;
        TensorFigures got;
    };
    std::optional<Inside> inside;
    size_t compared_inside = 0;
};

struct FirstDifference {
    size_t steps = 0;
    // The number of results with readers, as far as the walk went, and how many of them the reference has.
    size_t values = 0, compared = 0;
    std::optional<OperatorDifference> first;  // the first result beyond the tolerance
    std::optional<OperatorDifference> cause;  // the first operator that differs although its inputs agree
};

// The last use of each key in a walk, for walk_reference.
MGE_API std::map<std::string, size_t> last_uses(const LayerWalk& walk, const ValueKeys& keys);

// `keys` are those of the walk's graph. Values for which `may_be_another` holds (networks that differ in
// part) are compared only if their shapes agree.
MGE_API FirstDifference find_first_difference(LayerWalk& walk, Reference& reference, const ValueKeys& keys,
                                              const Tolerance& tolerance, bool may_be_another = false);

}  // namespace mge
