// SPDX-License-Identifier: Apache-2.0
#pragma once
// Weights of an operator that are concatenated in one tensor.

#include <cstdint>
#include <optional>

#include "libmge/model/import/megengine/operators.h"
#include "libmge/op/apply.h"

namespace mge::megengine {

// Returns them in order. During its lifetime, operators on constants are computed eagerly: the weights are
// cut while reading.
class FlatWeights {
public:
    FlatWeights(const Site& site, const Tensor& flat);
    Tensor row(int64_t length);
    Tensor matrix(int64_t rows, int64_t columns);
    // Throws unless all were taken.
    void finish() const;

private:
    std::optional<InterpreterScope> scope_;
    Tensor flat_;
    int64_t at_ = 0;
};

}  // namespace mge::megengine
