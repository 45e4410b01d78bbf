// SPDX-License-Identifier: Apache-2.0
#pragma once
// Weights of an operator that lie one after another in one tensor.

#include <cstdint>
#include <optional>

#include "libmge/model/import/megengine/operators.h"
#include "libmge/op/apply.h"

namespace mge::megengine {

// Gives them in their order. As long as it lives, what is done with constants is done at once: they are cut
// while reading.
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
