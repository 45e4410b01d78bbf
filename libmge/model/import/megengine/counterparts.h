// SPDX-License-Identifier: Apache-2.0
#pragma once
// Our operators in MegEngine's words: the importer's tables read the other way round.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/op/op.h"

namespace mge::megengine {

struct Counterpart {
    std::string type;  // the name in files ("Convolution"); in the same spelling for operators that MegEngine
                       // lacks
    std::string mode;  // mode of Elemwise and Reduce: "ADD"; empty for others
};
// `inputs`: the operator's inputs; MegEngine has separate types for batches of matrices.
MGE_API Counterpart counterpart(const OpInfo& op, Specs inputs);

// The mode of Elemwise that means just this operator on its inputs in their order.
std::map<const OpInfo*, std::string_view> modes_of_operators();

// The table of names, for tests: every one of our names with its type.
MGE_API std::vector<std::pair<std::string_view, std::string_view>> listed_counterparts();

}  // namespace mge::megengine
