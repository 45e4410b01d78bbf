// SPDX-License-Identifier: Apache-2.0
#pragma once
// Our operators in MegEngine's words: the importer's tables read the other way round.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/op/op.h"

namespace mge::megengine {

struct Counterpart {
    std::string type;  // as files say it ("Convolution"); in the same spelling for what MegEngine has not
    std::string mode;  // of Elemwise and Reduce: "ADD"; empty for others
};
// `inputs`: what it reads; MegEngine has types of their own for batches of matrices.
MGE_API Counterpart counterpart(const OpInfo& op, std::span<const TensorSpec> inputs);

// The mode of Elemwise that means just this operator on its inputs in their order.
std::map<const OpInfo*, std::string_view> modes_of_operators();

// What stands in the table below the door, for tests: every name of ours with its type.
MGE_API std::vector<std::pair<std::string_view, std::string_view>> listed_counterparts();

}  // namespace mge::megengine
