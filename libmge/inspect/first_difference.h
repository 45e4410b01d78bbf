// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the operator at which a model begins to differ from a reference: both are walked through layer by
// layer, each value is compared when it is made, and an operator whose result is beyond the tolerance is run
// once more with the inputs that the reference has. When it then agrees, its inputs had already drifted, each
// within the tolerance; the walk goes on to the first operator that differs by itself. An operator is named
// alone only when all that it reads was compared and agrees. One that holds graphs is gone into.

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
    std::vector<SourceNode> sources;  // operators of the model whose work the step does
    // The steps in one of which the difference arose, this one the last: several when results between them
    // and the values that agree had nothing to be compared with.
    std::vector<size_t> suspects;
    std::vector<std::string> suspect_texts;  // operator_text() of each
    std::vector<std::string> agreed;         // the values before the suspects: they agree, or are inputs
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
    // Of an operator that holds graphs, run with the reference's inputs: the first result in there that is
    // beyond the tolerance, by its path ("scan#1/body[3]/add#2"), of loops in their first iterations.
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
    // Results that somebody reads, as far as the walk went, and how many of them the reference has.
    size_t values = 0, compared = 0;
    std::optional<OperatorDifference> first;  // the first result beyond the tolerance
    std::optional<OperatorDifference> cause;  // the first operator that differs although its inputs agree
};

// When each key is wanted for the last time by a walk: what walk_reference needs to know.
MGE_API std::map<std::string, size_t> last_uses(const LayerWalk& walk, const ValueKeys& keys);

// `keys` are those of the walk's graph. What `may_be_another` (networks that are not the same throughout) is
// compared only when its shape agrees.
MGE_API FirstDifference find_first_difference(LayerWalk& walk, Reference& reference, const ValueKeys& keys,
                                              const Tolerance& tolerance, bool may_be_another = false);

}  // namespace mge
