// SPDX-License-Identifier: Apache-2.0
#pragma once
// Encoding of a value's origin in a dump: "3:0,4:0;3/conv2d/1/5f00aa/conv1;4/relu/1/77/" is output 0 of the
// operators 3 and 4 of the source graph; each operator has its type, number of outputs, kind (SourceNode) and
// name. Separators in names are written as \xNN.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/files/file_limit.h"
#include "libmge/inspect/io_dump/io_dump.h"

namespace mge {

// Empty without an origin.
std::string origin_text(const DumpedOrigin& origin);
// Nullopt for an invalid text.
std::optional<DumpedOrigin> parse_origin(std::string_view text, FileBudget& budget);

// The operators of one network that another has, too. Dumps mention only operators whose step was dumped.
class MGE_API MatchedOperators {
public:
    MatchedOperators(const std::vector<SourceNode>& here, const std::vector<SourceNode>& there);
    // The index here of an operator there; −1 if there is none.
    NodeId number(NodeId there) const;

private:
    std::map<NodeId, NodeId> numbers_;
};
// All operators that the records of a dump mention, ascending.
MGE_API std::vector<SourceNode> operators_of(const IoDump& dump);

}  // namespace mge
